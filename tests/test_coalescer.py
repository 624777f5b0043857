"""Questions that come together are answered together."""

import asyncio
from collections.abc import Sequence

import pytest

from gossamer.concurrency.coalescer import Coalescer
from gossamer.problems import Unavailable


async def test_questions_that_come_while_others_are_answered_are_answered_together() -> None:
    batches: list[Sequence[int]] = []

    async def answer_all(questions: Sequence[int]) -> list[int]:
        batches.append(questions)
        await asyncio.sleep(0)
        return [-question for question in questions]

    coalescer = Coalescer(answer_all, max_batch=50)
    assert await asyncio.gather(*map(coalescer.ask, range(70))) == [-question for question in range(70)]
    assert [len(batch) for batch in batches] == [50, 20]
    assert await coalescer.ask(7) == -7


async def test_a_failure_reaches_its_own_batch_and_no_other() -> None:
    async def answer_all(questions: Sequence[int]) -> list[int]:
        if 0 in questions:
            raise Unavailable("database", "away")
        return list(questions)

    coalescer = Coalescer(answer_all, max_batch=50)
    ends = await asyncio.gather(*map(coalescer.ask, (0, 1)), return_exceptions=True)
    assert all(isinstance(end, Unavailable) for end in ends)
    assert await coalescer.ask(1) == 1


async def test_a_caller_that_leaves_keeps_no_other_waiting() -> None:
    go_on = asyncio.Event()
    answered: list[int] = []

    async def answer_all(questions: Sequence[int]) -> list[int]:
        await go_on.wait()
        answered.extend(questions)
        return list(questions)

    coalescer = Coalescer(answer_all, max_batch=50)
    one, two = asyncio.create_task(coalescer.ask(1)), asyncio.create_task(coalescer.ask(2))
    await asyncio.sleep(0)
    one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one
    go_on.set()
    assert await two == 2
    assert answered == [1, 2]


async def test_closing_ends_those_who_wait() -> None:
    async def answer_all(questions: Sequence[int]) -> list[int]:
        await asyncio.Event().wait()
        return list(questions)

    coalescer = Coalescer(answer_all, max_batch=1)
    asking = asyncio.create_task(coalescer.ask(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await coalescer.close()
    with pytest.raises(RuntimeError, match="closed"):
        await asking
