"""Stops asking a Gossamer that is away, so that only the first few visits wait for the deadline."""

import threading
from collections.abc import Callable


class FrontBreaker:
    """After `failures` in a row, allows no request for `pause` seconds; then one visit tries again."""

    def __init__(self, failures: int, pause: float, clock: Callable[[], float]) -> None:
        self._max_failures = failures
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0

    def allows(self) -> bool:
        with self._lock:
            if self._failures < self._max_failures:
                return True
            if self._clock() < self._until:
                return False
            self._until = self._clock() + self._pause
            return True

    def record_success(self) -> None:
        with self._lock:
            self._failures = 0

    def record_failure(self) -> None:
        with self._lock:
            self._failures += 1
            self._until = self._clock() + self._pause
