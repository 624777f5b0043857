"""Lists: find the items of a list, and write them one below the other."""

import re

from gossamer.web.html.tree import Element


def prefix(text: str, first: str, others: str) -> str:
    """Prefix every line; empty lines get no trailing white space."""
    head, *rest = text.split("\n")
    return "\n".join(
        [first + head, *((others + line).rstrip() if line or others.strip() else "" for line in rest)]
    )


def join_items(items: list[tuple[str, list[str]]]) -> str:
    """Join items without empty lines, unless one has more than a line and a list."""
    loose = any(len(blocks) > 2 or (len(blocks) == 2 and not _is_list(blocks[1])) for _, blocks in items)
    written = []
    for marker, blocks in items:
        body = ("\n\n" if loose else "\n").join(blocks)
        written.append(prefix(body, marker, " " * len(marker)))
    return ("\n\n" if loose else "\n").join(written)


def _is_list(block: str) -> bool:
    return re.match(r"(?:- |\d+\. )", block) is not None


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
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else otherwise


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
