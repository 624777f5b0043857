"""Moments as answers show them: ISO 8601 in UTC, to the millisecond."""

from datetime import UTC, datetime


def iso(seconds: float) -> str:
    """`seconds` is Unix time."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_of(moment: str) -> float:
    """The Unix time of a moment that `iso` has written."""
    return datetime.fromisoformat(moment).timestamp()
