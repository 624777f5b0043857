"""What an element is called, by its tag, role, class and id."""

from functools import lru_cache
from typing import Final

from gossamer.web.content.main.blocks import PageBlocks
from gossamer.web.content.main.boilerplate import (
    PartKind,
    article_rank,
    has_boilerplate_role,
    is_part_of_article,
    kinds_of,
)
from gossamer.web.html.elements.element import Element

_SURE: Final = int(PartKind.SURELY_BESIDE)
_MAYBE: Final = int(PartKind.BESIDE)
_ASIDE: Final = int(PartKind.ASIDE)
_DOUBTFUL_TAGS: Final = frozenset(("aside", "form", "menu"))


def name_elements(page: PageBlocks) -> dict[Element, int]:
    """Return what the names of elements say, as flags of `PartKind`, where they say something."""
    named: dict[Element, int] = {}
    for element in page.holders[1:]:
        flags = _flags(element)
        if flags:
            named[element] = flags
    return named


def _flags(element: Element) -> int:
    tag, attributes = element.tag, element.attributes
    if not attributes:
        return _flags_of_role(tag, "")
    hints, role = element.hints, attributes.get("role") or ""
    flags = kinds_of(hints) | _flags_of_role(tag, role)
    if flags & (_SURE | _MAYBE) and is_part_of_article(hints, role):
        flags &= ~(_SURE | _MAYBE)
    return flags


@lru_cache(maxsize=1024)
def _flags_of_role(tag: str, role: str) -> int:
    if not has_boilerplate_role(tag, role):
        return 0
    return _ASIDE | (_MAYBE if tag in _DOUBTFUL_TAGS else _SURE)


def rank_as_article(element: Element) -> int:
    """Return 3 for the body of an article, 2 for a whole article, 1 for the place around one, else 0."""
    if not element.attributes:
        return 2 if element.tag in ("article", "main") else 0
    if element.attributes.get("itemprop") == "articleBody":
        return 3
    named = article_rank(element.hints)
    if named < 2 and (
        element.tag in ("article", "main") or element.attributes.get("role") in ("main", "article")
    ):
        return 2
    return named
