"""What a Database does when too much is asked of it, and with connections that were cut."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from sqlalchemy import text
from tests.endless import ENDLESS
from tests.servers.postgres import PostgresServer

from gossamer.problems import SERVER_BUSY, Busy, Unavailable
from gossamer.state.db.database import MAX_WAITING, SCANS, SILENT_TIMES, Database, open_database

NEW_TYPE = "SELECT tenants FROM tenants LIMIT 1"  # the driver has to ask what that is


@pytest.fixture
async def hurried(database_url: str) -> AsyncIterator[Database]:
    """With a short deadline, and few connections."""
    database = open_database(database_url, deadline=5.0, connections=2)
    await database.migrate()
    yield database
    await database.close()


async def scan(database: Database) -> None:
    async with database.scan() as connection:
        await connection.exec_driver_sql(ENDLESS)


async def test_what_may_take_long_keeps_nobody_else_waiting(hurried: Database) -> None:
    scanning = [asyncio.create_task(scan(hurried)) for _ in range(SCANS + MAX_WAITING)]
    await asyncio.sleep(0)
    while not all(task.done() for task in scanning):
        await hurried.ping()
        async with hurried.write() as connection:
            await connection.execute(text("UPDATE tenants SET name = ''"))
        await asyncio.sleep(0.05)
    ends = [task.exception() for task in scanning]
    assert {type(end) for end in ends} == {Busy}
    await hurried.ping()


async def test_who_scans_while_too_many_wait_is_refused_at_once(hurried: Database) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(SCANS):
            await stack.enter_async_context(hurried.scan())
        waiting = [asyncio.create_task(scan(hurried)) for _ in range(MAX_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="too many are waiting") as refused:
            await scan(hurried)
        assert refused.value.kind is SERVER_BUSY
        assert refused.value.headers["Retry-After"] == "2"
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_scan_ends_by_itself_and_leaves_its_connection_whole(hurried: Database) -> None:
    began = time.monotonic()
    with pytest.raises(Busy, match="took too long"):
        await scan(hurried)
    assert time.monotonic() - began < 20
    async with hurried.scan() as connection:
        assert await connection.scalar(text("SELECT 1")) == 1


async def test_a_scan_cannot_write(hurried: Database) -> None:
    with pytest.raises(Exception, match=r"read-only|readonly"):
        async with hurried.scan() as connection:
            await connection.exec_driver_sql("UPDATE tenants SET name = 'scanned'")


@pytest.mark.parametrize("kind", ["read", "write"])
async def test_to_come_too_late_is_busy_while_others_are_served(hurried: Database, kind: str) -> None:
    """And nobody concludes from it that the database is away."""
    use: Callable[..., Any] = getattr(hurried, kind)
    stop = asyncio.Event()

    async def occupy() -> None:
        while not stop.is_set():
            async with use():
                await asyncio.sleep(0.25)

    async def come() -> None:
        async with use(seconds=1.0):
            pass

    occupying = [asyncio.create_task(occupy()) for _ in range(20)]
    await asyncio.sleep(0)
    for _ in range(SILENT_TIMES):
        ends = await asyncio.gather(*(come() for _ in range(SILENT_TIMES)), return_exceptions=True)
        assert {type(end) for end in ends} == {Busy}, ends
    other = hurried.write if kind == "read" else hurried.read
    async with other() as connection:
        assert await connection.scalar(text("SELECT 1")) == 1
    stop.set()
    await asyncio.gather(*occupying, return_exceptions=True)


class CutAfter:
    """Awaits something. When its `nth` wait is over, the cut comes before it learns of it."""

    def __init__(self, awaited: Awaitable[Any], nth: int, cut: Callable[[], None]) -> None:
        self._awaited = awaited
        self._left = nth
        self._cut = cut

    @property
    def has_cut(self) -> bool:
        return self._left < 0

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._awaited.__await__()
        while True:
            try:
                waited_for = next(steps)
            except StopIteration as done:
                return done.value
            yield waited_for
            self._left -= 1
            if self._left == -1:
                self._cut()


async def cut_in(database: Database, nth: int) -> bool:
    """Whether the statement waited so often."""
    async with database.read() as connection:
        driver: Any = (await connection.get_raw_connection()).driver_connection
        cutting = CutAfter(connection.exec_driver_sql(NEW_TYPE), nth, driver.terminate)
        try:
            await cutting
        finally:
            has_cut = cutting.has_cut
    return has_cut


async def test_a_connection_that_is_cut_at_any_point_is_unavailable_and_nobodys_again(
    postgres: PostgresServer,
) -> None:
    told = []
    for nth in range(50):
        database = open_database(postgres.url, connections=1)
        await database.ping()
        try:
            if not await cut_in(database, nth):
                break
        except Unavailable as away:
            told.append(away.members["details"]["reason"])
        await database.ping()
        await database.close()
    await database.close()
    assert len(told) >= 2
    assert set(told) == {"the connection was lost"}


async def test_a_single_statement_that_is_cut_at_any_point_is_unavailable(postgres: PostgresServer) -> None:
    told = []
    for nth in range(50):
        database = open_database(postgres.url, connections=1)
        await database.single.fetch("SELECT 1", ())
        driver = database.single._idle[0]  # type: ignore[attr-defined]
        cutting = CutAfter(database.single.fetch(NEW_TYPE, ()), nth, driver.terminate)
        try:
            await cutting
        except Unavailable as away:
            told.append(away.members["details"]["reason"])
        assert await database.single.fetch("SELECT 1 AS one", ())
        await database.close()
        if not cutting.has_cut:
            break
    assert len(told) >= 2
    assert set(told) == {"the connection was lost"}


async def test_no_user_is_given_what_another_has_lost(postgres: PostgresServer) -> None:
    """Hundreds of uses, of which many are cut or cancelled at any moment: the others are answered."""
    database = open_database(postgres.url, connections=3)

    async def ask(number: int) -> object:
        async with database.read() as connection:
            return await connection.scalar(text(f"SELECT {number}"))

    async def be_cut() -> None:
        async with database.read() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            asyncio.get_running_loop().call_soon(driver.terminate)
            await connection.exec_driver_sql("SELECT pg_sleep(5)")

    for turns in range(40):
        asking = [asyncio.create_task(ask(number)) for number in range(6)]
        cut = [asyncio.create_task(be_cut()) for _ in range(3)]
        cancelled = [asyncio.create_task(ask(99)) for _ in range(3)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in cancelled:
            task.cancel()
        ends = await asyncio.gather(*cut, return_exceptions=True)
        assert {type(end) for end in ends} == {Unavailable}, ends
        assert await asyncio.gather(*asking) == list(range(6))
        await asyncio.gather(*cancelled, return_exceptions=True)
    await database.close()
