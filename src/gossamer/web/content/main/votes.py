"""The candidate by votes: every paragraph votes for the elements around it, its parent most.

The element with most votes is the content, with the siblings that have a good part of as many.
"""

from collections.abc import Mapping
from typing import Final

from gossamer.web.content.main.blocks import PageBlocks
from gossamer.web.content.main.boilerplate import PartKind
from gossamer.web.content.main.names import rank_as_article
from gossamer.web.html.elements.element import Element

_MIN_CHARS: Final = 25
_PARTS: Final = (1, 2, 6, 9, 12)  # what the parent, the grandparent and so on get of a vote: 1/1, 1/2, …
_NAMED: Final = 25.0  # votes for an element that is named as the article, and against one that is not
_SIBLING: Final = 0.2  # of the most votes
_MIN_SIBLING: Final = 10.0
_MIN_FOUND: Final = 250  # characters; with less, names do not count
_MAX_BARRED: Final = 0.4  # of the page's sentences, in an element that is called something else
_MAX_LINKED: Final = 0.5
_MAX_SIBLING_LINKED: Final = 0.25
_SURE: Final = int(PartKind.SURELY_BESIDE)
_BESIDE: Final = _SURE | int(PartKind.BESIDE)


def elect(page: PageBlocks, names: Mapping[Element, int]) -> list[bool]:
    """Which blocks are content."""
    gated = {element: flags for element, flags in names.items() if page.share(element) < _MAX_BARRED}
    kept = _elect(page, gated, _barred(page, gated))
    found = sum(block.size for block, keep in zip(page.blocks, kept, strict=True) if keep)
    return kept if found >= _MIN_FOUND else _elect(page, {}, [False] * len(kept))


def _elect(page: PageBlocks, names: Mapping[Element, int], barred: list[bool]) -> list[bool]:
    votes = _count(page, barred)
    kept = [False] * len(barred)
    if votes:
        scores = {element: _score(element, count, names) for element, count in votes.items()}
        best = max(scores, key=lambda element: scores[element])
        for element in _with_siblings(best, scores):
            kept[element.begin : element.end] = [True] * (element.end - element.begin)
    return [keep and not out for keep, out in zip(kept, barred, strict=True)]


def _count(page: PageBlocks, barred: list[bool]) -> dict[Element, float]:
    votes: dict[Element, float] = {}
    for block, out in zip(page.blocks, barred, strict=True):
        if out or block.size < _MIN_CHARS or block.linked >= _MAX_LINKED:
            continue
        value = 1 + block.text.count(",") + min(block.said / 100, 3)
        element: Element | None = block.parent
        for part in _PARTS:
            if element is None:
                break
            votes[element] = votes.get(element, 0.0) + value / part
            element = element.parent
    return votes


def _score(element: Element, votes: float, names: Mapping[Element, int]) -> float:
    if rank_as_article(element) >= 2:
        votes += _NAMED
    elif names.get(element, 0) & _BESIDE:
        votes -= _NAMED
    return votes * (1 - _linked(element))


def _barred(page: PageBlocks, names: Mapping[Element, int]) -> list[bool]:
    """Blocks inside elements whose names say that they are not content."""
    barred = [False] * len(page.blocks)
    for element, flags in names.items():
        if flags & _SURE and rank_as_article(element) < 2:
            barred[element.begin : element.end] = [True] * (element.end - element.begin)
    return barred


def _linked(element: Element) -> float:
    return min(element.linked / element.text, 1.0) if element.text else 0.0


def _with_siblings(best: Element, scores: dict[Element, float]) -> list[Element]:
    if best.parent is None:
        return [best]
    enough = max(scores[best] * _SIBLING, _MIN_SIBLING)
    return [
        one
        for one in best.parent.elements
        if one is best
        or scores.get(one, 0.0) >= enough
        or (one.tag == "p" and one.text > 80 and _linked(one) < _MAX_SIBLING_LINKED)
    ]
