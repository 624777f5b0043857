"""Wake-ups on SQLite, where they differ: the write-ahead log is looked at for those that wait."""

import asyncio
import time
from pathlib import Path
from typing import Final

import pytest

from gossamer.concurrency.periodic import Rest
from gossamer.state.db.database import Database, open_database
from gossamer.state.db.sqlite import LogState, SqliteDatabase
from gossamer.state.jobs import heartbeats
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.state.wakeups.wakeups_sqlite import LogWatch

SECONDS: Final = 60.0  # far beyond the time that anything here takes


async def test_closing_leaves_no_thread_with_a_closed_connection(tmp_path: Path) -> None:
    """It would end the whole process, not this test alone."""
    path = tmp_path / "gossamer.db"
    database = open_database(f"sqlite:///{path}")
    await database.migrate()
    for turn in range(300):
        wakeups = open_wakeups(database)
        with wakeups.waiting(["render"]):
            await asyncio.sleep(turn % 20 / 10_000)  # so that it is closed at every moment of its look
        await wakeups.close()
    await database.close()


async def test_rest_ends_when_another_process_writes(tmp_path: Path) -> None:
    database, elsewhere = await _open_twice(tmp_path)
    wakeups = open_wakeups(database)
    with wakeups.looking(SECONDS) as rest:
        await _settle(rest)
        resting = asyncio.create_task(rest(0.0))
        await asyncio.sleep(0)
        await _beat(elsewhere, quiet=False)
        async with asyncio.timeout(SECONDS / 2):
            await resting
    await wakeups.close()
    await elsewhere.close()
    await database.close()


async def test_rest_ends_when_this_process_writes_but_not_for_a_quiet_write(tmp_path: Path) -> None:
    database, elsewhere = await _open_twice(tmp_path)
    wakeups = open_wakeups(database)
    with wakeups.looking(SECONDS) as rest:
        await _settle(rest)
        resting = asyncio.create_task(rest(0.0))
        log = database.look_at_log()
        await _beat(database, quiet=True)
        assert database.look_at_log() != log
        watch = LogWatch(database)
        await watch.was_written()  # the first look
        await _beat(database, quiet=True)
        assert not await watch.was_written()
        assert not resting.done()
        await _beat(database, quiet=False)
        assert await watch.was_written()
        async with asyncio.timeout(SECONDS / 2):
            await resting
    await wakeups.close()
    await elsewhere.close()
    await database.close()


async def test_a_database_to_which_nothing_is_written_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, elsewhere = await _open_twice(tmp_path)
    watch = LogWatch(database)
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: 0)  # long before or after whatever was written
        assert await watch.was_written()  # the first look
    reads = 0
    read = database.read_version

    async def count_and_read() -> tuple[int, int]:
        nonlocal reads
        reads += 1
        return await read()

    monkeypatch.setattr(database, "read_version", count_and_read)
    assert [await watch.was_written() for _ in range(100)] == [False] * 100
    assert reads == 0
    await _beat(elsewhere, quiet=True)  # quiet is a matter of one's own process
    assert await watch.was_written()
    assert reads == 1
    await elsewhere.close()
    await database.close()


def test_a_log_is_fresh_as_long_as_its_file_system_cannot_tell_two_writes_apart() -> None:
    fine, coarse = LogState(1, 1, 5_000_000_001), LogState(1, 1, 5_000_000_000)
    assert fine.is_fresh(5_010_000_000)
    assert not fine.is_fresh(5_100_000_000)
    assert coarse.is_fresh(7_000_000_000)
    assert not coarse.is_fresh(8_000_000_000)


async def _open_twice(folder: Path) -> tuple[SqliteDatabase, Database]:
    url = f"sqlite:///{folder / 'gossamer.db'}"
    database = open_database(url)
    assert isinstance(database, SqliteDatabase)
    await database.migrate()
    return database, open_database(url)


async def _settle(rest: Rest) -> None:
    """The first look always wakes those that wait."""
    async with asyncio.timeout(SECONDS / 2):
        await rest(0.0)


async def _beat(database: Database, *, quiet: bool) -> None:
    async with database.write(quiet=quiet) as connection:
        await heartbeats.beat(connection, "w", ["audit"], 0)
