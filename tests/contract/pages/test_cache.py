"""The cache of answers, on both implementations of `Hot`: kept for a while, made by one for all who wait."""

import asyncio
import io
import itertools
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.servers.valkey import PATIENCE, Valkey

from gossamer.observe.logs import Log
from gossamer.problems import FETCH_FAILED, Problem, Unavailable
from gossamer.state.cache import Cache, CachedAnswer, NotAdmitted
from gossamer.state.kv.hot import Hot
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.kv.hot_redis import RedisHot

NOON = 1_800_000_000.0
numbers = itertools.count()


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["memory", "redis"])
async def hots(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[], Hot]]:
    """As two processes have them: with Redis each its own, in memory there is only one."""
    made: list[Hot] = []
    prefix = f"cache{next(numbers)}"

    def make() -> Hot:
        if request.param == "redis":
            valkey: Valkey = request.getfixturevalue("valkey")
            made.append(RedisHot(valkey.url, prefix, deadline=PATIENCE))
        elif not made:
            made.append(MemoryHot())
        return made[-1]

    yield make
    for hot in made:
        await hot.close()


@pytest.fixture
def hot(hots: Callable[[], Hot]) -> Hot:
    return hots()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(hot: Hot, clock: Clock) -> Cache:
    return Cache(hot, Log(io.StringIO()), clock)


@pytest.fixture
def other(hots: Callable[[], Hot], clock: Clock) -> Cache:
    return Cache(hots(), Log(io.StringIO()), clock)


class Maker:
    """Makes an answer when it is let, and counts how often it was asked to."""

    def __init__(self, cache: Cache, key: str = "a", *, keeps: bool = True) -> None:
        self.runs = 0
        self.gate = asyncio.Event()
        self.started = asyncio.Event()
        self._cache = cache
        self._key = key
        self._keeps = keeps

    async def __call__(self) -> CachedAnswer:
        self.runs += 1
        self.started.set()
        await self.gate.wait()
        if self._keeps:
            return await self._cache.put(self._key, b"made %d" % self.runs, 60)
        return CachedAnswer(NOON, NOON, b"made %d" % self.runs)


NO_LUCK = Problem(
    FETCH_FAILED, "No luck", hint="Try again.", headers={"Retry-After": "5"}, details={"reason": "refused"}
)


class Failing(Maker):
    def __init__(self, cache: Cache, problem: Problem = NO_LUCK) -> None:
        super().__init__(cache, keeps=False)
        self.problem = problem

    async def __call__(self) -> CachedAnswer:
        await super().__call__()
        raise self.problem


def told(problem: object) -> tuple[object, ...]:
    assert isinstance(problem, Problem), problem
    return problem.kind, problem.detail, problem.hint, problem.headers, problem.members


async def open_maker(cache: Cache, *, keeps: bool = True) -> Maker:
    maker = Maker(cache, keeps=keeps)
    maker.gate.set()
    return maker


async def test_what_was_never_kept_is_none(cache: Cache) -> None:
    assert await cache.get("a") is None


async def test_what_is_kept_comes_back_with_its_times(cache: Cache) -> None:
    kept = await cache.put("a", b"\x00value\xff", 60)
    assert kept == CachedAnswer(NOON, NOON + 60, b"\x00value\xff") == await cache.get("a")
    assert await cache.get("b") is None


async def test_it_is_fresh_until_its_time_is_over(cache: Cache, clock: Clock) -> None:
    await cache.put("a", b"value", 60)
    clock.now += 59.999
    assert await cache.get("a") is not None
    clock.now = NOON + 60
    assert await cache.get("a") is None


@settings(max_examples=100)
@given(
    ttl=st.integers(60, 86_400),
    passed=st.integers(0, 100_000),
    max_age=st.none() | st.integers(0, 100_000),
)
async def test_fresh_is_neither_over_nor_older_than_asked(
    cache: Cache, clock: Clock, ttl: int, passed: int, max_age: int | None
) -> None:
    clock.now = NOON
    await cache.put("a", b"value", ttl)
    clock.now += passed
    expected = passed < ttl and (max_age is None or passed <= max_age)
    assert (await cache.get("a", max_age) is not None) == expected


