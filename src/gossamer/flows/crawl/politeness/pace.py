"""Pace: when the next request to a host may be sent, how many may run at once, and when it gets a rest.

    delay     the crawl's own, or the default; never less than the host's robots.txt asks for, up to a bound
    refusals  429 and 503 double a pause of at least a second; a Retry-After is obeyed up to an hour
    latency   after a slow answer the host gets a pause of the same length
    flood     a host that yields more than 100 new URLs a second for long is slowed down to that rate
    failures  after five in a row the host rests for a minute; two successes then restore the normal pace

A pause begins at the end of an answer, so delays in the network cannot bring two requests closer together.
If the delay is zero, a host that answers quickly gets several requests at once.
"""

from typing import Final

from gossamer.concurrency.breaker import Breaker

REFUSALS: Final = frozenset({429, 503})
SERVER_ERROR: Final = 500
FIRST_PAUSE: Final = 1.0  # seconds
MAX_PAUSE: Final = 60.0
MAX_RETRY_AFTER: Final = 3600.0  # seconds of a Retry-After that are obeyed
SLOW_SECONDS: Final = 1.0  # seconds; a host that takes longer gets one request at a time
MAX_LATENCY: Final = 30.0
REST_SECONDS: Final = 60.0
MAX_FAILURES: Final = 5
MAX_CONCURRENCY: Final = 8
URLS_A_SECOND: Final = 100
MAX_URLS: Final = (
    10_000  # new URLs of a host before it is slowed down; a large site has that many at the start
)


class HostPace:
    """The pace of one host, on the event loop's clock."""

    def __init__(self, *, usual: float, pause: float = 0.0, failures: int = 0, now: float) -> None:
        self.next_at = now
        self.pause = pause  # seconds, since a refusal
        self.failures = failures
        self.robots_delay: float | None = None  # the delay of its robots.txt, in seconds
        self._usual = usual
        self._latency = 0.0
        self._urls = (now, 0.0)  # the number of new URLs above the rate, and when it was counted
        self._breaker = Breaker(failures=MAX_FAILURES, seconds=REST_SECONDS, successes=2)
        for _ in range(failures):  # after a rest the host gets one request at a time
            self._breaker.record_failure(now - REST_SECONDS)

    def gap(self, wanted: float | None) -> float:
        """Seconds from the end of one answer to the next request; `wanted` is the crawl's own delay."""
        if wanted is None:
            delay = self._usual if self.robots_delay is None else self.robots_delay
        else:
            delay = max(wanted, self.robots_delay or 0.0)
        patience = self._latency if delay or self._latency > SLOW_SECONDS else 0.0
        return max(delay, self.pause, patience)

    def concurrency(self, wanted: float | None, now: float) -> int:
        """The number of requests that may run at once."""
        healthy = self._breaker.state(now) == "closed" and not self.failures
        return MAX_CONCURRENCY if healthy and not self.gap(wanted) else 1

    def rest(self, now: float) -> float:
        """Seconds for which a failing host gets no request."""
        return REST_SECONDS if self._breaker.state(now) == "open" else 0.0

    def record_answer(self, now: float, seconds: float, status: int, after: float) -> None:
        """`after` is the answer's Retry-After, in seconds."""
        smooth = 0.7 * self._latency + 0.3 * seconds if self._latency else seconds
        self._latency = min(MAX_LATENCY, smooth)
        if status in REFUSALS:
            self.pause = min(MAX_PAUSE, max(FIRST_PAUSE, 2 * self.pause))
            self.next_at = now + min(MAX_RETRY_AFTER, max(after, self.pause))
        if status >= SERVER_ERROR:
            self._count_failure(now)
        elif status not in REFUSALS:
            self.pause = 0.8 * self.pause if self.pause > 0.1 else 0.0
            self._breaker.record_success(now)
            self.failures = 0 if self._breaker.state(now) == "closed" else self.failures

    def record_urls(self, now: float, urls: int, wanted: float | None) -> None:
        """Count new URLs of the host. A crawl without a delay is not slowed down."""
        since, before = self._urls
        count = max(0.0, before - URLS_A_SECOND * (now - since)) + urls
        self._urls = (now, count)
        if count > MAX_URLS and self.gap(wanted):
            self.next_at = max(self.next_at, now + (count - MAX_URLS) / URLS_A_SECOND)

    def record_failure(self, now: float) -> None:
        """A request got no answer."""
        self._count_failure(now)

    def record_end(self, now: float, wanted: float | None) -> None:
        """A request ended, with or without an answer."""
        self.next_at = max(self.next_at, now + self.gap(wanted))

    def _count_failure(self, now: float) -> None:
        self.failures += 1
        self._breaker.record_failure(now)
