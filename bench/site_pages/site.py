"""A made-up site, and the words that its pages are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

PAGES: Final = 12

_WHEN: Final = (
    "Since the spring",
    "After two years of talks",
    "In the week before the fair",
    "Late last year",
    "For most of the summer",
    "When the old contract ended",
    "On the second attempt",
    "Without much notice",
)
_WHO: Final = (
    "the harbour office",
    "a small team of engineers",
    "the owner of the workshop",
    "most of the neighbours",
    "the board of the cooperative",
    "a former teacher",
    "the night shift",
    "a group of students",
)
_DID: Final = (
    "moved the archive to",
    "measured every joint of",
    "rebuilt the northern wall of",
    "wrote a long report about",
    "took apart and cleaned",
    "raised money for",
    "drew new maps of",
    "gave up the plan for",
)
_WHAT: Final = (
    "the pumping station",
    "the lower orchard",
    "the ferry landing",
    "the glass roof",
    "the old telegraph line",
    "the reading room",
    "the second boiler",
    "the signal tower",
)
_WHY: Final = (
    "because the winter storms had damaged it more than anyone thought",
    "although the budget for it had been cut twice",
    "which is why visitors now enter from the river side",
    "so that it can be used by everyone in the district",
    "and the first results look better than expected",
    "but nobody can say yet how long the work will take",
    "as the minutes of the last meeting show",
    "while the rest of the building stayed open",
)


@dataclass(frozen=True, slots=True)
class SitePage:
    html: str
    own: str  # the text of its content
    site_wide: tuple[str, ...]  # passages that stand on many pages


@dataclass(frozen=True, slots=True)
class MadeSite:
    name: str
    make: Callable[[int], SitePage]

    @property
    def pages(self) -> list[SitePage]:
        return [self.make(number) for number in range(PAGES)]


def sentences(site: str, page: int, count: int) -> list[str]:
    """Paragraphs of two sentences; each is on one page only."""
    chance = Random(f"{site} {page}")
    return [f"{_sentence(chance)} {_sentence(chance)}" for _ in range(count)]


def _sentence(chance: Random) -> str:
    parts = [chance.choice(words) for words in (_WHO, _DID, _WHAT, _WHY)]
    return f"{chance.choice(_WHEN)}, {' '.join(parts)}."


def paragraphs(texts: list[str]) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)


def document(title: str, site: str, body: str) -> str:
    menu = "".join(f'<li><a href="/{at}">Section {at}</a></li>' for at in range(5))
    head = f"<title>{title} | {site}</title>"
    frame = f'<div class="top"><ul>{menu}</ul></div>{body}<div class="bottom"><p>© {site}</p></div>'
    return f"<!doctype html><html lang=en><head>{head}</head><body>{frame}</body></html>"
