"""Starter: how one kind of scheduled work is started."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from msgspec import Struct

from gossamer.flows.tenants.admit import Caller
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.schedules.schedules import Schedule
from gossamer.state.tenants.activity import Actor
from gossamer.web.schedules.schedule_task import ScheduledTask
from gossamer.web.schedules.schedule_words import ScheduleKind


class Firing(Struct, frozen=True):
    """One run that is about to be started."""

    schedule: Schedule
    caller: Caller  # with the rights that the maker of the schedule has now
    by: Actor  # for the log of activity


Start = Callable[[AsyncConnection], Awaitable[str]]  # returns the id of the work


class Starter(Protocol):
    async def prepare(self, firing: Firing) -> Start:
        """Outside of any transaction: check whatever takes time. Raises `Problem` for what cannot be started.

        What it returns runs in the transaction that fires: it writes the job or the crawl, and returns its
        id. If it raises `Problem`, nothing is written but a failed run. The row of the schedule is locked."""

    async def is_running(self, connection: AsyncConnection, work_id: str) -> bool:
        """Whether work that it has started is not over. Then the next run is skipped."""


class TaskStarter(Starter, Protocol):
    """A starter for schedules that callers make themselves."""

    async def check(self, task: ScheduledTask, caller: Caller) -> None:
        """When a schedule is made or changed: raises `Problem` for a task that this caller cannot have."""


Starters = Mapping[ScheduleKind, Starter]
