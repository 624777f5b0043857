"""Hot in this process: what the contract cannot see, the memory it takes."""

import asyncio

from gossamer.state.kv.hot import Window
from gossamer.state.kv.hot_memory import ExpiringDict, MemoryHot


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


async def test_windows_that_have_emptied_are_dropped() -> None:
    hot = MemoryHot(clock=Clock())
    start = 1_800_000_000.0
    for i in range(20_000):
        await hot.take([Window(f"address{i}", 5, 10)], now=start + i / 100)
    assert len(hot._windows) < 4_000  # 1,000 of them are alive at any time


async def test_a_busy_window_holds_no_more_than_its_limit() -> None:
    hot = MemoryHot()
    for i in range(10_000):
        await hot.take([Window("w", 5, 10)], now=1_800_000_000.0 + i)
    assert [len(stamps) for stamps in hot._windows.values()] == [5]


async def test_looking_and_being_refused_leave_nothing() -> None:
    hot = MemoryHot()
    await hot.take([Window("look", 5, 10, cost=0), Window("refused", 0, 10)])
    assert not hot._windows


async def test_keys_and_claims_that_nobody_asks_for_again_are_dropped() -> None:
    clock = Clock()
    hot = MemoryHot(clock=clock)
    for i in range(20_000):
        clock.now += 0.01
        await hot.put(f"key{i}", b"x", 10)
        await hot.settle(await hot.claim(f"job{i}", 10), b"x", 10)
    assert len(hot._keys) < 4_000
    assert len(hot._claims) < 4_000


async def test_the_sweep_spares_the_living() -> None:
    clock = Clock()
    hot = MemoryHot(clock=clock)
    for i in range(1_000):
        await hot.put(f"long{i}", b"x", 1_000_000)
        await hot.put(f"short{i}", b"x", 1)
        clock.now += 1
    assert all([await hot.get(f"long{i}") == b"x" for i in range(1_000)])


async def test_expiry_follows_the_clock_that_came_in() -> None:
    clock = Clock()
    hot = MemoryHot(clock=clock)
    await hot.put("a", b"x", 60)
    claim = await hot.claim("job", 60)
    clock.now += 59.999
    assert await hot.get("a") == b"x"
    assert await hot.renew(claim, 60)
    clock.now += 60
    assert await hot.get("a") is None
    assert not await hot.settle(claim, b"late", 60)


async def test_waiting_leaves_nothing() -> None:
    hot = MemoryHot()
    claim = await hot.claim("job", 60)
    waiting = [asyncio.create_task(hot.wait("job", timeout)) for timeout in (0, 0.01, 60)]
    await asyncio.wait(waiting[:2])
    await hot.settle(claim, b"x", 60)
    await asyncio.wait(waiting)
    await hot.wait("job", 60)
    assert not hot._waiting


async def test_closing_wakes_who_waits() -> None:
    hot = MemoryHot()
    await hot.claim("job", 60)
    waiting = asyncio.create_task(hot.wait("job", 60))
    await asyncio.sleep(0)
    await hot.close()
    await asyncio.wait_for(waiting, 5)


def test_a_shelf_finds_the_dead_while_it_is_filled() -> None:
    entries: ExpiringDict[int, float] = ExpiringDict(lambda _, dies, now: dies <= now)
    for i in range(10_000):
        entries.add(i, i + 100.0, float(i))
    assert len(entries) < 500
    assert all(i in entries for i in range(9_901, 10_000))
