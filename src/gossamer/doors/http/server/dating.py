"""The Date header, made where it is sent: a timer for it would wake an idle server every second."""

import time
from email.utils import formatdate
from functools import lru_cache

from gossamer.doors.http.server.framing import Fields


def date_fields() -> Fields:
    """The fields that every answer begins with."""
    return [(b"date", _date_at(int(time.time())))]


def date_line() -> bytes:
    """The same as a line of the head, without its end."""
    return _line_at(int(time.time()))


@lru_cache(maxsize=1)
def _line_at(second: int) -> bytes:
    return b"date: %b" % _date_at(second)


def _date_at(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
