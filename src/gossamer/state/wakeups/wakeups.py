"""Wake-ups: tell workers that wait for jobs that there may be some, so that they need not poll.

Within a process they are signals. From other processes they come by LISTEN on PostgreSQL, on a connection
that is opened again whenever it is lost. On SQLite, a check every 100 ms, or every 500 ms after some quiet
seconds, sees whether the file was written to, by its status; it runs only while somebody waits. A wake-up is
a hint: it may come for nothing or, when the connection is lost, not at all, so waiting workers also poll now
and then.

SQLite shows every write, so whatever looks at the database every few seconds can leave that out while nothing
is written (`looking`).
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Final, cast

from gossamer.concurrency.periodic import Rest
from gossamer.state.db.database import Database
from gossamer.state.db.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from gossamer.state.db.postgres import PostgresDatabase

QUIET_SECONDS: Final = 60.0  # between two looks at a database to which nothing is written
POLL_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 1.0


class Waiter:
    """A worker that waits for jobs of some kinds."""

    def __init__(self, kinds: Collection[str]) -> None:
        self.kinds = frozenset(kinds)
        self.sure = False  # it is known that there is something of these kinds
        self._woken = asyncio.Event()

    def wake(self, *, sure: bool) -> None:
        self.sure = self.sure or sure
        self._woken.set()

    async def wait(self, seconds: float) -> bool:
        """Whether there was a wake-up; the next call waits for the next one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        woken = self._woken.is_set()
        self._woken.clear()
        return woken


class Wakeups(ABC):
    sees_writes: ClassVar[bool] = False  # whether every write wakes those that wait

    def __init__(self) -> None:
        self._waiters: set[Waiter] = set()
        self._watching: asyncio.Task[None] | None = None

    @property
    def poll_seconds(self) -> float:
        """How often to poll all the same."""
        return POLL_SECONDS

    @abstractmethod
    async def _watch(self) -> None:
        """Wake the waiters when other processes have something for them."""

    def wake(self, kinds: Collection[str] | None = None) -> None:
        """There may be jobs of these kinds, or of any."""
        for waiter in self._waiters:
            if kinds is None or not waiter.kinds.isdisjoint(kinds):
                waiter.wake(sure=kinds is not None)

    @contextmanager
    def waiting(self, kinds: Collection[str]) -> Iterator[Waiter]:
        """No wake-up is missed from now on."""
        waiter = Waiter(kinds)
        self._waiters.add(waiter)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        try:
            yield waiter
        finally:
            self._waiters.discard(waiter)

    @contextmanager
    def looking(self, usual: float = QUIET_SECONDS) -> Iterator[Rest]:
        """The pause of a loop that looks at the database. While nothing is written, it goes on until `usual`:
        the lateness that is allowed to what depends on the time."""
        if not self.sees_writes:
            yield _sleep
            return
        with self.waiting(()) as waiter:

            async def rest(seconds: float, longest: float | None = None) -> None:
                await asyncio.sleep(seconds)
                limit = usual if longest is None else min(usual, longest)
                if limit > seconds:
                    await waiter.wait(limit - seconds)

            yield rest

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)


async def _sleep(seconds: float, longest: float | None = None) -> None:
    await asyncio.sleep(seconds)


def open_wakeups(database: Database) -> Wakeups:
    """Wake-ups of this database. Nothing is opened yet."""
    if isinstance(database, SqliteDatabase):
        from gossamer.state.wakeups.wakeups_sqlite import SqliteWakeups

        return SqliteWakeups(database)
    from gossamer.state.wakeups.wakeups_postgres import (
        PostgresWakeups,
    )  # an extra: imported where it is chosen

    return PostgresWakeups(cast("PostgresDatabase", database))
