"""The content of a page: the element that contains it, without what is left out of it."""

from typing import Final

from msgspec import Struct, field

from gossamer.web.content.content_warning import ContentWarning
from gossamer.web.html.elements.element import Element
from gossamer.web.html.tree import Tree

LOW_CONFIDENCE: Final = 0.5
MIN_KEPT: Final = 0.1  # of the page's sentences


class Content(Struct):
    root: Element
    left_out: set[int] = field(default_factory=set)  # ids of elements below the root that are not content
    heading: Element | None = None  # the title of the page, if it is outside the root
    size: int = 0  # characters of its text
    confidence: float = 1.0  # that this is all of the content and nothing else, from 0 to 1
    warning: ContentWarning | None = None


def whole_page(tree: Tree) -> Content:
    return Content(tree.body, size=tree.body.text)
