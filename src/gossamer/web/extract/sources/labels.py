"""Labelled values of a page: definition lists, two-column tables, `Name: value` lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gossamer.web.extract.record import MAX_VALUE_CHARS, Leaf
from gossamer.web.extract.schema.words import label_key
from gossamer.web.html.tree import Element, Tree
from gossamer.web.markdown.tables import grid_of, is_layout

MAX_LABELS: Final = 2_000
MAX_NAME_CHARS: Final = 60
MAX_LINE_CHARS: Final = 300
MAX_ITEMS: Final = 200
_LINE: Final = re.compile(r"\s*([^\W\d_][^:\uff1a\n]{0,59}?)\s*[:\uff1a]\s*(\S.*)", re.DOTALL)
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LINES: Final = frozenset(("li", "p", "div", "span", "td", "address", "figcaption"))


@dataclass(frozen=True, slots=True)
class Labels:
    pairs: dict[str, list[Leaf]]  # by `words.label_key`
    lists: dict[str, list[Leaf]]  # the items of a list, by the heading above it

    def find(self, names: frozenset[str]) -> Iterator[Leaf]:
        for name in sorted(names & self.pairs.keys()):
            yield from self.pairs[name]

    def items_under(self, names: frozenset[str]) -> list[Leaf]:
        return next((self.lists[name] for name in sorted(names & self.lists.keys())), [])


def labels_of(tree: Tree) -> Labels:
    found = Labels({}, {})
    for name, leaf in (*_definitions(tree), *_table_rows(tree), *_label_lines(tree)):
        spelt = label_key(name)
        values = found.pairs.setdefault(spelt, [])
        if spelt and len(found.pairs) < MAX_LABELS and len(values) < MAX_ITEMS:
            values.append(leaf)
    for name, items in _headed_lists(tree):
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


def _definitions(tree: Tree) -> Iterator[tuple[str, Leaf]]:
    for number, outer in enumerate((one for one in tree.order if one.tag == "dl"), start=1):
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


def _table_rows(tree: Tree) -> Iterator[tuple[str, Leaf]]:
    """Yield the rows of two-column tables, whose first cell is a label."""
    for number, table in enumerate((one for one in tree.order if one.tag == "table"), start=1):
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


def _label_lines(tree: Tree) -> Iterator[tuple[str, Leaf]]:
    for one in tree.order:
        if one.tag in _LINES and not one.blocks and 0 < one.text <= MAX_LINE_CHARS:
            match = _LINE.fullmatch(one.plain())
            if match and "://" not in match[1] and not match[2].startswith("//"):
                yield match[1], Leaf(" ".join(match[2].split()), f"{one.tag} “{match[1]}”")


def _headed_lists(tree: Tree) -> Iterator[tuple[str, list[Leaf]]]:
    """Yield lists, each with the heading right before it."""
    heading: Element | None = None
    number = 0
    for one in tree.order:
        number += one.tag in ("ul", "ol")
        if one.tag in _HEADINGS and one.text <= MAX_NAME_CHARS:
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
