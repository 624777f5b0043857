"""Near-duplicates: which pairs of pages the fingerprints of a crawl find alike, and which of them are.

All pairs of a site's pages are compared, of documentation that is installed. The truth is the share of their
runs of three words that two texts have in common: from 0.85 on, they are nearly the same.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from glob import glob
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.links import SITES, read_pages
from bench.table import save, table, this_machine
from gossamer.web.crawl.crawl_view import CrawlView, view_page
from gossamer.web.crawl.fingerprint import is_near

SAME: Final = 0.85
OTHER: Final = 0.5
COLUMNS: Final = ("", "pages", "words per page", "pairs", "the same", "of these found", "between", "false")


class ComparedText(NamedTuple):
    fingerprint: str
    words: int
    runs: frozenset[int]

    @classmethod
    def of(cls, view: CrawlView) -> "ComparedText":
        words = view.text.split()
        return cls(
            view.fingerprint, len(words), frozenset(map(hash, zip(words, words[1:], words[2:], strict=False)))
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_200, help="of each site, at most")
    options = parser.parse_args()
    found = {name: compare(name, options.pages) for name, place in SITES.items() if glob(place)}
    machine = this_machine()
    head = f"Found alike: *between* share {OTHER} to {SAME} of their runs of three words, *false* share less."
    text = f"{machine}\n\n{head}\n\n{table(COLUMNS, [_row(name, one) for name, one in found.items()])}"
    print(text)
    save("near_duplicates", machine, text, found)


def compare(site: str, most: int) -> dict[str, Any]:
    pages = read_pages(Path(glob(SITES[site])[0]).resolve(), most)
    texts = [ComparedText.of(view_page(page)) for page in pages]
    kinds = Counter(_kinds(texts))
    return {"pages": len(texts), "words": sum(one.words for one in texts) // len(texts), **kinds}


def _kinds(texts: Sequence[ComparedText]) -> Iterator[str]:
    for one, other in combinations(texts, 2):
        yield "pairs"
        near = is_near(one.fingerprint, other.fingerprint)
        shared = _shared(one.runs, other.runs, 0.0 if near else SAME)
        if shared >= SAME:
            yield "same"
            yield "found" if near else "missed"
        elif near:
            yield "between" if shared >= OTHER else "false"


def _shared(one: frozenset[int], other: frozenset[int], least: float) -> float:
    """The share of runs in common; 0 where it cannot be `least`."""
    if min(len(one), len(other)) < least * max(len(one), len(other)):
        return 0.0
    common = len(one & other)
    return common / max(1, len(one) + len(other) - common)


def _row(site: str, found: dict[str, Any]) -> list[str]:
    names = ("pages", "words", "pairs", "same", "found", "between", "false")
    return [site, *(f"{found.get(name, 0):,}" for name in names)]


if __name__ == "__main__":
    main()
