"""Whole transactions in one trip to the thread of the database.

A transaction of SQLite holds the only write lock. With a trip for each statement, it would also hold it while
this process is busy with something else in between, and all other processes would wait for that. So all of
the work runs in the thread, on a connection that never suspends it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from sqlite3 import Error
from typing import Any, Final, TypeVar

from sqlalchemy import CursorResult, Engine, Executable

from gossamer.problems import Unavailable
from gossamer.state.db.connection import AsyncConnection

GRACE_SECONDS: Final = 1.0  # for a statement that was interrupted

T = TypeVar("T")
Work = Callable[[AsyncConnection], Awaitable[T]]  # it awaits nothing but the connection


class SqliteTransactions:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread: ThreadPoolExecutor | None = None
        self._driver: Any = None  # while a transaction is under way

    async def run(self, work: Work[T], until: float) -> T:
        """Raises what SQLAlchemy raises; `Unavailable` if there is no answer by then, on the loop's clock."""
        loop = asyncio.get_running_loop()
        self._thread = self._thread or ThreadPoolExecutor(1, "gossamer-sqlite-write")
        made = loop.run_in_executor(self._thread, self._make, work)
        try:
            await asyncio.wait([made], timeout=until - loop.time())
        finally:
            if not made.done():  # too late, or cancelled
                self._interrupt()
                await asyncio.wait([made], timeout=GRACE_SECONDS)
                made.add_done_callback(_look_at)
        if not made.done():
            raise Unavailable("database", "no answer in time")
        return made.result()

    async def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            dropped = asyncio.wrap_future(thread.submit(self._engine.dispose))
            thread.shutdown(wait=False)
            await asyncio.wait([dropped], timeout=GRACE_SECONDS)

    def _interrupt(self) -> None:
        driver = self._driver
        if driver is not None:
            with suppress(Error):  # closed in the meantime
                driver.interrupt()

    # In the thread.

    def _make(self, work: Work[T]) -> T:
        with self._engine.connect() as connection:
            self._driver = connection.connection.driver_connection
            try:
                with connection.begin():
                    return _finish(work(_UnsuspendedConnection(connection)))
            finally:
                self._driver = None


class _UnsuspendedConnection(AsyncConnection):
    """Runs statements at once, where it is called."""

    __slots__ = ()

    async def execute(self, statement: Executable, parameters: Any = None) -> CursorResult[Any]:
        return self._proxied.execute(statement, parameters)

    async def exec_driver_sql(self, statement: str, parameters: Any = None) -> CursorResult[Any]:
        return self._proxied.exec_driver_sql(statement, parameters)


def _finish(work: Awaitable[T]) -> T:
    """Run to the end what suspends nowhere."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
    steps.close()
    raise RuntimeError("a transaction waits for something other than its connection")


def _look_at(made: "asyncio.Future[Any]") -> None:
    """Nobody waits for it any more, so nobody else hears of its failure."""
    if not made.cancelled():
        made.exception()
