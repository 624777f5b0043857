"""When a page is visited again, and which of the due pages come first.

A visit is worth what it adds to the freshness of the crawl: with λ changes a day, and z of them expected
since the last visit, that is (1 - e^-z (1 + z)) / λ days (Cho and Garcia-Molina). A page is due when this
reaches `PRICE`, which is the same for all pages, so each request is spent where it brings most. No page waits
until more than `_MOST_AGE` changes are expected, however fast it changes.

A hint of a sitemap tells with probability p that the page has changed, and a visit then brings p / λ days. If
that is worth its price, the page is due. And it may wait longer by itself then, as far as hints are complete.
"""

import math
from typing import Final

from gossamer.web.crawl.refresh.sitemap_hints import HintRecord
from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS, VisitHistory

PRICE: Final = 0.3  # days of freshness that a visit has to bring
_MOST_AGE: Final = 3.0  # changes that are expected; by then a page is almost certainly stale
_HALVINGS: Final = 30
_MISSED_MS: Final = 6 * HOUR_MS  # until a page that was not there is looked for again
_FIRST_RETRY_MS: Final = HOUR_MS
_AGE_WORTH: Final = 0.5  # days of freshness that are worth a day of age
_SHARE: Final = 0.1  # of the interval, by which visits are spread


def gain_of(
    history: VisitHistory, weight: float, now: int, *, patience: float = 1.0, changed: float = 0.0
) -> float:
    """What a visit now would bring, in weighted days: of freshness, and of age, so that a page of which no
    visit keeps fresh for long has its turn too. `changed` is how likely a hint is right, if there is one."""
    rate = history.rate
    days = max(0, now - history.visited_at) / DAY_MS
    age = rate * days / patience
    stale = days - (1 - math.exp(-age)) * days / age if age else 0.0
    return weight * (max(_gain(age), changed) / rate + _AGE_WORTH * stale)


def is_worth_a_hint(history: VisitHistory, weight: float, record: HintRecord) -> bool:
    """Whether a hint is a reason to visit this page. One that changes faster than it can be followed is
    visited at its own pace."""
    return record.is_believed and weight * record.rightness / history.rate >= PRICE


def patience_of(history: VisitHistory, weight: float, record: HintRecord | None) -> float:
    """How many times longer a page may wait since its sitemap would tell of a change. `None`: it has none."""
    if record is None or not is_worth_a_hint(history, weight, record):
        return 1.0
    return record.patience


def interval_of(
    history: VisitHistory, weight: float, least_ms: int, most_ms: int, patience: float = 1.0
) -> int:
    """Milliseconds from the last visit to the next."""
    if history.failures:
        return _bounded(_FIRST_RETRY_MS * 2.0 ** min(history.failures - 1, 20), least_ms, most_ms)
    if history.gone_at is not None:
        return most_ms
    if history.misses:
        return _bounded(_MISSED_MS, least_ms, most_ms)
    rate = history.rate
    return _bounded(_age_worth(PRICE * rate / weight) / rate * DAY_MS * patience, least_ms, most_ms)


def next_visit(
    history: VisitHistory,
    weight: float,
    now: int,
    least_ms: int,
    most_ms: int,
    randomness: float,
    patience: float = 1.0,
) -> int:
    """When the page is due. Visits are spread a little, so that pages found together drift apart."""
    interval = interval_of(history, weight, least_ms, most_ms, patience)
    return now + round(interval * (1 - _SHARE * randomness))


def is_fresh_by(history: VisitHistory, now: int, *, patience: float = 1.0) -> float:
    """How likely the stored page is what the site shows."""
    return math.exp(-history.rate * max(0, now - history.visited_at) / DAY_MS / patience)


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
