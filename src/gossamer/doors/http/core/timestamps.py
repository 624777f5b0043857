"""Timestamps as the API writes them: ISO 8601 in UTC, to the millisecond."""

import time
from typing import overload

from gossamer.web.pages.timestamps import iso


def now() -> str:
    return iso(time.time())


@overload
def from_ms(milliseconds: int) -> str: ...
@overload
def from_ms(milliseconds: None) -> None: ...
def from_ms(milliseconds: int | None) -> str | None:
    """The timestamp of a time in the database, which stores milliseconds."""
    return None if milliseconds is None else iso(milliseconds / 1000)
