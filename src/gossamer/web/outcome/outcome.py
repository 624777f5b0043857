"""Outcome: whether a page is the requested one, or something else in its place. `judging` has the rules."""

from enum import StrEnum

from msgspec import Struct


class Outcome(StrEnum):
    OK = "ok"
    BLOCKED = "blocked"  # challenge, captcha, access denied, rate limited
    SOFT_404 = "soft_404"  # says that it does not exist, but has a status of success
    LOGIN_WALL = "login_wall"
    PARKED = "parked"
    EMPTY = "empty"  # nothing to read, most often because it needs JavaScript
    ERROR = "error"  # a status from 400 that is none of the above, or a failure with a status of success


class Judgement(Struct, frozen=True):
    outcome: Outcome
    reason: str = ""  # which rule: `challenge`, `not_found`, `script_needed`, …
    sign: str = ""  # the evidence: the name of a vendor, the words, the status
