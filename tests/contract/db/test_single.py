"""Changes that are one statement on either database: what `Database.single` promises."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from gossamer.problems import Unavailable
from gossamer.state.db.bulk import bulk
from gossamer.state.db.database import UNCERTAIN, Database, open_database
from gossamer.state.db.tables import tenants

ADD = bulk(
    "INSERT INTO tenants VALUES ({id}, {email}, '', {now}) RETURNING id, email",
    values={"id": "text", "email": "text"},
)
ENDLESS = """
INSERT INTO tenants WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
SELECT i, i, '', 1 FROM n WHERE i < 0"""


async def add(database: Database, number: int) -> Any:
    rows = await ADD(database.single, 1, id=f"{number:026}", email=f"{number}@example.com")
    return rows[0]


async def added(database: Database) -> set[int]:
    async with database.read() as connection:
        found = await connection.scalars(select(tenants.c.email).where(tenants.c.email != "public"))
        return {int(email.partition("@")[0]) for email in found}


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Database]:
    database = open_database(str(tmp_path / "gossamer.db"), deadline=1.0)
    await database.migrate()
    yield database
    await database.close()


async def test_what_was_written_is_read(database: Database) -> None:
    row = await add(database, 1)
    assert (row.id, row.email) == (row[0], row[1]) == tuple(row) == (f"{1:026}", "1@example.com")
    assert await added(database) == {1}


async def test_of_many_at_once_those_that_fail_take_nothing_from_the_others(database: Database) -> None:
    await add(database, 7)
    made = await asyncio.gather(*(add(database, number) for number in range(40)), return_exceptions=True)
    assert [number for number, one in enumerate(made) if isinstance(one, IntegrityError)] == [7]
    assert sum(isinstance(one, Exception) for one in made) == 1
    assert await added(database) == set(range(40))


async def test_a_defect_of_ours_passes_through(database: Database) -> None:
    defect = database.single.fetch("SELECT nothing FROM nowhere", ())
    wrong, right = await asyncio.gather(defect, add(database, 1), return_exceptions=True)
    assert isinstance(wrong, DBAPIError)
    assert not isinstance(right, Exception)
    assert await added(database) == {1}


async def test_they_and_transactions_lose_nothing_of_each_other(database: Database) -> None:
    async def transact(number: int) -> None:
        async with database.write() as connection:
            row = {"id": f"{number:026}", "email": f"{number}@example.com", "name": "", "created_at": 1}
            await connection.execute(insert(tenants), row)

    changes = (add(database, number) if number % 2 else transact(number) for number in range(60))
    await asyncio.gather(*changes)
    assert await added(database) == set(range(60))


# On SQLite, where who writes is alone.


async def test_who_is_cancelled_before_its_turn_changes_nothing(local: Database) -> None:
    async with local.write():
        adding = asyncio.create_task(add(local, 1))
        await asyncio.sleep(0)
        adding.cancel()
        await asyncio.gather(adding, return_exceptions=True)
    await add(local, 2)
    assert await added(local) == {2}


async def test_waiting_for_a_turn_ends_at_the_deadline(local: Database) -> None:
    async with local.write(seconds=60):
        with pytest.raises(Unavailable, match="in time") as caught:
            await add(local, 1)
    assert caught.value.hint != UNCERTAIN
    await add(local, 2)
    assert await added(local) == {2}


async def test_a_statement_ends_at_the_deadline(local: Database) -> None:
    with pytest.raises(Unavailable, match=r"no answer within 1 s|took too long"):
        await local.single.fetch(ENDLESS, ())
    await add(local, 1)
    assert await added(local) == {1}


async def test_closing_waits_for_what_was_begun(local: Database) -> None:
    adding = asyncio.create_task(add(local, 1))
    await asyncio.sleep(0)
    await local.close()
    assert (await adding).email == "1@example.com"
    assert await added(local) == {1}
