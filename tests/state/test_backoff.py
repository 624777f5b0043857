"""Growing back-off: the pauses as a pure table, and one record of a caller for all processes."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.servers.valkey import PATIENCE, Valkey

from gossamer.state.backoff import (
    FORGOTTEN,
    LONGEST,
    MOST_CALLERS,
    MOST_SITES,
    NOTHING,
    Backoff,
    Past,
    Streak,
)
from gossamer.state.hot import Hot
from gossamer.state.hot_memory import MemoryHot
from gossamer.state.hot_redis import RedisHot

NOON = 1_800_000_000.0
GROWING = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0)
FREE = st.integers(1, 20)
GAPS = st.floats(0.0, 2 * FORGOTTEN, allow_nan=False)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


def test_after_those_that_are_free_each_pause_is_twice_the_one_before() -> None:
    streak, now = Streak(), NOON
    for _ in range(9):
        streak = streak.longer(10, now)
        assert streak.wait(10, now) == 0
    for pause in GROWING:
        streak = streak.longer(10, now)
        assert streak.wait(10, now) == pause
        now += pause


@given(FREE, st.lists(GAPS, max_size=40))
def test_a_pause_grows_with_each_failure_and_is_never_too_long(free: int, gaps: list[float]) -> None:
    streak, now = Streak(), NOON
    for gap in gaps:
        now += gap
        before, waited_for = streak, streak.wait(free, now) > 0
        streak = streak.longer(free, now)
        assert streak.wait(free, now) <= streak.pause(free) <= LONGEST
        if waited_for:
            assert streak == before  # it was let in before the pause began
        elif now - before.last >= FORGOTTEN:
            assert streak == Streak(1, now)
        else:
            assert streak == Streak(before.failures + 1, now)
            assert streak.pause(free) >= before.pause(free)
        assert (streak.pause(free) > 0) == (streak.failures >= free)


@given(FREE, st.integers(0, 10_000), GAPS, st.floats(-3_600, 3_600))
def test_a_wrong_clock_keeps_nobody_waiting_for_longer(
    free: int, failures: int, gap: float, wrong_by: float
) -> None:
    streak = Streak(failures, NOON)
    assert 0 <= streak.wait(free, NOON + gap + wrong_by) <= streak.pause(free) <= LONGEST


@given(st.integers(0, 10_000), GAPS)
def test_with_none_free_nobody_waits(failures: int, gap: float) -> None:
    assert Streak(failures, NOON).wait(0, NOON + gap) == 0


@given(st.lists(st.tuples(st.sampled_from([f"{n}.example:80" for n in range(50)]), GAPS), max_size=60))
def test_sites_are_counted_apart_and_the_latest_are_kept(failures: list[tuple[str, float]]) -> None:
    past, now, last = Past(), NOON, dict[str, float]()
    for site, gap in failures:
        now += gap + 100  # longer than any pause
        last[site] = now
        past = past.with_miss(site, 5, now)
    latest = sorted(last, key=lambda site: last[site], reverse=True)[:MOST_SITES]
    assert {site: streak.last for site, streak in past.misses.items()} == {
        site: last[site] for site in latest
    }
    for site in latest:
        assert set(past.after_success(site).misses) == set(latest) - {site}


# One record for all processes.


@pytest.fixture(params=["memory", "redis"])
async def hot(request: pytest.FixtureRequest) -> AsyncIterator[Hot]:
    if request.param == "memory":
        yield MemoryHot()
        return
    redis = RedisHot(request.getfixturevalue("valkey").url, "backoff", deadline=PATIENCE)
    yield redis
    await redis.close()


async def wait(backoff: Backoff, subject: str, site: str = "") -> float:
    return backoff.waits(await backoff.recall(subject, backoff.ask(subject)), site)


async def test_two_processes_count_together(hot: Hot) -> None:
    clock = Clock()
    one, other = (Backoff(hot, free_faults=4, free_misses=2, clock=clock) for _ in range(2))
    for backoff in (one, other, one, other):
        assert await wait(other, "ada") == 0
        await backoff.fault("ada")
    assert [await wait(backoff, "ada") for backoff in (one, other)] == [1.0, 1.0]
    assert await wait(one, "bob") == 0
    clock.now += 0.25
    assert await wait(one, "ada") == 0.75
    await other.fault("ada")  # which had begun before
    assert await wait(one, "ada") == 0.75
    clock.now += 0.75
    assert await wait(one, "ada") == 0
    await one.fault("ada")
    assert await wait(other, "ada") == 2.0
    await other.success("ada")
    assert await wait(one, "ada") == 0
    assert not one.suspects("ada")
    assert not other.suspects("ada")
    assert await hot.get("backoff:ada") is None


async def test_misses_are_a_sites_and_end_with_its_success(hot: Hot) -> None:
    backoff = Backoff(hot, free_faults=3, free_misses=2, clock=Clock())
    await backoff.fault("cyd")
    for _ in range(2):
        await backoff.miss("cyd", "a.example:443")
    await backoff.miss("cyd", "b.example:443")
    assert await wait(backoff, "cyd", "a.example:443") == 1.0
    assert await wait(backoff, "cyd", "b.example:443") == 0
    assert await wait(backoff, "cyd") == 0
    assert await wait(backoff, "dot", "a.example:443") == 0
    await backoff.success("cyd", "b.example:443")
    past = await backoff.recall("cyd", backoff.ask("cyd"))
    assert (past.faults, set(past.misses)) == (Streak(), {"a.example:443"})
    await backoff.success("cyd", "a.example:443")
    assert await backoff.recall("cyd", backoff.ask("cyd")) == NOTHING


async def test_failures_side_by_side_are_all_counted(hot: Hot) -> None:
    backoff = Backoff(hot, free_faults=20, free_misses=5, clock=Clock())
    await asyncio.gather(*(backoff.fault("eve") for _ in range(30)))
    past = await backoff.recall("eve", backoff.ask("eve"))
    assert past.faults == Streak(20, NOON)  # the other ten were on their way when the pause began
    await backoff.success("eve")


async def test_what_cannot_be_read_is_as_nothing(hot: Hot) -> None:
    await hot.put("backoff:fay", b"\x91\xff", 10)
    assert await wait(Backoff(hot, free_faults=1, free_misses=1), "fay") == 0


async def test_without_the_store_each_counts_by_itself(own_valkey: Valkey) -> None:
    hot = RedisHot(own_valkey.url)
    one, other = (Backoff(hot, free_faults=2, free_misses=1, clock=Clock()) for _ in range(2))
    own_valkey.kill()
    for _ in range(2):
        await one.fault("ada")
    await one.miss("ada", "a.example:80")
    assert await wait(one, "ada") == 1.0
    assert await wait(other, "ada") == 0
    await one.success("ada", "a.example:80")
    assert await wait(one, "ada") == 0
    await hot.close()


async def test_a_process_remembers_only_so_many() -> None:
    backoff = Backoff(MemoryHot(), free_faults=1, free_misses=1)
    for number in range(MOST_CALLERS + 5):
        await backoff.fault(str(number))
    assert [backoff.suspects(str(number)) for number in (0, 4, 5, MOST_CALLERS + 4)] == [
        False,
        False,
        True,
        True,
    ]


async def test_switched_off_nothing_is_counted() -> None:
    backoff = Backoff(MemoryHot(), free_faults=0, free_misses=0)
    assert not backoff.is_on
    await backoff.fault("ada")
    await backoff.miss("ada", "a.example:80")
    assert not backoff.suspects("ada")
