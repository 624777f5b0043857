"""Durations as people write them: `90s`, `15m`, `6h`, `1d`, `2w`."""

import re
from typing import Final

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}  # seconds
PATTERN: Final = r"^[1-9][0-9]{0,5}[smhdw]$"


def seconds_of_duration(text: str) -> int:
    """Raises `ValueError` for a text that is no duration."""
    if not re.fullmatch(PATTERN, text):
        raise ValueError(text)
    return int(text[:-1]) * _UNITS[text[-1]]


def duration_of(seconds: int) -> str:
    """In the largest unit that needs no fraction."""
    unit = next(unit for unit in reversed(_UNITS) if seconds % _UNITS[unit] == 0)
    return f"{seconds // _UNITS[unit]}{unit}"