async def test_the_last_one_kept_counts(cache: Cache) -> None:
    await cache.put("a", b"old", 60)
    await cache.put("a", b"new", 60)
    kept = await cache.get("a")
    assert kept is not None
    assert kept.value == b"new"


@pytest.mark.parametrize("body", [b"", b"\xc1", b"not ours", msgspec.msgpack.encode(["a", "b"])])
async def test_what_is_of_another_shape_is_not_there(cache: Cache, hot: Hot, body: bytes) -> None:
    await hot.keep_page("a", body)
    assert await cache.get("a") is None
    assert await cache.get_or("a", None, await open_maker(cache)) == (
        CachedAnswer(NOON, NOON + 60, b"made 1"),
        False,
    )


async def test_what_is_there_is_not_made(cache: Cache) -> None:
    await cache.put("a", b"value", 60)
    maker = await open_maker(cache)
    kept, hit = await cache.get_or("a", None, maker)
    assert (kept.value, hit, maker.runs) == (b"value", True, 0)


async def test_what_is_not_there_is_made_once_and_then_is(cache: Cache) -> None:
    maker = await open_maker(cache)
    assert [(kept.value, hit) for kept, hit in [await cache.get_or("a", None, maker) for _ in range(3)]] == [
        (b"made 1", False),
        (b"made 1", True),
        (b"made 1", True),
    ]


async def test_what_is_too_old_for_the_asker_is_made_anew(cache: Cache, clock: Clock) -> None:
    await cache.put("a", b"value", 60)
    clock.now += 10
    maker = await open_maker(cache)
    assert (await cache.get_or("a", 10, maker))[1] is True
    kept, hit = await cache.get_or("a", 9, maker)
    assert (kept.value, hit) == (b"made 1", False)


async def test_of_many_at_once_one_makes_it_for_all(cache: Cache, other: Cache) -> None:
    maker = Maker(cache)
    asked = [asyncio.create_task(one.get_or("a", None, maker)) for one in (cache, other) for _ in range(20)]
    await maker.started.wait()
    maker.gate.set()
    answers = await asyncio.gather(*asked)
    assert maker.runs == 1
    assert {kept.value for kept, _ in answers} == {b"made 1"}
    assert sorted(hit for _, hit in answers) == [False] + [True] * 39


async def test_different_keys_do_not_wait_for_each_other(cache: Cache) -> None:
    stuck = Maker(cache)
    waiting = asyncio.create_task(cache.get_or("a", None, stuck))
    await stuck.started.wait()
    kept, hit = await cache.get_or("b", None, await open_maker(cache))
    assert (kept.value, hit) == (b"made 1", False)
    stuck.gate.set()
    await waiting


async def test_what_is_not_to_be_kept_reaches_those_who_waited_and_nobody_else(
    cache: Cache, other: Cache, clock: Clock
) -> None:
    maker = Maker(cache, keeps=False)
    asked = [asyncio.create_task(one.get_or("a", None, maker)) for one in (cache, other, other)]
    await maker.started.wait()
    maker.gate.set()
    assert {kept.value for kept, _ in await asyncio.gather(*asked)} == {b"made 1"}
    clock.now += 0.001
    kept, hit = await other.get_or("a", None, maker)
    assert (kept.value, hit, maker.runs) == (b"made 2", False, 2)


async def test_those_who_waited_share_the_failure_and_who_comes_later_tries_again(
    cache: Cache, other: Cache
) -> None:
    failing, maker = Failing(cache), await open_maker(other)
    asked = [asyncio.create_task(one.get_or("a", None, failing)) for one in (cache, cache, other, other)]
    await failing.started.wait()
    await asyncio.wait(asked, timeout=0.05)
    failing.gate.set()
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert failing.runs == 1
    assert [told(one) for one in ended] == [told(NO_LUCK)] * 4
    kept, hit = await other.get_or("a", None, maker)
    assert (kept.value, hit, maker.runs) == (b"made 1", False, 1)


