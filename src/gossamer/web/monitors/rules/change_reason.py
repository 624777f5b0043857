"""ChangeReason: why a monitor fired. IgnoredNoise: what differed, and why it did not count."""

from enum import StrEnum
from typing import Final

import msgspec

from gossamer.web.monitors.noise.noise_kind import NoiseKind

MAX_SHOWN_CHARS: Final = 300  # of a line in a reason


class ReasonKind(StrEnum):
    TEXT_ADDED = "text_added"
    TEXT_REMOVED = "text_removed"
    TEXT_CHANGED = "text_changed"
    FIELD_ADDED = "field_added"
    FIELD_REMOVED = "field_removed"
    FIELD_CHANGED = "field_changed"
    NUMBER_BELOW = "number_below"
    NUMBER_ABOVE = "number_above"
    NUMBER_CHANGED = "number_changed"
    KEYWORD_APPEARED = "keyword_appeared"
    KEYWORD_DISAPPEARED = "keyword_disappeared"
    STATUS_CHANGED = "status_changed"
    OUTCOME_CHANGED = "outcome_changed"
    APPEARANCE_CHANGED = "appearance_changed"
    PAGE_APPEARED = "page_appeared"
    PAGE_DISAPPEARED = "page_disappeared"


ReasonValue = str | int | float | bool | None


class ChangeReason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    kind: ReasonKind
    rule: int  # which of the monitor's rules, from 0
    at: str = ""  # the selector, the field, the keyword
    old: ReasonValue = None
    new: ReasonValue = None


class IgnoredNoise(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Differences of one kind that did not count, and the first of them."""

    noise: NoiseKind
    count: int
    old: str | None = None
    new: str | None = None


def shown(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_SHOWN_CHARS:
        return text
    return text[: MAX_SHOWN_CHARS - 1] + "…"
