"""When to try again, and how long to wait first."""

import math
from collections.abc import Callable
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from msgspec import Struct

TOO_MANY_REQUESTS: Final = 429
SERVER_ERROR: Final = 500


class RetryBackoff(Struct, frozen=True, kw_only=True):
    """1 s, 2 s, 4 s, each with up to half a second more; longer if the target asks for it, within a bound."""

    first: float = 1.0
    jitter: float = 0.5
    max_pause: float = 30.0  # a target that asks for more is not asked again

    def pause(self, attempt: int, randomness: Callable[[], float], asked_for: float = 0.0) -> float:
        """Seconds from attempt number `attempt` (from 1) to the next; infinite if there is to be none."""
        if asked_for > self.max_pause:
            return math.inf
        return max(self.first * 2.0 ** (attempt - 1), asked_for) + self.jitter * randomness()


def is_transient_status(status: int) -> bool:
    return status >= SERVER_ERROR or status == TOO_MANY_REQUESTS


def retry_after(value: str | None, now: float) -> float:
    """Seconds that a Retry-After field asks for; 0 if it is absent or cannot be understood."""
    if value is None:
        return 0.0
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    return max(0.0, moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - now)
