"""Fusion: several rankings of pages become one.

Rankings of providers are merged by rank (reciprocal rank fusion), because their scores say nothing to each
other. Words and meaning in our own index are merged by score, which finds more: ranks forget how much better
the first page is than the second. Both scores are brought to a scale from 0 to 1: words as a share of what
the best page has, and similarities from those that nearly every page has (0) to that of the nearest page (1).
Models differ in what is similar, so nothing else of a similarity counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from gossamer.problems import Problem
from gossamer.web.search.terms import Standing
from gossamer.web.search.vectors import NearestPages
from gossamer.web.url.url import Url, cache_form

MEANING: Final = 1.0  # how much meaning counts beside words
SMOOTHING: Final = 60  # the larger, the less the first places stand out


class FoundPassage(Struct, frozen=True):
    """A part of a page that was found. Its texts are clean, but untrusted."""

    headings: tuple[str, ...]  # above it, the outermost first
    snippet: str
    url: str  # scrolls to it


class SearchHit(Struct, frozen=True, kw_only=True):
    """A page that was found. Its texts are clean, but untrusted."""

    url: str
    title: str
    snippet: str
    published_at: float | None = None  # Unix seconds
    seen_at: float | None = None  # when we read it
    passages: tuple[FoundPassage, ...] = ()  # the best first
    missing: tuple[str, ...] = ()  # words of the question that it does not have


class Ranked(Struct, frozen=True):
    hit: SearchHit
    score: float  # 1.0 is first in every ranking
    source: str  # the ranking in which it is highest


def fuse(rankings: Mapping[str, Sequence[SearchHit]], limit: int) -> list[Ranked]:
    """Merge rankings, best first; URLs with the same cache form are one page."""
    found: dict[str, Ranked] = {}
    places: dict[str, int] = {}
    for source, hits in rankings.items():
        for place, (form, hit) in enumerate(_distinct(hits)):
            score = (SMOOTHING + 1) / (SMOOTHING + 1 + place) / len(rankings)
            known = found.get(form)
            if known is None or place < places[form]:
                found[form] = Ranked(hit, score + (known.score if known else 0.0), source)
                places[form] = place
            else:
                found[form] = Ranked(known.hit, known.score + score, known.source)
    return sorted(found.values(), key=lambda ranked: -ranked.score)[:limit]


def _distinct(hits: Iterable[SearchHit]) -> list[tuple[str, SearchHit]]:
    forms: dict[str, SearchHit] = {}
    for hit in hits:
        try:
            forms.setdefault(cache_form(Url.parse(hit.url)), hit)
        except Problem:  # a URL that cannot be visited is not a result
            continue
    return list(forms.items())


def blend(standings: Mapping[int, Standing], near: NearestPages) -> dict[int, Standing]:
    """Standings of pages by id, all that are near among them, with what their meaning adds."""
    if not near.passages:
        return dict(standings)
    best = max((one.score for one in standings.values()), default=0.0) or 1.0
    reach = near.passages[0].similarity - near.floor
    meanings = {
        one.page: MEANING * (one.similarity - near.floor) / reach if reach > 0 else MEANING
        for one in near.passages
    }
    return {
        page: one._replace(
            score=one.score / best,
            meaning=meanings.get(page, 0.0),
            is_behind=one.is_behind and page not in meanings,
        )
        for page, one in standings.items()
    }