async def test_that_something_is_away_is_shared_as_that(cache: Cache, other: Cache) -> None:
    failing = Failing(cache, problem=Unavailable("browser", "it has died", retry_after=7))
    asked = [asyncio.create_task(one.get_or("a", None, failing)) for one in (cache, other)]
    await failing.started.wait()
    await asyncio.wait(asked, timeout=0.05)
    failing.gate.set()
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert [isinstance(one, Unavailable) and (one.service, told(one)) for one in ended] == [
        ("browser", told(failing.problem))
    ] * 2


async def test_who_may_not_make_it_is_refused_alone(cache: Cache, other: Cache) -> None:
    maker, gate, refusals = await open_maker(cache), asyncio.Event(), 0

    async def refused() -> CachedAnswer:
        nonlocal refusals
        refusals += 1
        await gate.wait()
        raise NotAdmitted(NO_LUCK)

    first = asyncio.create_task(cache.get_or("a", None, refused))
    while not refusals:
        await asyncio.sleep(0)
    others = [asyncio.create_task(one.get_or("a", None, maker)) for one in (cache, cache, other)]
    await asyncio.wait(others, timeout=0.05)
    gate.set()
    with pytest.raises(Problem, match="No luck"):
        await first
    assert {kept.value for kept, _ in await asyncio.gather(*others)} == {b"made 1"}
    assert (maker.runs, refusals) == (1, 1)


async def test_who_asks_in_another_manner_does_not_share_the_failure(cache: Cache, other: Cache) -> None:
    failing, maker = Failing(cache), await open_maker(other)
    hasty = asyncio.create_task(cache.get_or("a", None, failing, flight="a in a hurry"))
    await failing.started.wait()
    for one in (cache, other):
        assert (await one.get_or("a", None, maker, flight="a"))[0].value == b"made 1"
    failing.gate.set()
    with pytest.raises(Problem):
        await hasty


async def test_one_who_leaves_does_not_end_the_run_of_the_others(cache: Cache, other: Cache) -> None:
    maker = Maker(cache)
    first = asyncio.create_task(cache.get_or("a", None, maker))
    await maker.started.wait()
    others = [asyncio.create_task(one.get_or("a", None, maker)) for one in (cache, other, other)]
    await asyncio.wait(others, timeout=0.05)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    maker.gate.set()
    answers = await asyncio.gather(*others)
    assert maker.runs == 1
    assert {(kept.value, hit) for kept, hit in answers} == {(b"made 1", True)}


async def test_when_all_of_a_process_leave_another_takes_over(cache: Cache, other: Cache) -> None:
    stuck, maker = Maker(cache), Maker(other)
    first = asyncio.create_task(cache.get_or("a", None, stuck))
    await stuck.started.wait()
    others = [asyncio.create_task(other.get_or("a", None, maker)) for _ in range(3)]
    await asyncio.wait(others, timeout=0.05)
    assert maker.runs == 0
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await maker.started.wait()
    maker.gate.set()
    answers = await asyncio.gather(*others)
    assert {kept.value for kept, _ in answers} == {b"made 1"}
    assert sorted(hit for _, hit in answers) == [False, True, True]


async def test_nobody_waits_longer_than_his_patience(cache: Cache, other: Cache) -> None:
    stuck, maker = Maker(cache), await open_maker(other)
    first = asyncio.create_task(cache.get_or("a", None, stuck))
    await stuck.started.wait()
    kept, hit = await other.get_or("a", None, maker, patience=0.05)
    assert (kept.value, hit) == (b"made 1", False)
    stuck.gate.set()
    await first


async def test_without_the_store_everything_is_made_and_nothing_is_said_to_be_kept(
    own_valkey: Valkey, clock: Clock
) -> None:
    hot, stream = RedisHot(own_valkey.url), io.StringIO()
    cache = Cache(hot, Log(stream), clock)
    await cache.put("a", b"value", 60)
    own_valkey.kill()
    maker = await open_maker(cache)
    for run in (1, 2):
        kept, hit = await cache.get_or("a", None, maker)
        assert (kept, hit) == (CachedAnswer(NOON, NOON, b"made %d" % run), False)
    assert stream.getvalue().count("CACHE_ERROR") == 2
    own_valkey.start()
    async with asyncio.timeout(60):
        while not (await cache.get_or("a", None, maker))[1]:
            await asyncio.sleep(0.05)
    await hot.close()
