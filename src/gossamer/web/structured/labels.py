"""Labels: values with their names beside them: definition lists, two-column tables, `Name: value` lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gossamer.web.structured.record import LONGEST, Leaf
from gossamer.web.structured.words import label_key
from gossamer.web.tables import grid_of, is_layout
from gossamer.web.tree import Element, Tree

MOST: Final = 2_000
LONGEST_NAME: Final = 60
LONGEST_LINE: Final = 300
MOST_ITEMS: Final = 200
_LINE: Final = re.compile(r"\s*([^\W\d_][^:\uff1a\n]{0,59}?)\s*[:\uff1a]\s*(\S.*)", re.DOTALL)
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LINES: Final = frozenset(("li", "p", "div", "span", "td", "address", "figcaption"))


@dataclass(frozen=True, slots=True)
class Labels:
    pairs: dict[str, list[Leaf]]  # by `words.label_key`
    lists: dict[str, list[Leaf]]  # the items of a list under a heading of that name

    def find(self, names: frozenset[str]) -> Iterator[Leaf]:
        for name in sorted(names & self.pairs.keys()):
            yield from self.pairs[name]

    def listed(self, names: frozenset[str]) -> list[Leaf]:
        return next((self.lists[name] for name in sorted(names & self.lists.keys())), [])


def labels_of(tree: Tree) -> Labels:
    found = Labels({}, {})
    for name, leaf in (*_defined(tree), *_tabled(tree), *_lined(tree)):
        spelt = label_key(name)
        values = found.pairs.setdefault(spelt, [])
        if spelt and len(found.pairs) < MOST and len(values) < MOST_ITEMS:
            values.append(leaf)
    for name, items in _headed(tree):
        found.lists.setdefault(label_key(name), items)
    return found


def labels_of_text(text: str) -> Labels:
    """Of a document that is nothing but lines."""
    found = Labels({}, {})
    for number, line in enumerate(text.splitlines()[: MOST * 10], start=1):
        match = _LINE.fullmatch(line) if len(line) <= LONGEST_LINE else None
        if match:
            leaf = Leaf(" ".join(match[2].split()), f"line {number}")
            found.pairs.setdefault(label_key(match[1]), []).append(leaf)
    return found


def _defined(tree: Tree) -> Iterator[tuple[str, Leaf]]:
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
                    if 0 < len(name) <= LONGEST_NAME:
                        yield name, Leaf(one.plain()[:LONGEST], f"dl[{number}] {name}")


def _tabled(tree: Tree) -> Iterator[tuple[str, Leaf]]:
    """Of tables whose rows begin with what the rest is about."""
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
                if 0 < len(name) <= LONGEST_NAME and second.text:
                    yield name, Leaf(second.plain()[:LONGEST], f"table[{number}] {name}")


def _lined(tree: Tree) -> Iterator[tuple[str, Leaf]]:
    for one in tree.order:
        if one.tag in _LINES and not one.blocks and 0 < one.text <= LONGEST_LINE:
            match = _LINE.fullmatch(one.plain())
            if match and "://" not in match[1] and not match[2].startswith("//"):
                yield match[1], Leaf(" ".join(match[2].split()), f"{one.tag} “{match[1]}”")


def _headed(tree: Tree) -> Iterator[tuple[str, list[Leaf]]]:
    """Lists whose name is the heading right before them."""
    heading: Element | None = None
    number = 0
    for one in tree.order:
        number += one.tag in ("ul", "ol")
        if one.tag in _HEADINGS and one.text <= LONGEST_NAME:
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
                        Leaf(item.plain()[:LONGEST], f"{name} > li[{place}]")
                        for place, item in enumerate(items[:MOST_ITEMS], start=1)
                    ],
                )
