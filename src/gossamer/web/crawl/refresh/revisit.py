"""When a page is visited again, and which of the due pages come first.

A visit is worth what it adds to the freshness of the crawl: with λ changes a day, and z of them expected
since the last visit, that is (1 - e^-z (1 + z)) / λ days (Cho and Garcia-Molina). A page is due when this
reaches `PRICE`, which is the same for all pages, so each request is spent where it brings most. No page waits
until more than `_MOST_AGE` changes are expected, however fast it changes.
"""

import math
from typing import Final

from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS, VisitHistory

PRICE: Final = 0.3  # days of freshness that a visit has to bring
_MOST_AGE: Final = 3.0  # changes that are expected; by then a page is almost certainly stale
_HALVINGS: Final = 30
_MISSED_MS: Final = 6 * HOUR_MS  # until a page that was not there is looked for again
_FIRST_RETRY_MS: Final = HOUR_MS
_WEIGHTS: Final = {1: 0.5, 2: 1.0, 3: 2.0}  # by the priority of the URL
_SHARE: Final = 0.1  # of the interval, by which visits are spread


def weight_of(priority: int) -> float:
    """How much the freshness of a page matters."""
    return _WEIGHTS[priority]


def gain_of(history: VisitHistory, weight: float, now: int) -> float:
    """What a visit now would bring, in weighted days."""
    rate = history.rate
    age = rate * max(0, now - history.visited_at) / DAY_MS
    return weight * _gain(age) / rate


def interval_of(history: VisitHistory, weight: float, least_ms: int, most_ms: int) -> int:
    """Milliseconds from the last visit to the next."""
    if history.failures:
        return _bounded(_FIRST_RETRY_MS * 2.0 ** min(history.failures - 1, 20), least_ms, most_ms)
    if history.gone_at is not None:
        return most_ms
    if history.misses:
        return _bounded(_MISSED_MS, least_ms, most_ms)
    rate = history.rate
    return _bounded(_age_worth(PRICE * rate / weight) / rate * DAY_MS, least_ms, most_ms)


def next_visit(
    history: VisitHistory, weight: float, now: int, least_ms: int, most_ms: int, randomness: float
) -> int:
    """When the page is due. Visits are spread a little, so that pages found together drift apart."""
    interval = interval_of(history, weight, least_ms, most_ms)
    return now + round(interval * (1 - _SHARE * randomness))


def _gain(age: float) -> float:
    return 1.0 - math.exp(-age) * (1.0 + age)


def _age_worth(wanted: float) -> float:
    """The age, in expected changes, at which the gain reaches this."""
    if wanted >= _gain(_MOST_AGE):
        return _MOST_AGE
    low, high = 0.0, _MOST_AGE
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _gain(middle) < wanted else (low, middle)
    return high


def _bounded(interval: float, least_ms: int, most_ms: int) -> int:
    return round(min(max(interval, least_ms), max(least_ms, most_ms)))
