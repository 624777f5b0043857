"""What must not happen twice does not, on both databases."""

import asyncio
import hashlib

import pytest

from gossamer.problems import IDEMPOTENCY_KEY_CONFLICT, Problem
from gossamer.state.db.database import Database
from gossamer.state.tenants import once, tenants

NOW = 1_700_000_000_000


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


SCOPE, ASKED = digest("scope"), digest("asked")


async def remember(database: Database, answer: bytes, *, asked: str = ASKED, now: int | None = NOW) -> None:
    async with database.write() as connection:
        await once.remember(connection, SCOPE, asked, answer, 60, now)


async def recall(database: Database, now: int | None = NOW) -> tuple[str, bytes] | None:
    async with database.read() as connection:
        return await once.recall(connection, SCOPE, now)


async def test_what_is_remembered_is_recalled(database: Database) -> None:
    assert await recall(database) is None
    await remember(database, b"first \x00\xff")
    assert await recall(database) == (ASKED, b"first \x00\xff")


async def test_the_second_time_gives_the_first_answer(database: Database) -> None:
    await remember(database, b"first")
    with pytest.raises(once.AlreadyDone) as done:
        await remember(database, b"second")
    assert done.value.answer == b"first"


async def test_another_question_in_the_same_scope_is_a_conflict(database: Database) -> None:
    await remember(database, b"first")
    with pytest.raises(Problem) as problem:
        await remember(database, b"second", asked=digest("other"))
    assert problem.value.kind is IDEMPOTENCY_KEY_CONFLICT
    assert await recall(database) == (ASKED, b"first")


@pytest.mark.parametrize("asked", [ASKED, digest("other")])
async def test_what_has_expired_is_taken_over(database: Database, asked: str) -> None:
    await remember(database, b"first")
    with pytest.raises(once.AlreadyDone):
        await remember(database, b"second", now=NOW + 59_999)
    assert await recall(database, NOW + 60_000) is None
    await remember(database, b"third", asked=asked, now=NOW + 60_000)
    assert await recall(database, NOW + 60_000) == (asked, b"third")


async def test_the_clock_is_the_databases(database: Database) -> None:
    await remember(database, b"first", now=None)
    assert await recall(database, None) == (ASKED, b"first")
    with pytest.raises(once.AlreadyDone):
        await remember(database, b"second", now=None)


async def test_what_is_undone_is_not_remembered(database: Database) -> None:
    async def fail() -> None:
        async with database.write() as connection:
            await once.remember(connection, SCOPE, ASKED, b"first", 60, NOW)
            raise RuntimeError("the effect failed")

    with pytest.raises(RuntimeError):
        await fail()
    assert await recall(database) is None


async def test_fifty_at_once_have_one_effect(database: Database) -> None:
    async def effect(number: int) -> bytes:
        try:
            async with database.write() as connection:
                await tenants.ensure_tenant(connection, f"{number}@example.com")
                await once.remember(connection, SCOPE, ASKED, b"%d" % number, 60)
        except once.AlreadyDone as done:
            return done.answer
        return b"%d" % number

    answers = await asyncio.gather(*(effect(number) for number in range(50)))
    assert len(set(answers)) == 1
    async with database.read() as connection:
        made = (await connection.exec_driver_sql("SELECT email FROM tenants WHERE email <> 'public'")).all()
    assert [row.email for row in made] == [f"{answers[0].decode()}@example.com"]


async def test_fifty_at_once_take_over_one_expired_row(database: Database) -> None:
    await remember(database, b"old", now=NOW)
    answers = await asyncio.gather(
        *(remember(database, b"%d" % n, now=NOW + 60_000) for n in range(50)), return_exceptions=True
    )
    done = [answer for answer in answers if isinstance(answer, once.AlreadyDone)]
    assert (len(done), answers.count(None)) == (49, 1)
    assert {answer.answer for answer in done} == {b"%d" % answers.index(None)}


async def test_only_what_has_expired_is_forgotten(database: Database) -> None:
    async with database.write() as connection:
        for number in range(5):
            await once.remember(connection, digest(f"{number}"), ASKED, b"", 60, NOW + number)
        assert await once.forget_expired(connection, NOW + 60_002) == 3
        assert await once.forget_expired(connection, NOW + 60_002) == 0
        assert await once.recall(connection, digest("3"), NOW) == (ASKED, b"")
