"""Ids of jobs: ULIDs, which begin with the time; each that a process makes is greater than the one before."""

import secrets
import time
from typing import Final

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = [first + second for first in _ALPHABET for second in _ALPHABET]  # ten bits each
_LOW_BITS: Final = 40
_LOW: Final = (1 << _LOW_BITS) - 1


class JobIds:
    """What many ids made at once have in common is written once: jobs are put by the thousand."""

    def __init__(self) -> None:
        self._last = 0
        self._high = -1
        self._beginning = ""

    def __call__(self) -> str:
        milliseconds = time.time_ns() // 1_000_000
        if milliseconds > self._last >> 80:
            self._last = milliseconds << 80 | secrets.randbits(80)
        else:
            self._last += 1
        high, low = self._last >> _LOW_BITS, self._last & _LOW
        if high != self._high:
            self._high, self._beginning = high, _written(high, 18)
        ending = _PAIRS[low >> 30] + _PAIRS[low >> 20 & 1023] + _PAIRS[low >> 10 & 1023] + _PAIRS[low & 1023]
        return self._beginning + ending


def _written(number: int, length: int) -> str:
    return "".join(_PAIRS[number >> shift & 1023] for shift in range(5 * length - 10, -1, -10))


new_job_id: Final = JobIds()
