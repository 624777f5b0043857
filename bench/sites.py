"""Site memory: the main content of pages with and without what recurs on their site.

Made-up sites have prose on every page that a page alone does not tell from content. Real documentation shows
what is taken away where there is little to take: the samples are there to be read.
"""

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from time import process_time
from typing import Any, Final

from bench.ground_truth import Score, by_shingles
from bench.site_pages import SITES, MadeSite
from bench.table import save, table, this_machine
from gossamer.state.crawl.reading.host_sample import SAMPLE
from gossamer.web.content.article import extract
from gossamer.web.content.recurring import learn, sketch
from gossamer.web.content.site_memory import SiteMemory

TREES: Final = (
    ("Git", "/usr/share/doc/git-doc"),
    ("Python", "/usr/share/doc/python3.11/html"),
    ("Debian's handbook", "/usr/share/doc/debian-handbook/html/en-US"),
)
MAX_PAGES: Final = 100  # of a tree
MAX_BYTES: Final = 400_000  # of a page
SAMPLES: Final = 10  # lines that are shown of what was taken away
_URL: Final = "https://bench.example/page"


@dataclass(slots=True)
class Tree:
    """What site memory does to a tree of documentation."""

    name: str
    pages: int
    chars: int
    taken: Counter[str]  # lines, with the number of pages
    learn_ms: float  # CPU time for each page of the sample

    @property
    def share(self) -> float:
        return sum(len(line) * count for line, count in self.taken.items()) / self.chars


def main() -> None:
    argparse.ArgumentParser(
        prog="scripts/bench sites", description=(__doc__ or "").partition("\n")[0]
    ).parse_args()
    machine = this_machine()
    sites, scores = _measure_sites()
    trees = [_measure_tree(name, pages) for name, place in TREES if (pages := _pages(Path(place)))]
    text = f"# Sites\n\n{machine}\n\n{sites}\n\n{_report(trees)}\n"
    print(text)
    save("sites", machine, text, {"sites": scores, "trees": [_document(tree) for tree in trees]})


def _measure_sites() -> tuple[str, list[dict[str, Any]]]:
    rows, scores = [], []
    for site in SITES:
        alone, remembered = (_score(site, memory) for memory in (None, _memory_of(site)))
        numbers = (
            alone.precision,
            alone.recall,
            alone.f1,
            remembered.precision,
            remembered.recall,
            remembered.f1,
        )
        rows.append([site.name, *(f"{number:.3f}" for number in numbers)])
        scores.append({"site": site.name, "f1_alone": round(alone.f1, 4), "f1": round(remembered.f1, 4)})
    means = [f"{mean(float(row[at]) for row in rows):.3f}" for at in range(1, 7)]
    columns = [
        "site of 12 pages",
        "precision, alone",
        "recall",
        "F1",
        "with memory: precision",
        "recall",
        "F1",
    ]
    return table(columns, [*rows, ["all", *means]]), scores


def _memory_of(site: MadeSite) -> SiteMemory:
    return learn([sketch(page.html) for page in site.pages])


def _score(site: MadeSite, memory: SiteMemory | None) -> Score:
    return by_shingles([(page.own, extract(page.html, _URL, memory=memory).text) for page in site.pages])


def _pages(folder: Path) -> list[str]:
    paths = sorted(path for path in folder.rglob("*.html") if path.stat().st_size < MAX_BYTES)
    random.Random(1).shuffle(paths)
    return [path.read_text("utf-8", "replace") for path in paths[:MAX_PAGES]]


def _measure_tree(name: str, pages: Sequence[str]) -> Tree:
    started = process_time()
    memory = learn([sketch(page) for page in pages[:SAMPLE]])
    spent = (process_time() - started) * 1000 / SAMPLE
    taken, chars = Counter[str](), 0
    for page in pages:
        alone, remembered = (extract(page, _URL, memory=known).text for known in (None, memory))
        chars += len(alone)
        taken.update(Counter(alone.split("\n")) - Counter(remembered.split("\n")))
    return Tree(name, len(pages), chars, Counter({line: taken[line] for line in taken if line}), spent)


def _report(trees: Sequence[Tree]) -> str:
    rows = [
        [tree.name, str(tree.pages), f"{tree.chars:,}", f"{tree.share:.3%}", f"{tree.learn_ms:.1f}"]
        for tree in trees
    ]
    columns = ["documentation", "pages", "characters", "taken away", "CPU ms to sketch a page"]
    lines = [
        f"- {tree.name}, {count} ×: {line[:120]}"  # noqa: RUF001
        for tree in trees
        for line, count in tree.taken.most_common(SAMPLES)
    ]
    return "\n".join((table(columns, rows), "", "Taken away:", "", *(lines or ["- nothing"])))


def _document(tree: Tree) -> dict[str, Any]:
    return {
        "name": tree.name,
        "pages": tree.pages,
        "taken": round(tree.share, 6),
        "ms": round(tree.learn_ms, 2),
    }


if __name__ == "__main__":
    main()
