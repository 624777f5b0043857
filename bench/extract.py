"""Main content: what is found, what pages say about themselves, and CPU time, beside other extractors.

Every page goes through all contenders, one after the other and in turn, so that whatever else the machine
does meets them alike. Gossamer's time is that of everything that `/fetch` does with a page (Markdown, text,
cleaned HTML, metadata, links, and the judgement of its outcome); the others are asked for their text only,
and htmldate for the date. The garbage collector is set as in the processes that read pages, for all alike.
The row
*cross-validated* is Gossamer with weights that were fitted to pages of other hosts: the shipped ones may have
seen these.
"""

import argparse
import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from re import split
from statistics import mean, median
from time import process_time
from typing import Any, Final

from bench.block_training import cross_validated, fold_of, read_head, training_pages
from bench.ground_truth import Sample, Score, by_shingles, count_lost, load, score
from bench.table import Machine, save, table, this_machine
from gossamer.flows.parsers.parser_process import GC_THRESHOLDS
from gossamer.web.content.article import content_of
from gossamer.web.content.main.content import whole_page
from gossamer.web.content.main.model import BlockModel
from gossamer.web.content.plain import plain_text
from gossamer.web.html.tree import parse
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import read
from gossamer.web.pages.reading_options import ReadingOptions

WARM_UP: Final = 5  # pages
_UNKNOWN: Final = "–"  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class Extracted:
    text: str | None  # None for a contender that gives none
    told: Mapping[str, str] | None = None  # title, author and date; None for a contender that gives none


@dataclass(slots=True)
class Contender:
    name: str
    extract: Callable[[Sample], Extracted]
    found: list[Extracted] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    def run(self, sample: Sample) -> None:
        started = process_time()
        found = self.extract(sample)
        self.milliseconds.append((process_time() - started) * 1000)
        self.found.append(found)

    @property
    def texts(self) -> list[str]:
        return [found.text or "" for found in self.found]

    @property
    def reads(self) -> bool:
        """Whether it gives texts at all."""
        return any(found.text is not None for found in self.found)


def main() -> None:
    options = _options()
    samples = load(options.folder)
    if not samples:
        sys.exit(f"bench: there are no pages in {options.folder}")
    contenders = [own_contender(), *peers()]
    for sample in samples[:WARM_UP]:
        for contender in contenders:
            contender.extract(sample)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    for at, sample in enumerate(samples):
        for contender in contenders[at % len(contenders) :] + contenders[: at % len(contenders)]:
            contender.run(sample)
        if at % 100 == 99:
            print(f"{at + 1} of {len(samples)} pages", file=sys.stderr, flush=True)
    if score(samples[:1], [""]):
        contenders.insert(1, _cross_validated(samples))
    machine = this_machine()
    text = report(machine, samples, contenders)
    print(text)
    save("extract", machine, text, document(samples, contenders))


def report(machine: Machine, samples: Sequence[Sample], contenders: Sequence[Contender]) -> str:
    first = contenders[0]
    rows = [
        [
            contender.name,
            *_times(contender, first),
            *_cells(score(samples, contender.texts) if contender.reads else None),
            str(count_lost(samples, contender.texts)) if contender.reads else _UNKNOWN,
            *(_told(samples, contender, name) for name in ("title", "author", "date")),
            _dated(samples, contender),
            f"{_agreement(first, contender):.3f}" if contender.reads else _UNKNOWN,
        ]
        for contender in contenders
    ]
    columns = ["content", "mean CPU ms", "median", "time / ours", "precision", "recall", "F1", "lost"]
    columns += ["titles", "authors", "dates", "undated dated", "like ours"]
    size = mean(len(sample.html) for sample in samples) / 1000
    return f"# Extract\n\n{machine}; {len(samples)} pages of {size:.0f} KB\n\n{table(columns, rows)}\n"


def document(samples: Sequence[Sample], contenders: Sequence[Contender]) -> dict[str, Any]:
    rows = []
    for contender in contenders:
        found = score(samples, contender.texts) if contender.reads else None
        spent = contender.milliseconds
        rows.append(
            {
                "name": contender.name,
                "mean_ms": round(mean(spent), 3) if spent else None,
                "median_ms": round(median(spent), 3) if spent else None,
                "precision": found and round(found.precision, 4),
                "recall": found and round(found.recall, 4),
                "f1": found and round(found.f1, 4),
                "lost": count_lost(samples, contender.texts) if contender.reads else None,
                **{name: _told(samples, contender, name) for name in ("title", "author", "date")},
                "undated_dated": _dated(samples, contender),
            }
        )
    return {"pages": len(samples), "rows": rows}


def _times(contender: Contender, first: Contender) -> list[str]:
    if not contender.milliseconds:
        return [_UNKNOWN] * 3
    spent, ours = mean(contender.milliseconds), mean(first.milliseconds)
    return [f"{spent:.1f}", f"{median(contender.milliseconds):.1f}", f"{spent / ours:.2f}"]


