"""What a Database does when the thing beneath it is away, frozen, locked, read-only or full."""

import asyncio
import os
import resource
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text, update
from tests.servers.postgres import UNPRIVILEGED, PostgresServer

from gossamer.problems import Damaged, Unavailable
from gossamer.state.db.database import SILENT_TIMES, UNCERTAIN, Database, open_database
from gossamer.state.db.tables import tenants
from gossamer.state.tenants.tenants import PUBLIC

FREEZE = """
import asyncio, os, signal, sys
from sqlalchemy import text
from gossamer.problems import Damaged, Unavailable
from gossamer.state.db.database import open_database

async def main():
    database = open_database(sys.argv[1], deadline=1.0)
    try:
        async with database.write() as connection:
            await connection.execute(text("UPDATE tenants SET name = 'frozen'"))
            os.kill(os.getpid(), signal.SIGSTOP)
        print("written")
    except Unavailable as away:
        print(away.detail)
    await database.close()

asyncio.run(main())
"""
ROW = {"id": "1" * 26, "email": "a@example.com", "name": "", "created_at": 1}
SOON = 20.0  # seconds, on a busy machine: what is not bounded takes much longer


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


async def add(database: Database, number: int = 0) -> None:
    row = {**ROW, "id": f"{number + 1:026}", "email": f"{number}@example.com"}
    async with database.write() as connection:
        await connection.execute(insert(tenants), row)


async def add_single(database: Database, number: int) -> None:
    statement = "INSERT INTO tenants VALUES (?1, ?2, '', 1)"
    await database.single.fetch(statement, (f"{number + 1:026}", f"{number}@example.com"))


async def count(database: Database) -> int:
    async with database.read() as connection:
        return len((await connection.execute(select(tenants.c.id).where(tenants.c.id != PUBLIC))).all())


async def again(database: Database) -> None:
    """Until it answers."""
    while True:
        try:
            return await database.ping()
        except Unavailable:
            await asyncio.sleep(0.05)


@pytest.fixture
async def remote(postgres: PostgresServer) -> AsyncIterator[Database]:
    """PostgreSQL with every pooled connection open."""
    database = open_database(postgres.url, deadline=1.0, connections=3)
    await asyncio.gather(*(database.ping() for _ in range(3)), *(add(database, n) for n in range(3)))
    yield database
    await database.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can reach too, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path
        path.chmod(0o755)


@pytest.fixture
async def local(folder: Path) -> AsyncIterator[Database]:
    database = open_database(str(folder / "gossamer.db"), deadline=0.5)
    await database.migrate()
    yield database
    await database.close()


async def test_stopped_then_started(remote: Database, postgres: PostgresServer) -> None:
    postgres.stop()
    with within(SOON):
        for _ in range(5):
            with pytest.raises(Unavailable, match=r"refused|lost|shutting down"):
                await remote.ping()
            with pytest.raises(Unavailable, match=r"refused|lost|shutting down"):
                await add(remote, 99)
    postgres.start()
    await asyncio.gather(*(count(remote) for _ in range(6)), *(add(remote, n) for n in range(10, 16)))
    assert await count(remote) == 9


async def test_restarted_between_two_uses_nobody_notices(remote: Database, postgres: PostgresServer) -> None:
    await asyncio.to_thread(postgres.kill)
    await asyncio.to_thread(postgres.start)
    await asyncio.gather(*(count(remote) for _ in range(6)), *(add(remote, n) for n in range(10, 16)))
    assert await count(remote) == 9


async def test_stopped_within_a_transaction(remote: Database, postgres: PostgresServer) -> None:
    async def write() -> None:
        async with remote.write() as connection:
            await connection.execute(insert(tenants), ROW)
            postgres.kill()

    with pytest.raises(Unavailable):
        await write()
    postgres.start()
    assert await count(remote) == 3


async def test_frozen_with_connections_open(remote: Database, postgres: PostgresServer) -> None:
    postgres.freeze()
    with within(SOON):
        answers = await asyncio.gather(
            *(remote.ping() for _ in range(6)), *(add(remote, 99) for _ in range(6)), return_exceptions=True
        )
    assert all(isinstance(answer, Unavailable) for answer in answers), answers
    postgres.thaw()
    await again(remote)
    await add(remote, 100)


async def test_who_comes_while_it_is_silent_is_told_so_at_once(postgres: PostgresServer) -> None:
    database = open_database(postgres.url, deadline=1.0)
    postgres.freeze()
    for _ in range(SILENT_TIMES):
        with pytest.raises(Unavailable, match="in time"):
            await database.ping()
    with pytest.raises(Unavailable, match="silent a moment ago"):
        await database.ping()
    postgres.thaw()
    with within(SOON):
        await again(database)
    await database.close()


async def test_frozen_within_a_transaction(remote: Database, postgres: PostgresServer) -> None:
    async def write() -> None:
        async with remote.write() as connection:
            await connection.execute(insert(tenants), ROW)
            postgres.freeze()
            await connection.execute(select(tenants.c.id))

    with within(SOON), pytest.raises(Unavailable, match="no answer within 1 s") as caught:
        await write()
    assert caught.value.hint != UNCERTAIN
    postgres.thaw()
    assert await count(remote) == 3


