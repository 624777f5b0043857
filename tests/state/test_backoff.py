"""Growing back-off: the pauses as a pure table, and one record of a caller for all processes."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.servers.valkey import PATIENCE, Valkey

from gossamer.state.kv.hot import Hot
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.kv.hot_redis import RedisHot
from gossamer.state.tenants.backoff import (
    FORGET_SECONDS,
    MAX_CALLERS,
    MAX_PAUSE,
    MAX_STREAKS,
    NOTHING,
    CountedFailure,
    FailureBackoff,
    FailureHistory,
    Fault,
    Streak,
)

NOON = 1_800_000_000.0
GROWING = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0)
FREE = st.integers(1, 20)
GAPS = st.floats(0.0, 2 * FORGET_SECONDS, allow_nan=False)
MALFORMED = CountedFailure(Fault.MALFORMED_REQUEST, "/fetch")


def silent(host: str) -> CountedFailure:
    return CountedFailure(Fault.SILENT_TARGET, f"{host}:443")


LAPSES = st.one_of(
    st.builds(CountedFailure, st.sampled_from(Fault), st.sampled_from(["/fetch", "/extract"])),
    st.builds(
        CountedFailure, st.just(Fault.SILENT_TARGET), st.sampled_from([f"{n}.example:80" for n in range(50)])
    ),
)


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
        assert streak.wait(free, now) <= streak.pause(free) <= MAX_PAUSE
        if waited_for:
            assert streak == before  # it was let in before the pause began
        elif now - before.last >= FORGET_SECONDS:
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
    assert 0 <= streak.wait(free, NOON + gap + wrong_by) <= streak.pause(free) <= MAX_PAUSE


@given(st.integers(0, 10_000), GAPS)
def test_with_none_free_nobody_waits(failures: int, gap: float) -> None:
    assert Streak(failures, NOON).wait(0, NOON + gap) == 0


@given(st.lists(st.tuples(LAPSES, GAPS), max_size=60))
def test_lapses_are_counted_apart_and_the_latest_are_kept(
    failures: list[tuple[CountedFailure, float]],
) -> None:
    past, now, last = FailureHistory(), NOON, dict[CountedFailure, float]()
    for failure, gap in failures:
        now += gap + 100  # longer than any pause
        last[failure] = now
        others = {other: past.streak(other) for other in last if other != failure}
        past = past.after(failure, 5, now)
        for other, streak in others.items():
            assert past.streak(other) in (streak, Streak())  # as it was, or forgotten
    latest = sorted(last, key=lambda failure: last[failure], reverse=True)[:MAX_STREAKS]
    assert {name: streak.last for name, streak in past.streaks.items()} == {
        failure.name: last[failure] for failure in latest
    }
    for failure in latest:
        assert past.has(failure.fault)
        assert set(past.without([failure]).streaks) == {one.name for one in latest if one != failure}


# One record for all processes.


@pytest.fixture(params=["memory", "redis"])
async def hot(request: pytest.FixtureRequest) -> AsyncIterator[Hot]:
    if request.param == "memory":
        yield MemoryHot()
        return
    redis = RedisHot(request.getfixturevalue("valkey").url, "backoff", deadline=PATIENCE)
    yield redis
    await redis.close()


async def wait(backoff: FailureBackoff, subject: str, failure: CountedFailure = MALFORMED) -> float:
    return backoff.waits(await backoff.recall(subject, backoff.ask(subject)), failure)


async def test_two_processes_count_together(hot: Hot) -> None:
    clock = Clock()
    one, other = (FailureBackoff(hot, free_faults=4, free_misses=2, clock=clock) for _ in range(2))
    for backoff in (one, other, one, other):
        assert await wait(other, "ada") == 0
        await backoff.fail("ada", MALFORMED)
    assert [await wait(backoff, "ada") for backoff in (one, other)] == [1.0, 1.0]
    assert await wait(one, "bob") == 0
    clock.now += 0.25
    assert await wait(one, "ada") == 0.75
    await other.fail("ada", MALFORMED)  # which had begun before
    assert await wait(one, "ada") == 0.75
    clock.now += 0.75
    assert await wait(one, "ada") == 0
    await one.fail("ada", MALFORMED)
    assert await wait(other, "ada") == 2.0
    await other.succeed("ada", [MALFORMED])
    assert await wait(one, "ada") == 0
    assert await hot.get("backoff:ada") is None


async def test_each_lapse_is_paused_by_itself_and_ended_by_itself(hot: Hot) -> None:
    backoff = FailureBackoff(hot, free_faults=2, free_misses=2, clock=Clock())
    failures = [
        MALFORMED,
        CountedFailure(Fault.MALFORMED_REQUEST, "/extract"),
        CountedFailure(Fault.REFUSED_URL),
        CountedFailure(Fault.FORBIDDEN, "/fetch"),
        CountedFailure(Fault.REFUSED_KEY),
        silent("a.example"),
        silent("b.example"),
    ]
    for paused in failures:
        for _ in range(2):
            await backoff.fail("cyd", paused)
        assert [await wait(backoff, "cyd", failure) for failure in failures] == [
            1.0 if failure == paused else 0 for failure in failures
        ]
        await backoff.succeed("cyd", [failure for failure in failures if failure != paused])
        assert await wait(backoff, "cyd", paused) == 1.0
        await backoff.succeed("cyd", [paused])
        assert await backoff.recall("cyd", backoff.ask("cyd")) == NOTHING


async def test_targets_and_faults_have_allowances_of_their_own(hot: Hot) -> None:
    backoff = FailureBackoff(hot, free_faults=3, free_misses=1, clock=Clock())
    await backoff.fail("dot", MALFORMED)
    await backoff.fail("dot", silent("a.example"))
    assert [await wait(backoff, "dot", failure) for failure in (MALFORMED, silent("a.example"))] == [0, 1.0]
    assert await wait(backoff, "eli", silent("a.example")) == 0  # somebody else
    await backoff.succeed("dot", [MALFORMED, silent("a.example")])


async def test_failures_side_by_side_are_all_counted(hot: Hot) -> None:
    backoff = FailureBackoff(hot, free_faults=20, free_misses=5, clock=Clock())
    await asyncio.gather(*(backoff.fail("eve", MALFORMED) for _ in range(30)))
    past = await backoff.recall("eve", backoff.ask("eve"))
    assert past.streak(MALFORMED) == Streak(20, NOON)  # the other ten were on their way when the pause began
    await backoff.succeed("eve", [MALFORMED])


async def test_what_cannot_be_read_is_as_nothing(hot: Hot) -> None:
    await hot.put("backoff:fay", b"\x91\xff", 10)
    assert await wait(FailureBackoff(hot, free_faults=1, free_misses=1), "fay") == 0


async def test_without_the_store_each_counts_by_itself(own_valkey: Valkey) -> None:
    hot = RedisHot(own_valkey.url)
    one, other = (FailureBackoff(hot, free_faults=2, free_misses=1, clock=Clock()) for _ in range(2))
    own_valkey.kill()
    for _ in range(2):
        await one.fail("ada", MALFORMED)
    assert await wait(one, "ada") == 1.0
    assert await wait(other, "ada") == 0
    await one.succeed("ada", [MALFORMED])
    assert await wait(one, "ada") == 0
    await hot.close()


async def test_a_process_remembers_only_so_many() -> None:
    """Alone, it asks nobody about the others."""
    backoff = FailureBackoff(MemoryHot(), free_faults=1, free_misses=1, alone=True, clock=Clock())
    for number in range(MAX_CALLERS + 5):
        await backoff.fail(str(number), MALFORMED)
    remembered = [await wait(backoff, str(number)) > 0 for number in (0, 4, 5, MAX_CALLERS + 4)]
    assert remembered == [False, False, True, True]


async def test_switched_off_nothing_is_counted() -> None:
    backoff = FailureBackoff(MemoryHot(), free_faults=0, free_misses=0)
    assert not backoff.is_on
    for failure in (MALFORMED, silent("a.example")):
        await backoff.fail("ada", failure)
        assert await wait(backoff, "ada", failure) == 0
