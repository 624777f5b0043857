"""Breaker: stops requests to a failing service for a while, then admits one at a time.

    closed ──(`failures` in a row)──▶ open
    open ──(`seconds` later)──▶ half-open
    half-open ──(a failure)──▶ open
    half-open ──(`successes`)──▶ closed

It does nothing by itself: callers pass in the time, and report how each allowed request ended.
"""

from typing import Literal

State = Literal["closed", "open", "half-open"]


class Breaker:
    def __init__(self, *, failures: int = 5, seconds: float = 60.0, successes: int = 2) -> None:
        self._max_failures = failures
        self._seconds = seconds
        self._needed_successes = successes
        self._failures = 0
        self._successes = 0
        self._opened_at: float | None = None
        self._trying = False  # while half-open, one request is under way

    def state(self, now: float) -> State:
        if self._opened_at is None:
            return "closed"
        return "half-open" if now - self._opened_at >= self._seconds else "open"

    def allows(self, now: float) -> bool:
        """Whether a request may be made now. Report its end with one of the three below."""
        state = self.state(now)
        if state == "half-open" and not self._trying:
            self._trying = True
            return True
        return state == "closed"

    def record_success(self, now: float) -> None:
        self._failures = 0
        self._trying = False
        if self.state(now) == "half-open":
            self._successes += 1
            if self._successes >= self._needed_successes:
                self._opened_at = None

    def record_failure(self, now: float) -> None:
        self._failures += 1
        self._trying = False
        state = self.state(now)
        if state == "half-open" or (state == "closed" and self._failures >= self._max_failures):
            self._opened_at = now
            self._successes = 0

    def record_unknown(self) -> None:
        """The caller gave up, so the outcome of the request is unknown."""
        self._trying = False
