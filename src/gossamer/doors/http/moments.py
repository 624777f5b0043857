"""Moments as the API writes them: ISO 8601 in UTC, to the millisecond."""

import time
from datetime import UTC, datetime
from typing import overload


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> str:
    return iso(time.time())


@overload
def stored(milliseconds: int) -> str: ...
@overload
def stored(milliseconds: None) -> None: ...
def stored(milliseconds: int | None) -> str | None:
    """A moment as the database keeps it."""
    return None if milliseconds is None else iso(milliseconds / 1000)
