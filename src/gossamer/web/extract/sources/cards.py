"""Cards: parts of a page that are alike, such as the products of a list, with the texts in each.

Alike are children of one element with the same tags and classes inside, the parts between headings of one
level, and the pairs of a definition list.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from msgspec import Struct

from gossamer.web.extract.record import MAX_VALUE_CHARS
from gossamer.web.extract.schema.words import key, words
from gossamer.web.extract.sources.labels import HEADINGS, Labels, labels_of
from gossamer.web.html.elements.element import BLOCKS, Element
from gossamer.web.html.tree import Tree
from gossamer.web.html.vocabulary import tags

MAX_GROUPS: Final = 40  # on a page; those with the most text
MAX_CARDS: Final = 1_000  # in a group
MAX_CHILDREN: Final = 50_000  # that are compared, on a page
MAX_PIECES: Final = 2_000  # in a card
MIN_ALIKE: Final = 0.5  # share of tags and classes that two cards have in common
_OUTSIDE: Final = ("nav", "footer")
_STRUCK: Final = frozenset(("del", "s", "strike"))
_NAMED_BY: Final = ("class", "id", "itemprop", "data-testid", "data-test", "data-field", "data-qa", "name")
_MAX_NAMES: Final = 12  # in an attribute
# Words of class names that say nothing about the value.
_VAGUE: Final = tags(
    "wrapper wrap container box item list row col column content block inner outer info data field group "
    "section card cell value text txt line small large sm md lg xs main left right top bottom primary span "
    "div p js el element component module part area"
)


class Piece(NamedTuple):
    """A text of a card, with the element that has it."""

    element: Element
    text: str
    names: frozenset[str]  # what its markup calls it, as `words.key`
    is_struck: bool
    beside: int  # characters of other text in its block


class Card(Struct, frozen=True, dict=True):
    root: Element
    path: str
    without: frozenset[int] = frozenset()  # ids of elements that are not looked into

    @cached_property
    def pieces(self) -> list[Piece]:
        """Its texts: leaves of the layout, and what is emphasised or linked within them."""
        found: list[Piece] = []
        waiting: list[tuple[Element, Element, bool]] = [(self.root, self.root, False)]
        while waiting and len(found) < MAX_PIECES:
            element, block, is_struck = waiting.pop()
            is_struck = is_struck or element.tag in _STRUCK
            if element.tag in BLOCKS:
                block = element
            if not element.blocks and (element.text or element.get("aria-label") or element.get("title")):
                beside = 0 if block.blocks else block.text - element.text
                text = element.plain()[:MAX_VALUE_CHARS]
                found.append(Piece(element, text, names_of(element), is_struck, beside))
            inner = [one for one in element.elements[::-1] if id(one) not in self.without]
            waiting += [(one, block, is_struck) for one in inner]
        return found

    @cached_property
    def labels(self) -> Labels:
        return labels_of(list(self.root.walk()))

    @cached_property
    def links(self) -> list[Element]:
        return [one for one in self.walk() if one.tag == "a" and one.get("href")]

    @cached_property
    def headings(self) -> list[Element]:
        return [one for one in self.walk() if one.text and (one.tag in HEADINGS or one.tag in _TITLED)]

    def walk(self) -> Iterator[Element]:
        waiting = [self.root]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += [one for one in element.elements[::-1] if id(one) not in self.without]


_TITLED: Final = frozenset(("summary", "dt"))


class CardGroup(Struct, frozen=True):
    cards: list[Card]
    names: frozenset[str]  # of the whole: words of its classes, and of the heading before it

    @property
    def text(self) -> int:
        return sum(card.root.text for card in self.cards)

    @property
    def is_titled(self) -> bool:
        """Whether its cards are things of their own: each has a heading or a link."""
        return all(card.headings or card.links for card in self.cards[:5])


def find_groups(tree: Tree) -> list[CardGroup]:
    """The groups of a page, those with the most text first."""
    found: list[CardGroup] = []
    outside: set[int] = set()  # ids of elements in the frame of the page
    heading, left = "", MAX_CHILDREN
    for element in tree.order:
        if element.tag in _OUTSIDE or id(element.parent) in outside:
            outside.add(id(element))
        elif element.tag in HEADINGS:
            heading = element.plain()
        elif element.text and 1 < len(element.children) <= left:
            left -= len(element.children)
            found += [_group(element, cards, heading) for cards in _split(element) if len(cards) > 1]
    return sorted(found, key=lambda group: -group.text)[:MAX_GROUPS]


def find_subject(tree: Tree, groups: Sequence[CardGroup]) -> Card:
    """What the page itself is about: all of it, without the things that it lists and its frame."""
    listed = {id(card.root) for group in groups if group.is_titled for card in group.cards}
    frame = {id(one) for one in tree.order if one.tag in ("nav", "footer", "aside")}
    return Card(tree.body, "page", frozenset(listed | frame))


def names_of(element: Element) -> frozenset[str]:
    """What the attributes of an element call it: `product-price` is a product price, and a price."""
    said = " ".join(element.get(name) for name in _NAMED_BY)
    return frozenset(name for token in said.split()[:_MAX_NAMES] for name in _names(token))


def _names(token: str) -> Iterator[str]:
    parts = list(words(token))
    while parts and parts[-1] in _VAGUE:
        parts.pop()
    if parts:
        yield from ("".join(parts), "".join(parts[::-1]))
        yield from ("".join(parts[-2:]), parts[-1])


def _split(element: Element) -> Iterator[list[Card]]:
    """The ways in which the children of an element are alike."""
    inner = [one for one in element.elements if one.text or one.find("img", "a")]
    by_tag: dict[str, list[Element]] = {}
    for one in inner:
        if one.tag in BLOCKS or one.tag == "a" or "-" in one.tag:
            by_tag.setdefault(one.tag, []).append(one)
    for tag, children in by_tag.items():
        if tag not in ("dt", "dd", "tr", "td", "th") and tag not in HEADINGS and len(children) > 1:
            alike = _alike(children[:MAX_CARDS])
            yield [Card(one, f"{_place(element)} > {tag}[{n}]") for n, one in enumerate(alike, start=1)]
    yield from _between(element, by_tag)


def _between(element: Element, by_tag: dict[str, list[Element]]) -> Iterator[list[Card]]:
    """Parts that begin with a heading, or with the term of a definition list."""
    for tag in ("dt", *sorted(HEADINGS & by_tag.keys())):
        heads = by_tag.get(tag, [])
        if len(heads) > 1:
            yield [_part(element, tag, at, until) for at, until in _spans(element, heads[:MAX_CARDS])]


def _spans(element: Element, heads: list[Element]) -> Iterator[tuple[int, int]]:
    starts = [element.children.index(head) for head in heads]
    yield from pairwise([*starts, len(element.children)])


def _part(element: Element, tag: str, at: int, until: int) -> Card:
    root = Element("section", {}, element)
    root.children = element.children[at:until]
    root.blocks = True
    root.text = sum(one.text for one in root.elements)
    head = root.elements[0].plain()[:60]
    return Card(root, f"{_place(element)} > {tag} “{head}”")


def _alike(children: list[Element]) -> list[Element]:
    """Those that are like most of the others."""
    shapes = [_shape(one) for one in children]
    model = max(shapes, key=lambda shape: sum(_likeness(shape, other) for other in shapes[:20]))
    return [one for one, shape in zip(children, shapes, strict=True) if _likeness(model, shape) >= MIN_ALIKE]


def _shape(element: Element) -> frozenset[str]:
    """Its inner tags, each with the one around it."""
    inner = zip(element.walk(), range(200), strict=False)
    return frozenset(f"{one.parent.tag if one.parent else ''} {one.tag}" for one, _ in inner)


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


def _group(element: Element, cards: list[Card], heading: str) -> CardGroup:
    said = [heading, element.hints, cards[0].root.hints]
    return CardGroup(cards, frozenset(word for text in said for word in words(text)))


def _place(element: Element) -> str:
    name = element.get("id")
    return f"{element.tag}#{name}" if name and key(name) else element.tag
