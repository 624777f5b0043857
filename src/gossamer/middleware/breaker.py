"""A Gossamer that is away costs the first few visits a deadline, and the others nothing."""

import threading
from collections.abc import Callable


class Breaker:
    """After `failures` in a row nobody asks for `pause` seconds; then one does, on behalf of all."""

    def __init__(self, failures: int, pause: float, clock: Callable[[], float]) -> None:
        self._most = failures
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0

    def allows(self) -> bool:
        with self._lock:
            if self._failures < self._most:
                return True
            if self._clock() < self._until:
                return False
            self._until = self._clock() + self._pause
            return True

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            self._until = self._clock() + self._pause
