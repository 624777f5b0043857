"""What a Database promises, on SQLite and on PostgreSQL."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, insert, inspect, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError
from tests.servers.postgres import PostgresServer

from gossamer.problems import Unavailable
from gossamer.state.db import database as database_module
from gossamer.state.db.columns import metadata
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import HEAD, Database, DatabaseTooNew, clock, insert_into, open_database
from gossamer.state.db.tables import tenants
from gossamer.state.tenants.tenants import PUBLIC

MIGRATE = """
import asyncio, sys
from gossamer.state.db.database import open_database

async def main():
    database = open_database(sys.argv[1])
    await database.migrate()
    await database.ping()
    await database.close()

asyncio.run(main())
"""
WRITE = """
import asyncio, sys
from gossamer.state.tenants import tenants
from gossamer.state.db.database import open_database

async def main():
    database = open_database(sys.argv[1])
    for number in range(int(sys.argv[3])):
        async with database.write() as connection:
            await tenants.ensure_tenant(connection, f"{sys.argv[2]}-{number}@example.com")
    await database.close()

asyncio.run(main())
"""


def tenant(number: int) -> dict[str, object]:
    return {"id": f"{number + 1:026}", "email": f"{number}@example.com", "name": "", "created_at": 1}


async def emails(database: Database) -> Sequence[str]:
    async with database.read() as connection:
        made = select(tenants.c.email).where(tenants.c.id != PUBLIC).order_by(tenants.c.id)
        return (await connection.scalars(made)).all()


@pytest.fixture
def empty_url(request: pytest.FixtureRequest, database_url: str) -> str:
    """A database without a schema."""
    if database_url.startswith("sqlite"):
        return f"{database_url}.empty"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.create_database("template0")


async def test_what_was_written_is_read(database: Database) -> None:
    async with database.write() as connection:
        await connection.execute(insert(tenants), [tenant(1), tenant(2)])
    assert await emails(database) == ["1@example.com", "2@example.com"]


async def test_an_exception_undoes_the_transaction(database: Database) -> None:
    async def fail() -> None:
        async with database.write() as connection:
            await connection.execute(insert(tenants), tenant(1))
            raise RuntimeError("never mind")

    with pytest.raises(RuntimeError, match="never mind"):
        await fail()
    assert await emails(database) == []


async def test_a_cancelled_transaction_is_undone_and_its_connection_replaced(database: Database) -> None:
    started = asyncio.Event()

    async def write_and_wait() -> None:
        async with database.write() as connection:
            await connection.execute(insert(tenants), tenant(1))
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(write_and_wait())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with database.write() as connection:
        await connection.execute(insert(tenants), tenant(1))


async def test_a_reader_does_not_see_what_is_not_committed(database: Database) -> None:
    async with database.write() as connection:
        await connection.execute(insert(tenants), tenant(1))
        assert await emails(database) == []
    assert await emails(database) == ["1@example.com"]


async def test_reading_cannot_write(database: Database) -> None:
    with pytest.raises(DBAPIError):
        async with database.read() as connection:
            await connection.execute(insert(tenants), tenant(1))
    assert await emails(database) == []


async def test_constraint_violations_pass_through(database: Database) -> None:
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await connection.execute(insert(tenants), [tenant(1), tenant(1)])


async def test_foreign_keys_are_enforced(database: Database) -> None:
    orphan = (
        "INSERT INTO api_keys VALUES"
        " ('k', 'none', '%s', 'p', 'user', 'pro', '', 1, NULL, '', NULL, NULL, NULL)"
    )
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await connection.exec_driver_sql(orphan % ("0" * 64))


async def test_a_defect_of_ours_passes_through(database: Database) -> None:
    with pytest.raises(DBAPIError):
        async with database.read() as connection:
            await connection.exec_driver_sql("SELECT nonsense")
    await database.ping()


async def test_many_writers_and_readers_at_once(database: Database) -> None:
    async def write(number: int) -> None:
        async with database.write() as connection:
            await connection.execute(insert(tenants), tenant(number))

    await asyncio.gather(*(write(number) for number in range(60)), *(emails(database) for _ in range(60)))
    assert len(await emails(database)) == 60


async def test_the_clock_is_the_databases(database: Database) -> None:
    async with database.read() as connection:
        theirs = await connection.scalar(select(clock()))
    assert theirs == pytest.approx(time.time() * 1000, abs=2_000)


async def test_the_clock_can_be_passed_in(database: Database) -> None:
    async with database.read() as connection:
        assert await connection.scalar(select(clock(1_000) + 1)) == 1_001


async def test_the_clock_uses_an_index(database: Database) -> None:
    explain = "EXPLAIN QUERY PLAN" if database.dialect == "sqlite" else "EXPLAIN"
    now = database_module.CLOCK[database.dialect]
    async with database.write() as connection:
        if database.dialect == "postgresql":
            await connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        plan = await connection.exec_driver_sql(f"{explain} SELECT scope FROM once WHERE expires_at <= {now}")
        assert "ix_once_expires_at" in str(plan.all())


async def test_on_conflict_is_the_same_in_both(database: Database) -> None:
    async with database.write() as connection:
        statement = insert_into(connection, tenants).on_conflict_do_nothing()
        await connection.execute(statement, tenant(1))
        await connection.execute(statement, tenant(1))
    assert await emails(database) == ["1@example.com"]


async def test_migrating_again_changes_nothing(database: Database) -> None:
    async with database.write() as connection:
        await connection.execute(insert(tenants), tenant(1))
    await database.migrate()
    assert await emails(database) == ["1@example.com"]


async def test_processes_that_start_at_once_migrate_once(empty_url: str) -> None:
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-c", MIGRATE, empty_url, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(4)
    ]
    for process in started:
        _, complaints = await process.communicate()
        assert process.returncode == 0, complaints.decode()


def test_head_is_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", "gossamer.state.db:migrations")
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [HEAD]
    # Versions are compared as text to tell a newer database from an older one.
    assert all(len(script.revision) == 4 and script.revision.isdigit() for script in scripts.walk_revisions())


async def test_the_migrated_schema_is_that_of_the_tables(database: Database) -> None:
    async with database.read() as connection:
        assert await connection.run_sync(_differences) == []
        assert await connection.run_sync(_constraints) == _expected_constraints()


def _differences(connection: Connection) -> list[object]:
    """`search_words` is no table of SQLAlchemy's: each database has it in a shape of its own."""
    options = {
        "compare_type": True,
        # SQLite gives an empty default back in a way that Alembic takes for another one.
        "compare_server_default": connection.dialect.name == "postgresql",
        "include_name": lambda name, *_: not str(name).startswith("search_words"),
    }
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def _constraints(connection: Connection) -> dict[str, set[str | None]]:
    """The names of all constraints, and the columns in their order: `compare_metadata` ignores these."""
    inspector = inspect(connection)
    return {
        name: {check["name"] for check in inspector.get_check_constraints(name)}
        | {key["name"] for key in inspector.get_foreign_keys(name)}
        | {unique["name"] for unique in inspector.get_unique_constraints(name)}
        | {inspector.get_pk_constraint(name)["name"]}
        | {", ".join(column["name"] for column in inspector.get_columns(name))}
        for name in metadata.tables
    }


