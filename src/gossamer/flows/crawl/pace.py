"""Pace: how soon a host may be asked again, how many may ask it at once, and when it is to be left alone.

    delay     what the crawl asks for, or the usual one; never less than the host's robots.txt says, up to the
              longest that is heeded
    refusals  429 and 503 double a pause of at least a second; a Retry-After is heeded up to an hour
    latency   who takes long to answer is left as long in peace
    flood     who brings forth more than 100 new URLs a second for long is asked no more often than that
    failures  five in a row, and the host rests for a minute; then two that go well and it is as before

A pause is counted from the end of an answer, so that whatever the network does to requests on their way, the
host sees none sooner. With a delay of nothing, a host that answers quickly is asked several times at once.
"""

from typing import Final

from gossamer.breaker import Breaker

REFUSALS: Final = frozenset({429, 503})
SERVER_ERROR: Final = 500
FIRST_PAUSE: Final = 1.0  # seconds
LONGEST_PAUSE: Final = 60.0
LONGEST_AFTER: Final = 3600.0  # that a Retry-After is heeded
SLOW: Final = 1.0  # seconds of an answer from which on nobody asks twice at once
LONGEST_LATENCY: Final = 30.0
REST_SECONDS: Final = 60.0
MOST_FAILURES: Final = 5
MOST_LANES: Final = 8
URLS_A_SECOND: Final = 100
MOST_URLS: Final = 10_000  # at once: a large site has as many from the beginning


class Pace:
    """Of one host, on the event loop's clock."""

    def __init__(self, *, usual: float, pause: float = 0.0, failures: int = 0, now: float) -> None:
        self.next_at = now
        self.pause = pause  # seconds, since it refused
        self.failures = failures
        self.asked: float | None = None  # by its robots.txt
        self._usual = usual
        self._latency = 0.0
        self._urls = (now, 0.0)  # how many were too many at that time
        self._breaker = Breaker(failures=MOST_FAILURES, seconds=REST_SECONDS, successes=2)
        for _ in range(failures):  # whoever leases a host that rested tries it with one request at a time
            self._breaker.failed(now - REST_SECONDS)

    def gap(self, wanted: float | None) -> float:
        """Seconds from the end of one answer to the next request; `wanted` is what the crawl asks for."""
        if wanted is None:
            delay = self._usual if self.asked is None else self.asked
        else:
            delay = max(wanted, self.asked or 0.0)
        patience = self._latency if delay or self._latency > SLOW else 0.0
        return max(delay, self.pause, patience)

    def lanes(self, wanted: float | None, now: float) -> int:
        """How many may ask at once."""
        at_ease = self._breaker.state(now) == "closed" and not self.failures
        return MOST_LANES if at_ease and not self.gap(wanted) else 1

    def rest(self, now: float) -> float:
        """Seconds for which the host is to be left alone because it keeps failing."""
        return REST_SECONDS if self._breaker.state(now) == "open" else 0.0

    def answered(self, now: float, seconds: float, status: int, after: float) -> None:
        """`after` is what the answer's Retry-After asks for, in seconds."""
        smooth = 0.7 * self._latency + 0.3 * seconds if self._latency else seconds
        self._latency = min(LONGEST_LATENCY, smooth)
        if status in REFUSALS:
            self.pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self.pause))
            self.next_at = now + min(LONGEST_AFTER, max(after, self.pause))
        if status >= SERVER_ERROR:
            self._failed(now)
        elif status not in REFUSALS:
            self.pause = 0.8 * self.pause if self.pause > 0.1 else 0.0
            self._breaker.succeeded(now)
            self.failures = 0 if self._breaker.state(now) == "closed" else self.failures

    def brought(self, now: float, urls: int, wanted: float | None) -> None:
        """So many new URLs were found there. Where no delay is wanted, none is made of it."""
        since, before = self._urls
        count = max(0.0, before - URLS_A_SECOND * (now - since)) + urls
        self._urls = (now, count)
        if count > MOST_URLS and self.gap(wanted):
            self.next_at = max(self.next_at, now + (count - MOST_URLS) / URLS_A_SECOND)

    def failed(self, now: float) -> None:
        """There was no answer."""
        self._failed(now)

    def ended(self, now: float, wanted: float | None) -> None:
        """A request is over, however it ended."""
        self.next_at = max(self.next_at, now + self.gap(wanted))

    def _failed(self, now: float) -> None:
        self.failures += 1
        self._breaker.failed(now)
