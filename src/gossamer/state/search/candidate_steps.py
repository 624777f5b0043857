"""Candidate steps: which pages the database is asked for, one query after the other, so that the best are
among the few hundred that are ranked, and no query reads much more than it needs.

A database must read the pages that have a word until enough have the others too: to the end, if few have. So
if a word is common, only the newest pages are looked at, as many as can be read in some milliseconds. If that
finds too little, all are.
"""

import math
from collections.abc import Sequence
from enum import Enum, auto
from itertools import combinations
from typing import Final, NamedTuple

from gossamer.state.search.search_document import CandidateFilter
from gossamer.web.search.terms import MIN_FREE_TERMS, Term

MAX_ABOUT: Final = 200  # of the pages that are about the terms,
MAX_MENTIONS: Final = 300  # and of those that only have them; the others are not ranked
MAX_RANKED: Final = 1_000  # of all together
MAX_QUORUM: Final = 4  # of the rarest terms, of which a page has two if it does not have all
MAX_LOOKED_AT: Final = 15_000  # pages that have the rarest term of a choice, about
MAX_PHRASES_READ: Final = 5_000  # the same for phrases: the words of each page are read to see their order
TOGETHER: Final = 10  # times as often as by chance, words of a question are on the same page


class IndexExtent(NamedTuple):
    pages: int  # that are searched
    last: int  # the highest id of a page, whosever it is


class StepKind(Enum):
    """Pages that are about all terms or have them, the same for two of the rarest terms, and for one."""

    ABOUT_ALL = auto()
    ALL = auto()
    ABOUT_SOME = auto()
    SOME = auto()
    ONE = auto()


class CandidateStep(NamedTuple):
    kind: StepKind
    candidates: CandidateFilter
    enough: int = 0  # pages; with these, the step is not needed. 0: as many as were asked for

    def is_needed(self, found: int, limit: int) -> bool:
        return found < (self.enough or limit)

    @property
    def covers(self) -> frozenset[StepKind]:
        """What finds nothing more, if this has found fewer pages than it may."""
        return _COVERS.get(self.kind, frozenset())


_COVERS: Final = {
    StepKind.ALL: frozenset((StepKind.ABOUT_ALL,)),
    StepKind.SOME: frozenset((StepKind.ABOUT_ALL, StepKind.ALL, StepKind.ABOUT_SOME)),
}


def candidate_steps(terms: Sequence[Term], extent: IndexExtent) -> list[CandidateStep]:
    """Those that find much begin with the pages that are about the terms; those that find little find these
    anyway."""
    every = (tuple(range(len(terms))),)
    some = _quorums(terms)
    about_all = CandidateStep(
        StepKind.ABOUT_ALL, CandidateFilter(every, is_about=True, most=MAX_ABOUT), MAX_ABOUT
    )
    have_all = CandidateStep(
        StepKind.ALL, CandidateFilter(every, is_about=False, most=MAX_MENTIONS), MAX_ABOUT
    )
    steps = [have_all, about_all] if _are_few(every, terms, extent) else [about_all, have_all]
    if not some:
        return steps
    may_be_best = MAX_RANKED if len(terms) >= MIN_FREE_TERMS else 0
    about = CandidateStep(
        StepKind.ABOUT_SOME, CandidateFilter(some, is_about=True, most=MAX_ABOUT), may_be_best
    )
    have = CandidateStep(StepKind.SOME, CandidateFilter(some, is_about=False, most=MAX_MENTIONS))
    covers_all = len(some) > 2 and _are_few(some, terms, extent)
    steps = [have, *steps, about] if covers_all else [*steps, about, have]
    single = tuple(dict.fromkeys(choice[:1] for choice in some))
    one = CandidateFilter(single, is_about=False, most=MAX_MENTIONS)
    return [*steps, CandidateStep(StepKind.ONE, one)]


def bounded(
    steps: Sequence[CandidateStep], terms: Sequence[Term], extent: IndexExtent
) -> list[CandidateStep]:
    """The same steps, among the newest pages where many have the terms."""
    return [
        step._replace(candidates=step.candidates._replace(after=_after(step.candidates, terms, extent)))
        for step in steps
    ]


def _after(which: CandidateFilter, terms: Sequence[Term], extent: IndexExtent) -> int:
    """The id from which on as many pages have the terms as may be looked at; 0: all may be."""
    firm = {number for number, term in enumerate(terms) if term.is_firm}
    shares = [
        min((terms[number].share for number in {*choice, *firm}), default=1.0) for choice in which.choices
    ]
    looked_at = extent.pages * sum(shares)
    has_phrases = any(len(phrase) > 1 for term in terms for phrase in term.phrases)
    most = MAX_PHRASES_READ if has_phrases else MAX_LOOKED_AT
    return int(extent.last * (1 - most / looked_at)) if looked_at > most else 0


def _are_few(choices: Sequence[tuple[int, ...]], terms: Sequence[Term], extent: IndexExtent) -> bool:
    """Whether one query finds all pages that have the terms of a choice."""
    by_chance = sum(math.prod(terms[number].share for number in choice) for choice in choices)
    return extent.pages * by_chance * TOGETHER < MAX_MENTIONS


def _quorums(terms: Sequence[Term]) -> tuple[tuple[int, ...], ...]:
    """Which terms a page must have besides the firm ones, if it need not have all: two of the rarest."""
    free = [number for number, term in enumerate(terms) if not term.is_firm]
    if 0 < len(free) < len(terms):
        return ((),)  # the firm ones are enough
    rarest = sorted(free, key=lambda number: -terms[number].weight)[:MAX_QUORUM]
    if len(rarest) < 2:
        return ()
    if len(rarest) < 3:
        return tuple((number,) for number in rarest)
    return tuple(combinations(rarest, 2))
