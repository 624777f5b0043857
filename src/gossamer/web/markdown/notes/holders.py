"""Holders: the block that a note is in, and where each note begins and ends in it."""

import re
from collections.abc import Iterator
from typing import Final

from gossamer.web.html.elements.element import BLOCKS, Element
from gossamer.web.markdown.notes.marks import MAX_MARK_CHARS, label_of
from gossamer.web.markdown.tables import cells_of, rows_of

_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))


def holder_of(target: Element) -> Element | None:
    """Return the block that holds the note at a target."""
    element = target
    while element.tag not in BLOCKS or _is_bare_label(element):
        if element.tag in _HEADINGS:
            return element.parent if "foot" in f"{element.hints} {target.hints}".lower() else None
        if element.parent is None or element.tag in ("article", "main", "body"):
            return None
        element = element.parent
        if element.tag == "tr":
            return next((one for one in element.above() if one.tag == "table"), None)
    if element.tag in _HEADINGS or (
        element is target and any(one.tag in _HEADINGS for one in element.walk())
    ):
        return None
    if element.tag == "dt":
        return element.parent
    return element


def _is_bare_label(element: Element) -> bool:
    if element.text > MAX_MARK_CHARS:
        return False
    text = element.plain()
    return bool(label_of(text)) or re.search(r"\w", text) is None


def split_notes(
    holder: Element, found: list[tuple[Element, str]], *, mixed: bool
) -> "Iterator[tuple[str | None, list[Element | str]]]":
    """Yield the nodes of each note with its target, and with None the nodes that belong to no note."""
    if holder.tag == "table":
        yield from _split_rows(holder, found)
        return
    if len(found) == 1 and not mixed and found[0][0].tag not in _HEADINGS and holder.tag != "dl":
        yield found[0][1], list(holder.children)
        return
    begins = {id(_child_with(holder, element)): target for element, target in found}
    target: str | None = None
    nodes: list[Element | str] = []
    for child in holder.children:
        begun = begins.get(id(child)) if not isinstance(child, str) else None
        if begun is not None or (mixed and target is not None and _ends_note(child, nodes)):
            yield target, nodes
            target, nodes = begun, []
        nodes += child.children if not isinstance(child, str) and _is_transparent(child) else [child]
    yield target, nodes


def _split_rows(
    table: Element, found: list[tuple[Element, str]]
) -> "Iterator[tuple[str | None, list[Element | str]]]":
    if len(found) == 1 and found[0][0] is table:
        yield (
            found[0][1],
            [node for row in rows_of(table) for cell in cells_of(row) for node in cell.children],
        )
        return
    targets = {id(above): target for element, target in found for above in (element, *element.above())}
    for row in rows_of(table):
        target = targets.get(id(row))
        nodes: list[Element | str] = [node for cell in cells_of(row) for node in (*cell.children, " ")]
        yield target, nodes


def _child_with(holder: Element, element: Element) -> Element:
    while element.parent is not None and element.parent is not holder:
        element = element.parent
    return element


def _is_transparent(child: Element) -> bool:
    """Whether only its content belongs to a note: it is the heading, term or meaning around it."""
    return child.tag in ("dt", "dd") or child.tag in _HEADINGS


def _ends_note(child: Element | str, nodes: "list[Element | str]") -> bool:
    """Whether a note that shares its block with the text ends before this node."""
    if isinstance(child, str) or (child.tag not in BLOCKS and not child.blocks):
        return False
    return any((isinstance(node, str) and node.strip()) or not isinstance(node, str) for node in nodes)
