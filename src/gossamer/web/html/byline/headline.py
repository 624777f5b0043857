"""The headline of a page, and what stands beside it or belongs to something else."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Final

from gossamer.web.html.elements.element import Element
from gossamer.web.html.tree import Tree

_ELSEWHERE: Final = re.compile(
    r"comment|kommentar|related|similar|recommend|popular|copyright|review|event|termin|breadcrumb|calendar"
    r"|(?<!elementor-)widget|teaser|recent|sidebar|footer"
    r"|(?:^|[\s_-])(?:nav|menu|ads?|card|more|latest|ticker|toc|quote|archives?)(?:$|[\s_-])",
    re.I,
)
_OTHER_TAGS: Final = frozenset(("aside", "footer", "nav", "blockquote", "table"))
_OTHER_TYPES: Final = re.compile(r"Comment|Review|Product|Event|Answer")


class Headline:
    """The heading that is the title, else the first of the highest level. It is found when needed."""

    def __init__(self, tree: Tree, title: str) -> None:
        self._tree = tree
        self._order = tree.order
        self._title = title

    @cached_property
    def at(self) -> int | None:
        """Its position among the elements."""
        found = _find(self._tree.headings, self._title)
        return None if found is None else self._order.index(found)

    @cached_property
    def around(self) -> frozenset[int]:
        """The elements that it is in."""
        return frozenset() if self.at is None else frozenset(id(one) for one in self._order[self.at].above())

    def beside(self, before: int, after: int) -> Iterator[tuple[Element, int]]:
        """Yield the elements beside it, and how far away they are."""
        if self.at is not None:
            first = max(0, self.at - before)
            for position, element in enumerate(self._order[first : self.at + after], start=first):
                yield element, abs(position - self.at)

    def is_elsewhere(self, element: Element, *, but_in_aside: bool = False) -> bool:
        """Whether it belongs to something else. What has the headline inside is the page itself. An `aside`
        is something else, unless the caller knows better (`but_in_aside`)."""
        for one in (element, *element.above()):
            if id(one) in self.around or one.tag == "body":
                return False
            if one.tag == "aside" and but_in_aside and not _is_other(one.hints):
                continue
            if one.tag in _OTHER_TAGS or _is_other(one.hints) or _OTHER_TYPES.search(one.get("itemtype")):
                return True
        return False


def _find(headings: Sequence[Element], title: str) -> Element | None:
    wanted = title.casefold()
    for heading in headings:
        if heading.plain().casefold() == wanted:
            return heading
    return min(headings, key=lambda heading: heading.tag, default=None)


@lru_cache(maxsize=4096)  # a page has few different classes
def _is_other(hints: str) -> bool:
    return _ELSEWHERE.search(hints) is not None
