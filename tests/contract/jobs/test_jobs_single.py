"""Changes that are one statement: what `Database.executor` promises, also when PostgreSQL is away."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError, IntegrityError
from tests.servers.postgres import PostgresServer

from gossamer.problems import Unavailable
from gossamer.state.db import single as alone
from gossamer.state.db.database import UNCERTAIN, Database, open_database
from gossamer.state.db.tables import tenants

INSERT = {
    "postgresql": "INSERT INTO tenants VALUES ($1, $2, '', 1) RETURNING id, email",
    "sqlite": "INSERT INTO tenants VALUES (?1, ?2, '', 1) RETURNING id, email",
}


async def add(database: Database, number: int) -> Any:
    async with database.executor() as executor:
        given = (f"{number:026}", f"{number}@example.com")
        return (await alone.run(executor, INSERT[database.dialect], *given))[0]


async def run(database: Database, statement: str) -> Any:
    async with database.executor() as executor:
        return await alone.run(executor, statement)


async def emails(database: Database) -> set[str]:
    async with database.read() as connection:
        return set(
            (await connection.scalars(select(tenants.c.email).where(tenants.c.email != "public"))).all()
        )


@pytest.fixture
async def remote(postgres: PostgresServer) -> AsyncIterator[Database]:
    """PostgreSQL with every connection open on which statements are alone."""
    database = open_database(postgres.url, deadline=1.0, connections=3)
    await asyncio.gather(*(run(database, "SELECT pg_sleep(0.1)") for _ in range(3)))
    yield database
    await database.close()


async def test_what_was_written_is_read(database: Database) -> None:
    row = await add(database, 1)
    assert (row.id, row.email) == (row[0], row[1]) == tuple(row) == (f"{1:026}", "1@example.com")
    assert await emails(database) == {"1@example.com"}


async def test_many_at_once_share_few_connections(database: Database) -> None:
    await asyncio.gather(*(add(database, number) for number in range(40)))
    assert len(await emails(database)) == 40


async def test_constraint_violations_and_defects_pass_through(database: Database) -> None:
    await add(database, 1)
    with pytest.raises(IntegrityError):
        await add(database, 1)
    with pytest.raises(DBAPIError):
        await run(database, "SELECT nothing FROM nowhere")
    await add(database, 2)


async def test_a_cancelled_statement_is_given_up_and_its_connection_replaced(remote: Database) -> None:
    asking = [asyncio.create_task(run(remote, "SELECT pg_sleep(30)")) for _ in range(3)]  # on all there are
    await asyncio.sleep(0.1)
    for one in asking:
        one.cancel()
    ended = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in ended)
    await asyncio.gather(*(add(remote, number) for number in range(6)))


async def test_a_statement_ends_at_the_deadline(remote: Database) -> None:
    with pytest.raises(Unavailable, match="no answer within 1 s") as caught:
        await run(remote, "SELECT pg_sleep(30)")
    assert caught.value.hint == UNCERTAIN
    await add(remote, 1)


async def test_waiting_for_a_connection_ends_at_the_deadline(remote: Database) -> None:
    asked = [asyncio.create_task(run(remote, "SELECT pg_sleep(30)")) for _ in range(4)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    told = [answer.detail for answer in answers if isinstance(answer, Unavailable)]
    late = ["no answer within 1 s" in detail for detail in told]
    assert len(told) == 4
    assert late.count(True) >= 3
    # The fourth had no connection, or was handed one in its last moment by those that ended with it.
    assert late.count(True) == 4 or "in time" in told[late.index(False)]
    await add(remote, 1)


async def test_stopped_then_started(remote: Database, postgres: PostgresServer) -> None:
    postgres.stop()
    for _ in range(5):
        with pytest.raises(Unavailable, match=r"refused|lost|shutting down"):
            await add(remote, 1)
    postgres.start()
    await asyncio.gather(*(add(remote, number) for number in range(6)))


async def test_restarted_between_two_uses_nobody_notices(remote: Database, postgres: PostgresServer) -> None:
    await asyncio.to_thread(postgres.kill)
    await asyncio.to_thread(postgres.start)
    await asyncio.gather(*(add(remote, number) for number in range(6)))


async def test_frozen_nobody_knows(remote: Database, postgres: PostgresServer) -> None:
    postgres.freeze()
    began = time.monotonic()
    answers = await asyncio.gather(*(add(remote, number) for number in range(6)), return_exceptions=True)
    assert time.monotonic() - began < 20
    hints = [answer.hint for answer in answers if isinstance(answer, Unavailable)]
    assert len(hints) == 6
    assert hints.count(UNCERTAIN) == 3  # those that were sent
    postgres.thaw()
    await add(remote, 7)
