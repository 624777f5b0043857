"""Fusion: several rankings of pages become one (reciprocal rank fusion)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gossamer.problems import Problem
from gossamer.web.url import Url, cache_form

SMOOTHING: Final = 60  # how little the first places of a ranking stand out


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A page that was found; its texts are clean, and strangers wrote them."""

    url: str
    title: str
    snippet: str
    published_at: float | None = None  # Unix seconds
    seen_at: float | None = None  # when it was read here


@dataclass(frozen=True, slots=True)
class Ranked:
    hit: Hit
    score: float  # 1.0 is first in every ranking
    source: str  # the ranking that has it highest


def fused(rankings: Mapping[str, Sequence[Hit]], limit: int) -> list[Ranked]:
    """The best first; a page that is in several, in whatever spelling of its URL, is one."""
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


def _distinct(hits: Iterable[Hit]) -> list[tuple[str, Hit]]:
    forms: dict[str, Hit] = {}
    for hit in hits:
        try:
            forms.setdefault(cache_form(Url.parse(hit.url)), hit)
        except Problem:  # an address that cannot be visited is no answer
            continue
    return list(forms.items())
