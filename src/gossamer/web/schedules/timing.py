"""Timing: when a schedule runs. By a cron expression in a time zone, or every so often."""

import re
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from msgspec import Meta, Struct

from gossamer.problems import Problem, validation_error
from gossamer.web.schedules.durations import seconds_of_duration

MAX_CRON_CHARS: Final = 100
MAX_EVERY: Final = 366 * 86_400  # seconds
MAX_JITTER: Final = 86_400
CRON_FIELDS: Final = 5
CRON_NAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,2}")


class CatchUp(StrEnum):
    """What becomes of runs that nobody could start in time."""

    ONCE = "once"  # the last of them runs late
    SKIP = "skip"  # none of them runs


class Timing(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """When a schedule runs."""

    cron: Annotated[
        str,
        Meta(
            max_length=MAX_CRON_CHARS,
            description="Minute, hour, day of the month, month and day of the week: `0 9 * * MON-FRI`. Or "
            f"one of {', '.join(CRON_NAMES)}. Give this or `every`.",
        ),
    ] = ""
    every: Annotated[
        str,
        Meta(
            max_length=10,
            description="How long after the time before: `90s`, `15m`, `6h`, `1d`, `2w`. It begins when the "
            "schedule is made, and changes of the clock for summer do not move it.",
        ),
    ] = ""
    timezone: Annotated[
        str,
        Meta(
            max_length=100,
            description="The time zone of `cron`, by its IANA name. A time that is skipped in spring runs "
            "when the clock has changed; one that comes twice in autumn runs the first time.",
        ),
    ] = "UTC"
    jitter: Annotated[
        str,
        Meta(
            max_length=10,
            description="Run up to this much later, each time by another part of it: `10m`. So that not "
            "everything begins on the hour.",
        ),
    ] = ""
    catch_up: Annotated[
        CatchUp,
        Meta(
            description="What to do about runs that were missed because no server was up: `once` runs the "
            "last of them, late; `skip` runs none."
        ),
    ] = CatchUp.ONCE

    @property
    def expression(self) -> str:
        """The cron expression in five fields."""
        return CRON_NAMES.get(self.cron.strip().lower(), self.cron)

    @property
    def zone(self) -> ZoneInfo:
        return find_zone(self.timezone)

    @property
    def interval(self) -> int:
        """Seconds; 0 for a cron expression."""
        return seconds_of_duration(self.every) if self.every else 0

    @property
    def spread(self) -> int:
        """The longest jitter, in milliseconds."""
        return seconds_of_duration(self.jitter) * 1_000 if self.jitter else 0

    def check(self) -> None:
        """Raises `Problem` for what is no timing. Its `Timetable` knows whether it is too frequent."""
        if bool(self.cron.strip()) == bool(self.every):
            raise invalid_timing("cron", "Give `cron` or `every`, one of them.", "For example: every: 6h")
        _check_duration("every", self.every, MAX_EVERY)
        _check_duration("jitter", self.jitter, MAX_JITTER)
        try:
            find_zone(self.timezone)
        except ValueError as error:
            raise invalid_timing(
                "timezone", f"There is no time zone {self.timezone!r}.", "Use an IANA name: Europe/Zurich."
            ) from error
        if self.cron:
            _check_cron(self.expression)


@lru_cache(maxsize=256)
def find_zone(name: str) -> ZoneInfo:
    """Raises `ValueError` if there is no such zone. A machine's own `localtime` is none: others differ."""
    if not _ZONE.fullmatch(name) or name.lower() in ("localtime", "posixrules"):
        raise ValueError(name)
    try:
        return ZoneInfo(name)
    except (KeyError, OSError) as error:  # a folder of zones is no zone
        raise ValueError(name) from error


def _check_duration(name: str, text: str, most: int) -> None:
    if not text:
        return
    try:
        seconds = seconds_of_duration(text)
    except ValueError as error:
        raise invalid_timing(name, f"{text!r} is no duration.", "Write 90s, 15m, 6h, 1d or 2w.") from error
    if seconds > most:
        raise invalid_timing(name, f"{text!r} is too long.", f"At most {most // 86_400} days.")


def _check_cron(expression: str) -> None:
    hint = "Five fields: minute, hour, day of the month, month, day of the week."
    if len(expression.split()) != CRON_FIELDS:
        raise invalid_timing("cron", "A cron expression has five fields.", hint)
    try:
        never = next(CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC)), None) is None
    except (CronSimError, AssertionError) as error:
        raise invalid_timing("cron", f"The cron expression cannot be read: {error}.", hint) from error
    if never:
        raise invalid_timing("cron", "There is no such day.", hint)


def invalid_timing(field: str, detail: str, hint: str) -> Problem:
    place = f"timing.{field}"
    return validation_error(f"{detail} - at `$.{place}`.", hint=hint, details={"field": place})
