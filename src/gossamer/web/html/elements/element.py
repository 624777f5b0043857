"""An element of a page's tree: its tag, its attributes, and what is inside it."""

from collections.abc import Iterator
from typing import Final

from gossamer.web.html.vocabulary import tags

BLOCKS: Final = tags(
    "address article aside blockquote body center dd details dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav noscript ol optgroup p "
    "pre section summary table caption thead tbody tfoot tr td th ul search listing xmp"
)


class Element:
    __slots__ = (
        "attributes",
        "begin",
        "blocks",
        "children",
        "end",
        "hints",
        "linked",
        "parent",
        "prose",
        "tag",
        "text",
    )

    def __init__(self, tag: str, attributes: dict[str, str | None], parent: "Element | None") -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element | str] = []
        self.parent = parent
        # Class and id, which hint at its purpose.
        if "id" in attributes:
            self.hints = _join(attributes.get("class"), attributes["id"])
        else:
            self.hints = attributes.get("class") or ""
        self.blocks = False  # it contains a block-level element
        self.text = 0  # characters of text inside, without surrounding white space
        self.linked = 0  # of these, inside links
        self.prose = 0.0  # its weight in the choice of the main content
        self.begin = self.end = 0  # which of the page's text blocks are inside

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    @property
    def elements(self) -> "list[Element]":
        return [child for child in self.children if not isinstance(child, str)]

    def walk(self) -> "Iterator[Element]":
        """Yield the element and all below it, in document order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            children = element.children
            if len(children) > 1:
                waiting += [child for child in reversed(children) if not isinstance(child, str)]
            elif children and not isinstance(only := children[0], str):
                waiting.append(only)

    def find(self, *tags: str) -> "Element | None":
        return next((one for one in self.walk() if one.tag in tags and one is not self), None)

    def texts(self) -> Iterator[str]:
        waiting: list[Element | str] = [self]
        while waiting:
            child = waiting.pop()
            if isinstance(child, str):
                yield child
            else:
                waiting.extend(reversed(child.children))

    def plain(self) -> str:
        """Return its text on one line."""
        return " ".join("".join(self.texts()).split())

    def words_without(self, left_out: set[int]) -> str:
        """Return its text without that of some elements below, which are given by their ids."""
        pieces: list[str] = []
        waiting: list[Element | str] = [self]
        while waiting:
            child = waiting.pop()
            if isinstance(child, str):
                pieces.append(child)
            elif id(child) not in left_out:
                waiting.extend(reversed(child.children))
        return " ".join("".join(pieces).split())

    def above(self) -> "Iterator[Element]":
        parent = self.parent
        while parent is not None:
            yield parent
            parent = parent.parent

    def within(self, *tags: str) -> bool:
        return any(one.tag in tags for one in self.above())


def _join(classes: str | None, name: str | None) -> str:
    return f"{classes} {name}" if classes and name else classes or name or ""
