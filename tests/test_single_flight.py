"""One run for all who ask at the same time: who shares it, who ends it, who starts another."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from gossamer.concurrency.single_flight import SingleFlight

Flights = SingleFlight[str, int]


class Work:
    """Ends when it is let, with the number of the run; fails when it is told to."""

    def __init__(self) -> None:
        self.runs = 0
        self.cancelled = 0
        self.gate = asyncio.Event()
        self.failure: Exception | None = None

    async def __call__(self) -> int:
        self.runs += 1
        number = self.runs
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failure is not None:
            raise self.failure
        return number


async def begun(work: Coroutine[Any, Any, int]) -> asyncio.Task[int]:
    task = asyncio.create_task(work)
    for _ in range(5):  # so that it waits, and whatever it starts does
        await asyncio.sleep(0)
    return task


async def left(task: asyncio.Task[int]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_all_who_ask_at_once_share_one_run() -> None:
    flights, work = Flights(), Work()
    asked = [await begun(flights.share("a", work)) for _ in range(20)]
    assert "a" in flights
    work.gate.set()
    assert await asyncio.gather(*asked) == [1] * 20
    assert "a" not in flights


async def test_all_of_them_share_its_failure_and_who_comes_later_starts_another() -> None:
    flights, work = Flights(), Work()
    asked = [await begun(flights.share("a", work)) for _ in range(20)]
    work.failure = OSError("no luck")
    work.gate.set()
    assert await asyncio.gather(*asked, return_exceptions=True) == [work.failure] * 20
    work.failure = None
    assert await flights.share("a", work) == 2


async def test_others_have_runs_of_their_own() -> None:
    flights, work = Flights(), Work()
    asked = [await begun(flights.share(key, work)) for key in ("a", "b")]
    work.gate.set()
    assert await asyncio.gather(*asked) == [1, 2]


async def test_who_leaves_does_not_end_it_for_the_others() -> None:
    flights, work = Flights(), Work()
    asked = [await begun(flights.share("a", work)) for _ in range(3)]
    await left(asked[0])
    work.gate.set()
    assert await asyncio.gather(*asked[1:]) == [1, 1]
    assert work.cancelled == 0


async def test_when_the_last_leaves_it_is_cancelled_and_nobody_joins_what_is_ending() -> None:
    flights, work = Flights(), Work()
    asked = [await begun(flights.share("a", work)) for _ in range(2)]
    for one in asked:
        one.cancel()
    await asyncio.sleep(0)
    late = await begun(flights.share("a", work))
    await asyncio.wait(asked)
    assert work.cancelled == 1
    work.gate.set()
    assert await late == 2


async def test_closing_ends_what_is_under_way() -> None:
    flights, work = Flights(), Work()
    asked = await begun(flights.share("a", work))
    await flights.close()
    assert work.cancelled == 1
    assert "a" not in flights
    with pytest.raises(asyncio.CancelledError):
        await asked
