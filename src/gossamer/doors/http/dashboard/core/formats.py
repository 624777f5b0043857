"""Values as the pages write them. Each has a twin in `assets/formats.js`, for values that change later."""

from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup, escape

NOTHING: Final = "\N{EN DASH}"
_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")


def number(value: float | None) -> str:
    """1234567 → 1,234,567; nothing is a dash."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def size(value: float | None) -> str:
    """Bytes in the unit that people use: 1.5 MB."""
    if value is None:
        return NOTHING
    amount, unit = float(value), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.0f} {_UNITS[unit]}" if unit == 0 or amount >= 100 else f"{amount:.1f} {_UNITS[unit]}"


def percent(value: float | None) -> str:
    """A share between 0 and 1."""
    return NOTHING if value is None else f"{value * 100:.1f} %"


def duration(milliseconds: float | None) -> str:
    if milliseconds is None:
        return NOTHING
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def moment(value: str | None) -> Markup:
    """A time in ISO 8601. Without scripts it is shown in UTC, with them in the reader's zone."""
    if not value:
        return escape(NOTHING)
    when = datetime.fromisoformat(value).astimezone(UTC)
    shown = f"{when:%Y-%m-%d %H:%M} UTC"
    return Markup('<time datetime="{}">{}</time>').format(value, shown)


def breakable_url(url: str) -> Markup:
    """A URL that may break after its separators."""
    parts: list[str] = []
    for character in url:
        parts.append(str(escape(character)))
        if character in "/?&=-_.":
            parts.append("<wbr>")
    return Markup("".join(parts))  # noqa: S704  (every character is escaped)
