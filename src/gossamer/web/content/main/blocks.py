"""Blocks: the text of a page, cut where a browser begins a new line or paragraph.

A block is a run of text and inline elements inside one element, its holder. Blocks are cut and measured once.
Every element knows the range of blocks inside it, so that questions about an element are sums over a range.
"""

import re
from itertools import accumulate
from typing import Final

from gossamer.web.html.elements.element import BLOCKS, Element
from gossamer.web.html.tree import Tree

MIN_SENTENCE_CHARS: Final = 40
MAX_LINKED: Final = 0.4  # share of a sentence's text
IDEOGRAPH_WEIGHT: Final = 2.5  # one character says as much as this many letters
HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_IDEOGRAPH: Final = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
_SENTENCE_END: Final = re.compile(
    "[.!?:;\u2026\u3002\uff01\uff1f\u061f\u0964][\"'\u201d\u2019\u00bb\u300d)\\]\\d]*$"
)


class TextBlock:
    __slots__ = ("at", "behind", "holder", "linked", "said", "sentence", "size", "tag", "text", "whole")

    def __init__(self, holder: Element, at: int, behind: int, text: str, linked: int) -> None:
        self.holder = holder
        self.at = at  # the first of the holder's children in it
        self.behind = behind  # and the one behind the last
        self.whole = at == 0 and behind == len(holder.children)
        self.text = text
        self.tag = holder.tag
        size: float = len(text)
        self.linked = share = min(linked / size, 1.0) if linked else 0.0  # of its text
        if not text.isascii() and _IDEOGRAPH.search(text):
            size *= IDEOGRAPH_WEIGHT
        self.size = size  # in letters
        self.said = size * (1 - share)  # not in links
        self.sentence = (
            size >= MIN_SENTENCE_CHARS
            and share < MAX_LINKED
            and self.tag not in HEADINGS
            and _SENTENCE_END.search(text, max(len(text) - 8, 0)) is not None
        )

    @property
    def parent(self) -> Element:
        """The element that holds it beside other blocks."""
        return self.holder.parent or self.holder if self.whole else self.holder


# To keep, to close, and to open; the last with whether it is inside a link.
_Part = TextBlock | Element | tuple[Element, bool]


class PageBlocks:
    """A page in blocks."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.blocks: list[TextBlock] = []
        self.holders: list[Element] = []  # all elements with blocks inside, in document order
        self._cut(tree.body)
        self._sentences = [0.0, *accumulate(one.said if one.sentence else 0.0 for one in self.blocks)]
        self._counts = [0, *accumulate(one.sentence for one in self.blocks)]
        self.all_sentences = self._sentences[-1]

    def sentences_before(self, at: int) -> float:
        """Characters of the sentences before a block."""
        return self._sentences[at]

    def count_sentences(self, begin: int, end: int) -> int:
        """How many of the blocks in a range are sentences."""
        counts = self._counts
        return counts[min(end, len(counts) - 1)] - counts[max(begin, 0)]

    def share(self, element: Element) -> float:
        """The share of the page's sentences that are inside an element."""
        if not self.all_sentences:
            return 0.0
        return (self._sentences[element.end] - self._sentences[element.begin]) / self.all_sentences

    def _cut(self, body: Element) -> None:
        blocks, holders = self.blocks, self.holders
        waiting: list[_Part] = [(body, False)]
        while waiting:
            part = waiting.pop()
            if isinstance(part, TextBlock):
                blocks.append(part)
                continue
            if isinstance(part, Element):
                part.end = len(blocks)
                continue
            element, in_link = part
            holders.append(element)
            element.begin = len(blocks)
            parts = _split(element, in_link or element.tag == "a")
            if len(parts) == 1 and isinstance(parts[0], TextBlock):
                blocks.append(parts[0])
                element.end = element.begin + 1
            else:
                waiting.append(element)
                waiting += parts[::-1]


def _split(element: Element, in_link: bool) -> list[_Part]:
    """Split the children into blocks, and elements that contain some."""
    parts: list[_Part] = []
    pieces: list[str] = []
    children = element.children
    if len(children) == 1 and isinstance(children[0], str):
        _end_block(parts, [children[0]], element, 0, 1, 0, in_link)
        return parts
    begin = linked = 0
    after_break = False
    for at, child in enumerate(children):
        if isinstance(child, str):
            if pieces or child != " ":  # a block is stripped
                pieces.append(child)
            after_break = after_break and child == " "
        elif child.blocks or child.tag in BLOCKS or "-" in child.tag:
            _end_block(parts, pieces, element, begin, at, linked, in_link)
            begin, linked = at + 1, 0
            after_break = False
            if child.text:
                parts.append((child, in_link))
        elif child.tag == "br":
            if after_break:
                _end_block(parts, pieces, element, begin, at, linked, in_link)
                begin, linked = at, 0
            pieces.append("\n")
            after_break = True
        elif child.text:
            pieces += _texts(child)
            linked += child.linked
            after_break = False
    _end_block(parts, pieces, element, begin, len(children), linked, in_link)
    return parts


def _end_block(
    parts: list[_Part], pieces: list[str], element: Element, begin: int, at: int, linked: int, in_link: bool
) -> None:
    if not pieces:
        return
    text = "".join(pieces).strip()
    pieces.clear()
    if text:
        parts.append(TextBlock(element, begin, at, text, len(text) if in_link else linked))


def _texts(element: Element) -> list[str]:
    children = element.children
    if len(children) == 1 and isinstance(children[0], str):
        return [children[0]]
    pieces: list[str] = []
    waiting = children[::-1]
    while waiting:
        child = waiting.pop()
        if isinstance(child, str):
            pieces.append(child)
        elif child.tag == "br":
            pieces.append("\n")
        else:
            waiting += child.children[::-1]
    return pieces