def _expected_constraints() -> dict[str, set[str | None]]:
    """What the tables themselves would create."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        constraints = _constraints(connection)
    engine.dispose()
    return constraints


async def test_a_migration_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    database = open_database(empty_url)
    try:
        async with database.write() as connection:
            await connection.exec_driver_sql("CREATE TABLE usage_days (in_the_way INTEGER)")
        with pytest.raises(DBAPIError, match="usage_days"):
            await database.migrate()
        async with database.write() as connection:
            assert await connection.run_sync(lambda c: inspect(c).get_table_names()) == ["usage_days"]
            await connection.exec_driver_sql("DROP TABLE usage_days")
        await database.migrate()
        assert await emails(database) == []
    finally:
        await database.close()


async def test_a_database_of_a_later_release_is_left_alone(database: Database) -> None:
    async with database.write() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(
        DatabaseTooNew, match=r"^The database has schema 9999, this Gossamer knows only .*\.$"
    ):
        await database.migrate()


async def test_writers_in_two_processes_lose_nothing(database: Database, database_url: str) -> None:
    command = (sys.executable, "-W", "error", "-c", WRITE, database_url)
    other = await asyncio.create_subprocess_exec(*command, "other", "40", stderr=asyncio.subprocess.PIPE)
    for number in range(40):
        async with database.write() as connection:
            await connection.execute(insert(tenants), tenant(number))
    _, complaints = await other.communicate()
    assert other.returncode == 0, complaints.decode()
    assert len(await emails(database)) == 80


async def test_a_use_ends_at_its_deadline(database: Database) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    began = time.monotonic()
    with pytest.raises(Unavailable, match=r"no answer within 0\.5 s"):
        async with database.read(seconds=0.5) as connection:
            await connection.exec_driver_sql(endless)
    assert time.monotonic() - began < 20
    await database.ping()


async def test_waiting_for_a_connection_ends_at_the_deadline(database_url: str, database: Database) -> None:
    crowded = open_database(database_url, deadline=0.3, connections=1)
    try:
        async with crowded.write(seconds=30):
            with pytest.raises(Unavailable, match="in time"):
                async with crowded.write():
                    pass
        await crowded.ping()
    finally:
        await crowded.close()


@pytest.mark.parametrize("url", ["mysql://host/name", "postgresql+psycopg://host/name"])
def test_an_unknown_scheme_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not a database that Gossamer knows"):
        open_database(url)


def test_a_start_that_finds_the_schema_in_place_does_not_load_alembic(database_url: str) -> None:
    for command in (MIGRATE, MIGRATE + "\nassert 'alembic' not in sys.modules\n"):
        subprocess.run([sys.executable, "-c", command, database_url], check=True)


async def test_closing_waits_for_those_who_use_it(database_url: str) -> None:
    database = open_database(database_url)
    await database.migrate()
    inside, leave = asyncio.Event(), asyncio.Event()

    async def use() -> object:
        async with database.read() as connection:
            inside.set()
            await leave.wait()
            return await connection.scalar(text("SELECT 1"))

    using = asyncio.create_task(use())
    await inside.wait()
    closing = asyncio.create_task(database.close())
    await asyncio.sleep(0)
    leave.set()
    await closing
    assert await using == 1


async def test_who_is_cancelled_while_he_writes_leaves_no_lock(database: Database) -> None:
    async def write() -> None:
        while True:
            async with database.write() as connection:
                await connection.execute(insert(tenants), [tenant(number) for number in range(50)])
                await connection.execute(select(tenants))
                await connection.execute(text("DELETE FROM tenants WHERE id < '1'"))

    for turns in range(60):
        writing = asyncio.create_task(write())
        for _ in range(turns):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        async with database.write() as connection:
            await connection.execute(text("DELETE FROM tenants WHERE id < '1'"))
    assert await emails(database) == []


async def test_a_whole_transaction_is_written_or_undone(database: Database) -> None:
    async def add(connection: AsyncConnection, *numbers: int) -> int:
        for number in numbers:
            await connection.execute(insert(tenants), tenant(number))
        return len((await connection.scalars(select(tenants.c.id).where(tenants.c.id != PUBLIC))).all())

    with pytest.raises(IntegrityError):
        await database.transact(lambda connection: add(connection, 1, 2, 1))
    with pytest.raises(LookupError):
        await database.transact(_raise_after_writing)
    assert await database.transact(lambda connection: add(connection, 1, 2)) == 2
    assert await emails(database) == ["1@example.com", "2@example.com"]


async def _raise_after_writing(connection: AsyncConnection) -> None:
    await connection.execute(insert(tenants), tenant(3))
    raise LookupError


async def test_whole_transactions_of_many_lose_nothing(database: Database) -> None:
    await database.transact(lambda connection: connection.execute(insert(tenants), tenant(0)))

    async def lengthen(connection: AsyncConnection) -> None:
        name = await connection.scalar(
            select(tenants.c.name).where(tenants.c.id == tenant(0)["id"]).with_for_update()
        )
        await connection.execute(
            update(tenants).where(tenants.c.id == tenant(0)["id"]).values(name=f"{name}x")
        )

    await asyncio.gather(*(database.transact(lengthen) for _ in range(20)))
    async with database.read() as connection:
        assert (
            await connection.scalar(select(tenants.c.name).where(tenants.c.id == tenant(0)["id"])) == "x" * 20
        )


async def test_a_whole_transaction_of_sqlite_waits_for_nothing_else(sqlite: str) -> None:
    database = open_database(sqlite)

    async def doze(connection: AsyncConnection) -> None:
        await connection.execute(insert(tenants), tenant(0))
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError):
        await database.transact(doze)
    await database.transact(lambda connection: connection.execute(insert(tenants), tenant(0)))
    await database.close()


async def test_a_whole_transaction_of_sqlite_ends_at_its_deadline_or_with_its_caller(sqlite: str) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    async def count(connection: AsyncConnection) -> None:
        await connection.execute(insert(tenants), tenant(0))
        begun.set()
        await connection.exec_driver_sql(endless)

    database, begun = open_database(sqlite, deadline=0.5), threading.Event()
    with pytest.raises(Unavailable, match=r"within 0\.5 s"):
        await database.transact(count)
    begun.clear()
    counting = asyncio.create_task(database.transact(count))
    await asyncio.to_thread(begun.wait, 10)
    counting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await counting
    await database.transact(lambda connection: connection.execute(insert(tenants), tenant(0)))
    await database.close()
