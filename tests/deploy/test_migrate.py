"""`gossamer migrate`: says what it would do, does it, and what it says is what it does."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner

from gossamer.app import Service
from gossamer.doors.cli.migrate import migrate
from gossamer.problems import Unavailable
from gossamer.state.db.database import HEAD, Database, open_database
from tests.servers.postgres import PostgresServer


def ask(url: str, *arguments: str) -> str:
    command = [*arguments, "--database-url", url]
    done = CliRunner().invoke(migrate, command, obj=Service, catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_a_dry_run_creates_nothing_and_the_migration_does_what_it_said(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "gossamer.db"
    said = ask(f"sqlite:///{file}", "--dry-run")
    assert "The database has no schema." in said
    assert f"to revision {HEAD}" in said
    assert "CREATE TABLE tenants" in said
    assert not file.parent.exists()
    assert f"now has revision {HEAD}" in ask(f"sqlite:///{file}")
    assert "nothing to do" in ask(f"sqlite:///{file}")
    assert "nothing to do" in ask(f"sqlite:///{file}", "--dry-run")


def test_a_dry_run_starts_from_the_revision_that_is_there(tmp_path: Path) -> None:
    file = tmp_path / "gossamer.db"
    ask(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    said = ask(f"sqlite:///{file}", "--dry-run")
    assert "The database has revision 0001." in said
    assert "CREATE TABLE tenants" not in said
    assert f"SET version_num='{HEAD}'" in said


async def test_the_sql_alone_makes_the_same_sqlite(tmp_path: Path) -> None:
    by_hand, ours = tmp_path / "by-hand.db", tmp_path / "ours.db"
    database = open_database(f"sqlite:///{ours}")
    sql = (await database.plan_migration()).sql
    await database.migrate()
    await database.close()
    with closing(sqlite3.connect(by_hand, isolation_level=None)) as connection:
        connection.executescript(sql)
    assert _schema(by_hand) == _schema(ours)


async def test_the_sql_alone_makes_the_same_postgres(postgres: PostgresServer) -> None:
    names = ("by_hand", "by_us")
    for name in names:
        await asyncio.to_thread(postgres.sql, f"CREATE DATABASE {name}")
    by_hand, ours = (postgres.url_of(name) for name in names)
    database: Database = open_database(ours)
    try:
        sql = (await database.plan_migration()).sql
        await database.migrate()
    finally:
        await database.close()
    connection = await asyncpg.connect(by_hand)
    await connection.execute(sql)
    await connection.close()
    assert await _columns(by_hand) == await _columns(ours)
    database = open_database(by_hand)
    assert (await database.plan_migration()).steps == ()
    await database.close()
    for url in (by_hand, ours):
        await asyncio.to_thread(postgres.drop_database, url)


def _schema(file: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        found = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
    return [tuple("".join(str(part).split()) for part in row) for row in found]


async def _columns(url: str) -> list[object]:
    connection = await asyncpg.connect(url)
    rows = await connection.fetch(
        "SELECT table_name, column_name, data_type, is_nullable, column_default"
        " FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, column_name"
    )
    indexes = await connection.fetch("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1")
    await connection.close()
    return [*map(tuple, rows), *map(tuple, indexes)]


@pytest.mark.parametrize("arguments", [[], ["--dry-run"]])
def test_a_database_that_is_away_is_said_to_be(arguments: list[str]) -> None:
    command = [*arguments, "--database-url", "postgresql://nobody@127.0.0.1:9/none"]
    assert isinstance(CliRunner().invoke(migrate, command, obj=Service).exception, Unavailable)