async def test_frozen_while_committing_nobody_knows(remote: Database, postgres: PostgresServer) -> None:
    async def write() -> None:
        async with remote.write() as connection:
            await connection.execute(insert(tenants), ROW)
            postgres.freeze()

    with within(SOON), pytest.raises(Unavailable, match="no answer within 1 s") as caught:
        await write()
    assert caught.value.hint == UNCERTAIN
    postgres.thaw()
    assert await count(remote) in (3, 4)


async def test_a_client_that_is_frozen_within_a_transaction_stands_in_nobodys_way_for_long(
    remote: Database, postgres: PostgresServer
) -> None:
    """What it had locked is free after two of its deadlines; it learns of it when it is thawed."""
    command = (sys.executable, "-W", "error", "-c", FREEZE, postgres.url)
    client = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    await asyncio.to_thread(os.waitid, os.P_PID, client.pid, os.WSTOPPED | os.WNOWAIT)
    refused = 0
    async with asyncio.timeout(30):
        while not await _renamed(remote):
            refused += 1
    client.send_signal(signal.SIGCONT)
    said, _ = await client.communicate()
    assert refused  # it was in the way
    assert b"not answering" in said
    async with remote.read() as connection:
        assert set(await connection.scalars(select(tenants.c.name))) == {"awake"}


async def _renamed(database: Database) -> bool:
    try:
        async with database.write() as connection:
            await connection.execute(update(tenants).values(name="awake"))
    except Unavailable:
        return False
    return True


async def test_who_asks_for_more_time_gets_it_from_the_server_too(remote: Database) -> None:
    async with remote.write(seconds=60.0) as connection:
        assert await connection.scalar(text("SHOW statement_timeout")) == "2min"
        assert await connection.scalar(text("SHOW lock_timeout")) == "1min"
    async with remote.write() as connection:
        assert await connection.scalar(text("SHOW idle_in_transaction_session_timeout")) == "2s"


async def test_frozen_before_the_first_connection(postgres: PostgresServer) -> None:
    database = open_database(postgres.url, deadline=0.5)
    postgres.freeze()
    with within(SOON), pytest.raises(Unavailable, match="in time"):
        await database.ping()
    postgres.thaw()
    await database.ping()
    await database.close()


async def test_closing_does_not_wait_for_a_frozen_server(postgres: PostgresServer) -> None:
    database = open_database(postgres.url)
    await asyncio.gather(*(database.ping() for _ in range(3)), add(database))
    postgres.freeze()
    with within(4):
        await database.close()


async def test_wrong_address(postgres: PostgresServer) -> None:
    wrong = {
        postgres.url.replace("/test_", "/missing_"): "there is no such database",
        "postgresql:///name?host=/nowhere": "it cannot be reached",
    }
    for url, why in wrong.items():
        database = open_database(url)
        with within(SOON), pytest.raises(Unavailable, match=why):
            await database.ping()
        await database.close()


async def test_a_writer_that_was_made_read_only(remote: Database) -> None:
    """As after a failover to a standby."""

    async def write() -> None:
        async with remote.write() as connection:
            await connection.exec_driver_sql("SET TRANSACTION READ ONLY")
            await connection.execute(insert(tenants), ROW)

    with pytest.raises(Unavailable, match="read-only"):
        await write()


async def test_locked_by_another_process(local: Database, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "gossamer.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with within(SOON), pytest.raises(Unavailable, match="locked by another process"):
            await add(local)
        with within(SOON), pytest.raises(Unavailable, match=r"locked by another process|no answer within"):
            await add_single(local, 1)
        assert await count(local) == 0
        other.execute("ROLLBACK")
    await add(local)
    await add_single(local, 2)
    assert await count(local) == 2


@contextmanager
def without_privileges() -> Iterator[None]:
    """File permissions mean nothing to root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(UNPRIVILEGED)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_read_only_file(folder: Path) -> None:
    path = folder / "gossamer.db"
    first = open_database(str(path))
    await first.migrate()
    await first.close()
    path.chmod(0o444)
    folder.chmod(0o555)
    with without_privileges():
        database = open_database(str(path), deadline=0.5)
        with within(SOON), pytest.raises(Unavailable, match=r"read-only|cannot be opened"):
            await add(database)
        with within(SOON), pytest.raises(Unavailable, match=r"cannot be created|cannot be opened|read-only"):
            await open_database(str(folder / "new" / "gossamer.db"), deadline=0.5).migrate()
        await database.close()


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


async def test_no_room_on_the_disk(local: Database, folder: Path) -> None:
    await add(local, 1)
    wal = folder / "gossamer.db-wal"
    with file_size_limit(wal.stat().st_size + 100):
        with pytest.raises(Unavailable, match="disk"):
            await add(local, 2)
        together = [add_single(local, number) for number in (4, 5)]
        for away in await asyncio.gather(*together, return_exceptions=True):
            assert isinstance(away, Unavailable)
            assert "disk" in away.detail
        assert await count(local) == 1
    await add(local, 3)
    await asyncio.gather(*(add_single(local, number) for number in (6, 7)))
    assert await count(local) == 4


async def test_not_a_database(folder: Path) -> None:
    path = folder / "notes.txt"
    path.write_text("x" * 10_000)
    database = open_database(str(path))
    with pytest.raises(Damaged, match="not a database"):
        await database.migrate()
    await database.close()


async def test_the_file_is_its_owners_alone(local: Database, folder: Path) -> None:
    await add(local)
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
