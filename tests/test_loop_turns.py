"""Loop turns: a few pieces of work in a turn of the event loop, in the order in which they asked."""

import asyncio

from gossamer.concurrency.loop_turns import LoopTurns


async def do_work(turns: LoopTurns, name: int, done: list[int]) -> None:
    await turns.take()
    done.append(name)


async def test_what_becomes_ready_at_once_is_done_by_and_by() -> None:
    turns, done = LoopTurns(lambda: 2), list[int]()
    works = [asyncio.create_task(do_work(turns, name, done)) for name in range(7)]
    seen = []
    while len(done) < len(works):
        await asyncio.sleep(0)
        seen.append(len(done))
    assert max(after - before for before, after in zip([0, *seen], seen, strict=False)) == 2
    assert done == list(range(7))


async def test_each_turn_asks_how_much_it_may_do() -> None:
    rooms, done = iter((3, 1, 2)), list[int]()
    turns = LoopTurns(lambda: next(rooms))
    works = [asyncio.create_task(do_work(turns, name, done)) for name in range(6)]
    seen = []
    while len(done) < len(works):
        await asyncio.sleep(0)
        seen.append(len(done))
    assert sorted(set(seen) | {0}) == [0, 3, 4, 6]


async def test_who_comes_alone_does_not_wait() -> None:
    turns = LoopTurns(lambda: 1)
    for _ in range(3):
        coroutine = turns.take()
        try:
            coroutine.send(None)
        except StopIteration:
            pass
        else:
            raise AssertionError("it waits")
        await asyncio.sleep(0)


async def test_who_gave_up_takes_no_turn_from_the_others() -> None:
    turns, done = LoopTurns(lambda: 1), list[int]()
    works = [asyncio.create_task(do_work(turns, name, done)) for name in range(4)]
    await asyncio.sleep(0)
    works[1].cancel()
    works[2].cancel()
    await asyncio.gather(*works, return_exceptions=True)
    assert done == [0, 3]
    await asyncio.wait_for(turns.take(), 1)


async def test_whoever_is_cancelled_in_its_turn_leaves_the_next_one() -> None:
    turns, done = LoopTurns(lambda: 1), list[int]()
    works = [asyncio.create_task(do_work(turns, name, done)) for name in range(3)]
    await asyncio.sleep(0)  # the first has worked
    await asyncio.sleep(0)  # the second has been told of its turn
    works[1].cancel()
    await asyncio.gather(*works, return_exceptions=True)
    assert done == [0, 2]
