"""Ranking: which passages of a page a query is about, by the words that both have.

The score is BM25 over the passages of this page alone: a word that few of them have counts more. A word in a
heading counts more than one in the text, and a word that begins like a word of the query counts half. In
scripts without spaces between words, pairs of characters take the place of words.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from msgspec import Struct, field

from gossamer.web.search.passage_ranking import ABOVE, HEADING, PassageWeights, scores
from gossamer.web.search.words import MAX_TEXT_CHARS, is_unspaced, words

WORD: Final = 2  # what a word counts
KIN: Final = 1  # and one with the same beginning
_BEGINNING: Final = 3  # characters that kin have in common at least,
_HANGUL_BEGINNING: Final = 2  # each of which is a syllable in Korean

Term = str | tuple[str, str]
Weights = Counter[Term]


class PassageText(NamedTuple):
    heading: str  # empty if it has none of its own
    body: str
    parent: int | None = None  # the earlier passage whose heading it is under


def rank(passages: Sequence[PassageText], query: str) -> list[int]:
    """Return those that have a word of the query, the best first."""
    terms = _Terms.of(query)
    lengths, found = _weigh(passages, terms)
    having = Counter(term for weights in found for term in weights)
    rarity = {term: math.log(1 + (len(found) - n + 0.5) / (n + 0.5)) for term, n in having.items()}
    ranked = scores([PassageWeights(*one) for one in zip(lengths, found, strict=True)], rarity, WORD)
    return sorted((at for at, weights in enumerate(found) if weights), key=ranked.__getitem__, reverse=True)


def _weigh(passages: Sequence[PassageText], terms: "_Terms") -> tuple[list[int], list[Weights]]:
    """Return the words of each passage, and how much it has of each term."""
    lengths: list[int] = []
    found: list[Weights] = []
    headings: list[Weights] = []  # of each passage and those above it
    for passage in passages:
        body = words(passage.body, MAX_TEXT_CHARS)
        own = terms.count(words(passage.heading, MAX_TEXT_CHARS)) if passage.heading else Counter()
        above = headings[passage.parent] if passage.parent is not None else Counter()
        weights = terms.count(body)
        for weight, counts in ((HEADING, own), (ABOVE, above)):
            for term, times in counts.items():
                weights[term] += weight * times
        lengths.append(len(body))
        found.append(weights)
        headings.append(own + above if own else above)
    return lengths, found


class _Terms(Struct):
    """The words of a query."""

    singles: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    beginnings: Mapping[str, list[str]]  # the single words by their first letters
    kin: dict[str, list[str]] = field(default_factory=dict)  # by word of the page, looked up once

    @classmethod
    def of(cls, query: str) -> "_Terms":
        found = words(query, len(query))
        pairs = frozenset(pair for pair in pairwise(found) if all(map(is_unspaced, pair)))
        singles = frozenset(found) - {character for pair in pairs for character in pair}
        beginnings: dict[str, list[str]] = {}
        for single in singles:
            beginnings.setdefault(_beginning(single), []).append(single)
        return cls(singles, pairs, beginnings)

    def count(self, found: list[str]) -> Weights:
        counts: Weights = Counter()
        for word, times in Counter(found).items():
            if _beginning(word) in self.beginnings:
                if word in self.singles:
                    counts[word] += WORD * times
                for single in self._kin_of(word):
                    counts[single] += KIN * times
        if self.pairs:
            for pair, times in Counter(pair for pair in pairwise(found) if pair in self.pairs).items():
                counts[pair] = WORD * times
        return counts

    def _kin_of(self, word: str) -> list[str]:
        known = self.kin.get(word)
        if known is None:
            alike = self.beginnings[_beginning(word)]
            known = self.kin[word] = [single for single in alike if _are_kin(word, single)]
        return known


def _beginning(word: str) -> str:
    return word[: _HANGUL_BEGINNING if "가" <= word <= "힣" else _BEGINNING]


def _are_kin(one: str, other: str) -> bool:
    """Whether one begins with the other, and is at most twice as long. Both have the same `_beginning`."""
    shorter, longer = (one, other) if len(one) < len(other) else (other, one)
    is_long_enough = len(shorter) >= len(_beginning(longer))
    return is_long_enough and len(shorter) < len(longer) <= 2 * len(shorter) and longer.startswith(shorter)
