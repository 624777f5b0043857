"""Timetable: the times of one schedule.

A time has two sides: `planned` is what the timing says, and names the run for good; `fires_at` is when it
happens, later by a jitter that follows from the schedule and the planned time. All times are milliseconds.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import Final, NamedTuple

from cronsim import CronSim
from msgspec import Struct

from gossamer.web.schedules.durations import duration_of
from gossamer.web.schedules.timing import Timing, invalid_timing

MAX_MISSED: Final = 1_000  # that are counted one by one
MAX_COMPARED: Final = 1_500  # times of a cron expression that are looked at for the shortest pause: a day
_HOUR: Final = 3_600_000


class DueRun(NamedTuple):
    """The run to start now."""

    planned: int
    missed: int  # runs before it that were not started, `MAX_MISSED` if there are more


class Timetable(Struct, frozen=True):
    timing: Timing
    schedule_id: str
    anchor: int  # from which `every` counts

    def next_after(self, time: int) -> int | None:
        """The next planned time; None if there will never be one."""
        return next(self._planned(time), None)

    def fires_at(self, planned: int) -> int:
        """The same wherever and whenever it is asked, so that all processes agree."""
        spread = self.timing.spread
        if not spread:
            return planned
        digest = hashlib.sha256(f"{self.schedule_id}:{planned}".encode()).digest()
        return planned + int.from_bytes(digest[:8]) % spread

    def upcoming(self, time: int, count: int) -> list[int]:
        """The next planned times."""
        return list(islice(self._planned(time), count))

    def due(self, planned: int, now: int) -> DueRun:
        """Of a planned time that has come: the last one that has, too, and how many there are before it."""
        last, missed = planned, 0
        for following in self._planned(planned):
            if self.fires_at(following) > now:
                return DueRun(last, missed)
            last, missed = following, missed + 1
            if missed == MAX_MISSED:
                return DueRun(self._last_by(now, last), missed)
        return DueRun(last, missed)

    def check(self, least: int) -> None:
        """Raises `Problem` if two runs are less than `least` seconds apart, or closer than their jitter."""
        bound = max(least * 1_000, self.timing.spread)
        shortest = self._shortest_pause(bound)
        if shortest >= bound:
            return
        if shortest < least * 1_000:
            field = "every" if self.timing.every else "cron"
            apart, allowed = duration_of(shortest // 1_000), duration_of(least)
            raise invalid_timing(
                field,
                f"Runs would be {apart} apart; at least {allowed} are allowed.",
                "Run it less often. The operator's setting is GOSSAMER_SCHEDULE_SECONDS.",
            )
        raise invalid_timing("jitter", "The jitter is longer than the time between two runs.", "Shorten it.")

    def _shortest_pause(self, enough: int) -> int:
        """Between two of the next times, as far as that is less than enough."""
        if self.timing.every:
            return self.timing.interval * 1_000
        if enough <= 60_000:  # an expression has minutes at the least
            return enough
        shortest, before = enough, None
        for planned in self.upcoming(self.anchor, MAX_COMPARED):
            if before is not None:
                shortest = min(shortest, planned - before)
            before = planned
        return shortest

    def _planned(self, after: int) -> Iterator[int]:
        return self._by_interval(after) if self.timing.every else self._by_cron(after)

    def _by_interval(self, after: int) -> Iterator[int]:
        step = self.timing.interval * 1_000
        planned = self.anchor + ((after - self.anchor) // step + 1) * step
        while True:
            yield planned
            planned += step

    def _by_cron(self, after: int) -> Iterator[int]:
        """Strictly later each time: around a change of the clock, cronsim may name a time twice, or one
        before the time that it began with."""
        zone: tzinfo = UTC if self.timing.timezone == "UTC" else self.timing.zone
        begin = datetime.fromtimestamp(after // 1_000, zone)
        for moment in CronSim(self.timing.expression, begin):
            planned = int(moment.timestamp()) * 1_000
            if planned > after:
                yield planned
                after = planned

    def _last_by(self, now: int, at_least: int) -> int:
        """The last planned time that has come, when there are too many to go through them all."""
        last, back = at_least, 2 * _HOUR
        while (begin := now - self.timing.spread - back) > at_least:
            found = self.next_after(begin)
            if found is not None and self.fires_at(found) <= now:
                last = found
                break
            back *= 4
        for planned in self._planned(last):
            if self.fires_at(planned) > now:
                break
            last = planned
        return last
