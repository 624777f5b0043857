"""Labelled values of a page: definition lists, two-column tables, `Name: value` lines."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from gossamer.web.extract.record import MAX_VALUE_CHARS, Leaf
from gossamer.web.extract.schema.words import label_key
from gossamer.web.html.elements.element import Element
from gossamer.web.markdown.tables import grid_of, is_layout

MAX_LABELS: Final = 2_000
MAX_NAME_CHARS: Final = 60
MAX_LINE_CHARS: Final = 300
MAX_SECTION_CHARS: Final = 120
MAX_ITEMS: Final = 200
_LINE: Final = re.compile(r"\s*([^\W\d_][^:\uff1a\n]{0,59}?)\s*[:\uff1a]\s*(\S.*)", re.DOTALL)
HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LINES: Final = frozenset(("li", "p", "div", "span", "td", "address", "figcaption"))


class Labels(Struct, frozen=True):
    pairs: dict[str, list[Leaf]]  # by `words.label_key`
    lists: dict[str, list[Leaf]]  # the items of a list, by the heading above it

    def find(self, names: frozenset[str]) -> Iterator[Leaf]:
        for name in sorted(names & self.pairs.keys()):
            yield from self.pairs[name]

    def items_under(self, names: frozenset[str]) -> list[Leaf]:
        return next((self.lists[name] for name in sorted(names & self.lists.keys())), [])


def labels_of(order: Sequence[Element]) -> Labels:
    """The labels in elements that are given in document order."""
    found = Labels({}, {})
    pairs = (_definitions, _table_rows, _label_lines, _spans, _short_sections)
    for name, leaf in (pair for find in pairs for pair in find(order)):
        spelt = label_key(name)
        values = found.pairs.setdefault(spelt, [])
        if spelt and len(found.pairs) < MAX_LABELS and len(values) < MAX_ITEMS:
            values.append(leaf)
    for name, items in _headed_lists(order):
        found.lists.setdefault(label_key(name), items)
    return found


def labels_of_text(text: str) -> Labels:
    """Find the labels of a plain text."""
    found = Labels({}, {})
    for number, line in enumerate(text.splitlines()[: MAX_LABELS * 10], start=1):
        match = _LINE.fullmatch(line) if len(line) <= MAX_LINE_CHARS else None
        if match:
            leaf = Leaf(" ".join(match[2].split()), f"line {number}")
            found.pairs.setdefault(label_key(match[1]), []).append(leaf)
    return found


def _definitions(order: Sequence[Element]) -> Iterator[tuple[str, Leaf]]:
    for number, outer in enumerate((one for one in order if one.tag == "dl"), start=1):
        names: list[str] = []
        open_names = True
        for one in outer.walk():
            if one.tag == "dt":
                names = [*names, one.plain()] if open_names else [one.plain()]
                open_names = True
            elif one.tag == "dd":
                open_names = False
                for name in names:
                    if 0 < len(name) <= MAX_NAME_CHARS:
                        yield name, Leaf(one.plain()[:MAX_VALUE_CHARS], f"dl[{number}] {name}")


def _table_rows(order: Sequence[Element]) -> Iterator[tuple[str, Leaf]]:
    """Yield the rows of two-column tables, whose first cell is a label."""
    for number, table in enumerate((one for one in order if one.tag == "table"), start=1):
        if is_layout(table):
            continue
        grid = grid_of(table)
        rows = [*([grid.header] if grid.header else []), *grid.rows]
        if not rows or len(rows[0]) != 2:
            continue
        for row in rows:
            first, second = row[0], row[1]
            if first is not None and second is not None and first is not second:
                name = first.plain().rstrip(": ")
                if 0 < len(name) <= MAX_NAME_CHARS and second.text:
                    yield name, Leaf(second.plain()[:MAX_VALUE_CHARS], f"table[{number}] {name}")


def _label_lines(order: Sequence[Element]) -> Iterator[tuple[str, Leaf]]:
    for one in order:
        if one.tag in _LINES and not one.blocks and 0 < one.text <= MAX_LINE_CHARS:
            match = _LINE.fullmatch(one.plain())
            if match and "://" not in match[1] and not match[2].startswith("//"):
                yield match[1], Leaf(" ".join(match[2].split()), f"{one.tag} “{match[1]}”")


def _spans(order: Sequence[Element]) -> Iterator[tuple[str, Leaf]]:
    """Yield pairs of elements that are all that is in an element: a label, and its value."""
    for one in order:
        if len(one.children) > 5 or not 0 < one.text <= MAX_LINE_CHARS:
            continue
        inner = [child for child in one.elements if child.text]
        if len(inner) == 2 and inner[0].text <= MAX_NAME_CHARS and not _own_text(one):
            name = inner[0].plain().rstrip(": ")
            yield name, Leaf(_said(inner[1]), f"{one.tag} “{name}”")


def _short_sections(order: Sequence[Element]) -> Iterator[tuple[str, Leaf]]:
    """Yield headings with a short text right after them."""
    for one in order:
        if one.tag in HEADINGS and one.text <= MAX_NAME_CHARS and one.parent is not None:
            beside = one.parent.elements
            place = next(at for at, other in enumerate(beside) if other is one)
            after = beside[place + 1] if place + 1 < len(beside) else None
            if after is not None and not after.blocks and 0 < after.text <= MAX_SECTION_CHARS:
                yield one.plain(), Leaf(after.plain(), f"{one.tag} “{one.plain()}”")


def _headed_lists(order: Sequence[Element]) -> Iterator[tuple[str, list[Leaf]]]:
    """Yield lists, each with the heading right before it."""
    heading: Element | None = None
    number = 0
    for one in order:
        number += one.tag in ("ul", "ol")
        if one.tag in HEADINGS and one.text <= MAX_NAME_CHARS:
            heading = one
        elif (
            one.tag in ("ul", "ol")
            and heading is not None
            and not one.within("li", "nav", "header", "footer")
        ):
            name, heading = heading.plain(), None
            items = [item for item in one.elements if item.tag == "li" and item.text]
            if items and name:
                yield (
                    name,
                    [
                        Leaf(item.plain()[:MAX_VALUE_CHARS], f"{name} > li[{place}]")
                        for place, item in enumerate(items[:MAX_ITEMS], start=1)
                    ],
                )


def _own_text(element: Element) -> bool:
    return any(isinstance(child, str) and child.strip(" :\uff1a") for child in element.children)


def _said(element: Element) -> str:
    """Its text, or the machine-readable time in it."""
    time = element if element.tag == "time" else element.find("time")
    return (time.get("datetime") if time else "") or element.plain()[:MAX_VALUE_CHARS]
