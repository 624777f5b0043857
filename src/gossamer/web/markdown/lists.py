"""Lists: find the items of a list, and write them one below the other."""

import re
from typing import Final, NamedTuple

from gossamer.web.html.elements.element import Element

_MARKER: Final = re.compile(r"(?:\d+)?([-*.)])(?= |$)", re.M)
_FOLLOWS_TEXT: Final = re.compile(r"(?:[-*]|1[.)]) \S")  # a list that needs no empty line after a paragraph
_OTHER: Final = {"-": "*", "*": "-", ".": ")", ")": "."}
_MARKERS_AT_START: Final = {
    marker: re.compile(rf"^({before}){re.escape(marker)}(?= |$)", re.M)
    for marker, before in (("-", ""), ("*", ""), (".", r"\d+"), (")", r"\d+"))
}
_MAX_NUMBER: Final = 999_999_999  # that Markdown reads


class ListItem(NamedTuple):
    marker: str
    blocks: list[str]
    loose: bool = False  # it has a paragraph of its own


def prefix(text: str, first: str, others: str) -> str:
    """Prefix every line; empty lines get no trailing white space."""
    head, *rest = text.split("\n")
    begin = first + head if head else first.rstrip()
    return "\n".join([begin, *(others + line if line else others.rstrip() for line in rest)])


def join_blocks(blocks: list[str], between: str = "\n\n") -> str:
    """Join blocks; a list right after a list gets other markers, lest they are read as one."""
    written: list[str] = []
    before = ""
    for block in blocks:
        found = _MARKER.match(block)
        marker = found[1] if found else ""
        if marker and marker == before:
            marker = _OTHER[marker]
            block = _MARKERS_AT_START[before].sub(rf"\g<1>{marker}", block)
        written.append(block)
        before = marker
    return between.join(written)


def join_items(items: list[ListItem]) -> str:
    """Join items without empty lines, unless one has paragraphs or blocks that need them."""
    loose = any(item.loose or not _is_tight(item.blocks) for item in items)
    between = "\n\n" if loose else "\n"
    written = []
    for marker, blocks, _ in items:
        if blocks and blocks[0] == "---":  # after a marker it would be read as a longer rule
            blocks = ["___", *blocks[1:]]
        written.append(prefix(join_blocks(blocks, between), marker, " " * len(marker)))
    return between.join(written)


def _is_tight(blocks: list[str]) -> bool:
    return len(blocks) < 2 or (len(blocks) == 2 and _FOLLOWS_TEXT.match(blocks[1]) is not None)


def define(entry: list[str], blocks: list[str]) -> None:
    """Add a definition: a short one beside its term, a longer one below it."""
    first = blocks[0]
    if (
        len(entry) == 1
        and len(blocks) == 1
        and "\n" not in first
        and not re.match(r"(?:[-#>|`]|\d+\.)", first)
    ):
        entry[0] += f": {first}"
    else:
        entry.extend(blocks)


def items_of(element: Element) -> list[Element]:
    """Return the items of a list; a list directly within a list belongs to the item before it."""
    items: list[Element] = []
    for child in element.children:
        if isinstance(child, str):
            if child.strip():
                items.append(_item_of([child], element))
        elif child.tag in ("ul", "ol") and items:
            items[-1] = _item_of([*items[-1].children, child], element, items[-1])
        elif child.tag == "li" or child.text or child.find("img"):
            items.append(child)
    return items


def _item_of(children: "list[Element | str]", parent: Element, like: Element | None = None) -> Element:
    item = Element("li", like.attributes if like else {}, parent)
    item.children = children
    return item


def checkbox_of(item: Element) -> Element | None:
    for one, _ in zip(item.walk(), range(4), strict=False):
        if one.tag == "input" and one.get("type").lower() == "checkbox":
            return one
    return None


def number_of(text: str, otherwise: int) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise
    return min(number, _MAX_NUMBER)


def entries_of(element: Element) -> list[Element]:
    """Return terms and definitions, also from wrapped pairs; anything else counts as a definition."""
    found: list[Element] = []
    for child in element.children:
        if isinstance(child, str):
            if child.strip():
                found.append(_item_of([child], element))
        elif child.tag == "div" and any(one.tag in ("dt", "dd") for one in child.elements):
            found.extend(entries_of(child))
        elif child.tag in ("dt", "dd"):
            found.append(child)
        elif child.text or child.find("img"):
            found.append(_item_of([child], element))
    return found
