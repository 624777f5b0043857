"""Features: what the block model knows about a block. All of them are between -1 and 1.

A name counts less the more of the page's sentences it would take away: `content-sidebar-wrap` around the
article says nothing, and a real sidebar says all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from gossamer.web.content.main.blocks import HEADINGS, PageBlocks, TextBlock
from gossamer.web.content.main.boilerplate import (
    PartKind,
    asks_reader,
    speaks_of_rights,
)
from gossamer.web.html.elements.element import Element
from gossamer.web.html.vocabulary import words

FEATURES: Final = words(
    "length no_links linked sentence question lower commas rights request twice described heading item "
    "cell div caption in_walk in_votes in_run walk_share not_votes not_run passed before_h1 "
    "after_h1 no_h1 place near around linked_before linked_after heading_before heading_after "
    "parent_share grandparent_share alike_share alike in_body not_in_body "
    "surely_beside beside comment newsletter related byline caption_name body aside in_list "
    "in_article"
)
_MAX_LENGTH: Final = 400
_MAX_DESCRIBED: Final = 600  # characters in which the page's description is looked for
_MAX_ASKING: Final = 240  # characters; longer blocks are not read for what they ask
_MIN_CHARS: Final = 25  # not in links, of a block that no candidate keeps
_OPENING_CHARS: Final = 40  # of the page's description
_NEAR_HEADING: Final = 15  # blocks
_MIN_QUOTED: Final = 30  # characters of a block that is looked for in the structured data
_QUOTED_CHARS: Final = 60
_KINDS: Final = tuple(int(kind) for kind in PartKind)
_IN_LIST: Final = len(_KINDS)
_IN_ARTICLE: Final = _IN_LIST + 1
_NOTHING: Final = (0.0,) * (_IN_ARTICLE + 1)
_LISTS: Final = frozenset(("ul", "ol", "dl"))

Signature = tuple[str, str | None, str, str | None]


class Candidates(Struct, frozen=True):
    """Which blocks each of the candidates would keep."""

    walk: Sequence[bool]
    votes: Sequence[bool]
    run: Sequence[bool]


class ContentHints(Struct, frozen=True):
    """What the page says about itself elsewhere."""

    description: str = ""
    body: str = ""  # of the article, in its structured data


def features_of(
    page: PageBlocks, candidates: Candidates, names: Mapping[Element, int], facts: ContentHints
) -> list[list[float] | None]:
    """Return the features of every block; none for links and short lines that no candidate keeps."""
    reader = _FeatureReader(page, candidates, names, facts)
    judged = zip(page.blocks, candidates.walk, candidates.votes, candidates.run, strict=True)
    return [
        reader.read(at, block) if walk or votes or run or block.said >= _MIN_CHARS else None
        for at, (block, walk, votes, run) in enumerate(judged)
    ]


class _FeatureReader:
    def __init__(
        self, page: PageBlocks, candidates: Candidates, names: Mapping[Element, int], facts: ContentHints
    ) -> None:
        self.page = page
        self.blocks = page.blocks
        self.candidates = candidates
        self.all = page.all_sentences or 1.0
        self.contexts = _contexts(page, names)
        self.shares = [self._share(kept) for kept in (candidates.walk, candidates.votes, candidates.run)]
        self.signatures = [_signature(block) for block in self.blocks]
        self.alike = Counter(self.signatures)
        self.alike_said: dict[Signature, float] = {}
        for block, signature in zip(self.blocks, self.signatures, strict=True):
            if block.sentence:
                self.alike_said[signature] = self.alike_said.get(signature, 0.0) + block.said
        self.twice = Counter(block.text for block in self.blocks)
        self.h1 = next((at for at, block in enumerate(self.blocks) if block.tag == "h1"), None)
        self.description = " ".join(facts.description.split())[:_OPENING_CHARS].lower()
        self.body = " ".join(facts.body.split())

    def read(self, at: int, block: TextBlock) -> list[float]:
        return [
            *self._text(block),
            *self._membership(at),
            *self._position(at),
            *self._neighbours(at),
            *self._structure(at, block),
            *self.contexts[block.holder],
        ]

    def _text(self, block: TextBlock) -> tuple[float, ...]:
        text, size, tag = block.text, block.size, block.tag
        spoken = text.split()
        capitals = sum(map(str.isupper, [word[0] for word in spoken]))
        rights = request = False
        start = text[:_MAX_DESCRIBED].lower()
        if len(text) < _MAX_ASKING:
            rights, request = speaks_of_rights(start), asks_reader(start)
        return (
            size / _MAX_LENGTH if size < _MAX_LENGTH else 1.0,
            not block.linked,
            block.linked,
            block.sentence,
            text[-1] == "?",
            1 - capitals / len(spoken),
            min(text.count(","), 5) / 5,
            rights,
            request,
            self.twice[text] > 1,
            bool(self.description) and self.description in start,
            tag in HEADINGS,
            tag == "li",
            tag in ("td", "th"),
            tag == "div",
            tag == "figcaption",
        )

    def _membership(self, at: int) -> tuple[float, ...]:
        walk, votes, run = self.candidates.walk[at], self.candidates.votes[at], self.candidates.run[at]
        in_walk, in_votes, in_run = self.shares
        return (
            walk,
            votes,
            run,
            in_walk if walk else 0.0,
            0.0 if votes else in_votes,
            0.0 if run else in_run,
        )

    def _position(self, at: int) -> tuple[float, ...]:
        h1 = self.h1
        return (
            self.page.sentences_before(at) / self.all,
            h1 is not None and at < h1,
            h1 is not None and h1 < at <= h1 + _NEAR_HEADING,
            h1 is None,
            at / len(self.blocks),
        )

    def _neighbours(self, at: int) -> tuple[float, ...]:
        before = self.blocks[at - 1] if at else None
        after = self.blocks[at + 1] if at + 1 < len(self.blocks) else None
        return (
            self.page.count_sentences(at - 3, at + 4) / 7,
            self.page.count_sentences(at - 8, at + 9) / 17,
            before.linked if before else 0.0,
            after.linked if after else 0.0,
            before is not None and before.tag in HEADINGS,
            after is not None and after.tag in HEADINGS,
        )

    def _structure(self, at: int, block: TextBlock) -> tuple[float, ...]:
        signature = self.signatures[at]
        parent = block.parent
        described = bool(self.body) and block.size >= _MIN_QUOTED
        inside = described and block.text[:_QUOTED_CHARS] in self.body
        return (
            self.page.share(parent),
            self.page.share(parent.parent or parent),
            self.alike_said.get(signature, 0.0) / self.all,
            min(self.alike[signature], 20) / 20,
            inside,
            described and not inside,
        )

    def _share(self, kept: Sequence[bool]) -> float:
        judged = zip(self.blocks, kept, strict=True)
        return sum([block.said for block, keep in judged if keep and block.sentence]) / self.all


def _signature(block: TextBlock) -> Signature:
    holder = block.holder
    parent = holder.parent or holder
    return holder.tag, holder.attributes.get("class"), parent.tag, parent.attributes.get("class")


def _contexts(page: PageBlocks, names: Mapping[Element, int]) -> dict[Element, tuple[float, ...]]:
    """Return what the names of every element, and of all elements around it, say about it."""
    contexts: dict[Element, tuple[float, ...]] = {}
    for element in page.holders:
        context = contexts[element.parent] if element.parent is not None else _NOTHING
        if kinds := names.get(element):
            context = _named(kinds, 1 - page.share(element), context)
        if element.tag in _LISTS:
            context = (*context[:_IN_LIST], 1.0, context[_IN_ARTICLE])
        elif element.tag == "article":
            context = (*context[:_IN_ARTICLE], 1.0)
        contexts[element] = context
    return contexts


def _named(kinds: int, gate: float, above: tuple[float, ...]) -> tuple[float, ...]:
    found = [
        gate if kinds & kind and seen < gate else seen for kind, seen in zip(_KINDS, above, strict=False)
    ]
    return (*found, above[_IN_LIST], above[_IN_ARTICLE])