def _cells(found: Score | None) -> list[str]:
    numbers = (found.precision, found.recall, found.f1) if found else ()
    return [f"{number:.3f}" for number in numbers] or [_UNKNOWN] * 3


def _told(samples: Sequence[Sample], contender: Contender, name: str) -> str:
    """The share of pages whose title, author or date is known and right."""
    pairs = [
        (sample.told[name], found.told.get(name, ""))
        for sample, found in zip(samples, contender.found, strict=True)
        if found.told is not None and name in found.told and sample.told.get(name)
    ]
    return f"{mean(_same(true, said) for true, said in pairs):.3f}" if pairs else _UNKNOWN


def _same(true: str, said: str) -> bool:
    return _names(true) == _names(said)


def _names(text: str) -> list[str]:
    """Titles and dates as they are, several authors in any order and with any separator."""
    return sorted(" ".join(name.split()).casefold() for name in split(r"[;,]", text))


def _dated(samples: Sequence[Sample], contender: Contender) -> str:
    """How many pages without a date got one."""
    undated = [
        bool(found.told.get("date"))
        for sample, found in zip(samples, contender.found, strict=True)
        if found.told is not None and "date" in found.told and sample.told and not sample.told.get("date")
    ]
    return f"{sum(undated)} of {len(undated)}" if undated else _UNKNOWN


def _agreement(one: Contender, other: Contender) -> float:
    return by_shingles(list(zip(one.texts, other.texts, strict=True))).f1


def own_contender() -> Contender:
    return Contender("Gossamer", _gossamer)


def _gossamer(sample: Sample) -> Extracted:
    page = Page(
        url=sample.url,
        final_url=sample.url,
        status=200,
        headers=(),
        body=sample.html.encode("utf-8", "replace"),
        media_type="text/html",
        charset="utf-8",
    )
    reading = read(page, ReadingOptions())
    told = {
        "title": reading.title,
        "author": reading.metadata.author or "",
        "date": (reading.metadata.published_at or "")[:10],
    }
    return Extracted(reading.text, told)


def _cross_validated(samples: Sequence[Sample]) -> Contender:
    print("fitting a model for each fold", file=sys.stderr, flush=True)
    models = cross_validated(training_pages(samples))
    contender = Contender("Gossamer, cross-validated", _gossamer)
    contender.found = [_with_model(sample, models[fold_of(sample)]) for sample in samples]
    return contender


def _with_model(sample: Sample, model: BlockModel) -> Extracted:
    tree = parse(sample.html)
    metadata = read_head(tree, sample.url)
    return Extracted(plain_text(content_of(tree, metadata, model), metadata.title))


def peers() -> list[Contender]:
    found: list[Contender] = []
    for make in (_trafilatura, _resiliparse, _readability, _htmldate):
        try:
            found += make()
        except ImportError as error:
            print(f"bench: {error.name} is not installed, so it is left out", file=sys.stderr)
    return found


def _trafilatura() -> list[Contender]:
    import trafilatura

    def ask(sample: Sample, *, fast: bool) -> Extracted:
        return Extracted(trafilatura.extract(sample.html, fast=fast, include_comments=False) or "")

    def ask_all(sample: Sample) -> Extracted:
        found = trafilatura.bare_extraction(sample.html, with_metadata=True, include_comments=False)
        if found is None or isinstance(found, dict):
            return Extracted("", {"title": "", "author": "", "date": ""})
        told = {"title": found.title or "", "author": found.author or "", "date": found.date or ""}
        return Extracted(found.text or "", told)

    return [
        Contender("trafilatura, fast", lambda sample: ask(sample, fast=True)),
        Contender("trafilatura", lambda sample: ask(sample, fast=False)),
        Contender("trafilatura, with metadata", ask_all),
    ]


def _resiliparse() -> list[Contender]:
    from resiliparse.extract.html2text import extract_plain_text

    return [
        Contender(
            "resiliparse", lambda sample: Extracted(extract_plain_text(sample.html, main_content=True) or "")
        )
    ]


def _readability() -> list[Contender]:
    from readability.readability import Document, Unparseable

    def ask(sample: Sample) -> Extracted:
        try:
            document = Document(sample.html)
            text = plain_text(whole_page(parse(document.summary())), "")
            return Extracted(text, {"title": document.short_title()})
        except (Unparseable, ValueError, TypeError, AttributeError):
            return Extracted("", {"title": ""})

    return [Contender("readability-lxml", ask)]


def _htmldate() -> list[Contender]:
    from htmldate import find_date

    def ask(sample: Sample) -> Extracted:
        return Extracted(None, {"date": find_date(sample.html, original_date=True, url=sample.url) or ""})

    return [Contender("htmldate", ask)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench extract", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, help="pages, with or without ground truth in a public format")
    return parser.parse_args()


if __name__ == "__main__":
    main()
