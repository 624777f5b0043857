"""Whether a job that failed is tried again, and when."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gossamer.problems import Problem

# Not translated by whoever called the foreign thing, but known to pass.
_PASSING: Final = (TimeoutError, ConnectionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Transient errors are tried again after 2 s, 4 s, 8 s … and up to half as much more; others are not."""

    first: float = 2.0
    longest: float = 300.0
    jitter: float = 0.5  # of the pause
    transient: frozenset[str] = frozenset()  # codes of problems that pass in this kind of job
    permanent: frozenset[str] = frozenset()  # codes of problems that do not

    def is_transient(self, error: BaseException) -> bool:
        if isinstance(error, Problem):
            code = error.kind.code
            return code in self.transient or (error.kind.retry and code not in self.permanent)
        return isinstance(error, _PASSING)

    def pause(self, error: BaseException, attempt: int, randomness: Callable[[], float]) -> float | None:
        """Seconds from attempt number `attempt` (from 1) to the next; None when there is to be none."""
        if not self.is_transient(error):
            return None
        asked_for = error.members.get("retryAfter", 0) if isinstance(error, Problem) else 0
        pause = max(min(self.first * 2.0 ** (attempt - 1), self.longest), float(asked_for))
        return pause * (1 + self.jitter * randomness())
