"""Whether a job that failed is tried again, and when."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from gossamer.problems import Problem, Unavailable

# Errors that were not translated into problems, but are known to be transient.
_PASSING: Final = (TimeoutError, ConnectionError)
# What every job depends on. An outage of these says nothing about the job.
_OURS: Final = frozenset({"database", "blobs", "cache"})

MAX_OUTAGE_SECONDS: Final = 6 * 3600.0  # after this, failures count against the job after all
_MIN_PAUSE: Final = 1.0
_MAX_PAUSE: Final = 30.0


def is_outage(error: BaseException) -> bool:
    return isinstance(error, Unavailable) and error.service in _OURS


def outage_pause(seconds: float, randomness: Callable[[], float]) -> float:
    """The pause of a job that has been running for `seconds`: short at first, then longer and longer."""
    return min(max(seconds / 10, _MIN_PAUSE), _MAX_PAUSE) * (1 + 0.5 * randomness())


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """Jobs with transient errors are tried again after 2 s, 4 s, 8 s … plus up to half of that."""

    first: float = 2.0
    longest: float = 300.0
    jitter: float = 0.5  # of the pause
    transient: frozenset[str] = frozenset()  # codes of problems that are transient in this kind of job
    permanent: frozenset[str] = frozenset()  # codes of problems that are not

    def is_transient(self, error: BaseException) -> bool:
        if isinstance(error, Problem):
            code = error.kind.code
            return code in self.transient or (error.kind.retry and code not in self.permanent)
        return isinstance(error, _PASSING)

    def pause(self, error: BaseException, attempt: int, randomness: Callable[[], float]) -> float | None:
        """Seconds from attempt number `attempt` (from 1) to the next; None when it is not tried again."""
        if not self.is_transient(error):
            return None
        asked_for = error.retry_after if isinstance(error, Problem) else 0.0
        pause = max(min(self.first * 2.0 ** (attempt - 1), self.longest), asked_for)
        return pause * (1 + self.jitter * randomness())
