"""The Date header, made where it is sent: a timer for it would wake an idle server every second."""

import time
from email.utils import formatdate
from functools import lru_cache

from gossamer.doors.http.server.framing import Fields


def date_fields() -> Fields:
    """The fields that every answer begins with."""
    return _made_at(int(time.time()))


@lru_cache(maxsize=1)
def _made_at(second: int) -> Fields:
    return [(b"date", formatdate(second, usegmt=True).encode())]
