"""The contract of `Hot`, held by both implementations. Redis here is a real Valkey."""

import asyncio
import itertools
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.servers.questions import asked
from tests.servers.valkey import PATIENCE, Valkey

from gossamer.state.kv.hot import Claim, Hot, Window
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.kv.hot_redis import RedisHot

NOON = 1_800_000_000.0
NOON_IN_MILLISECONDS = 1_800_000_000_000
SOON = 5.0  # seconds within which what must happen has happened
FOREVER = 60.0

numbers = itertools.count()
property_test = settings(max_examples=200)

MakeHot = Callable[..., Hot]


@pytest.fixture(params=["memory", "redis"])
async def make_hot(request: pytest.FixtureRequest) -> AsyncIterator[MakeHot]:
    made: list[Hot] = []

    def make(max_pages: int = 1_000, max_page_bytes: int = 256_000_000) -> Hot:
        hot: Hot
        if request.param == "memory":
            hot = MemoryHot(max_pages, max_page_bytes)
        else:
            valkey: Valkey = request.getfixturevalue("valkey")
            hot = RedisHot(valkey.url, f"test{next(numbers)}", max_pages, max_page_bytes, deadline=PATIENCE)
        made.append(hot)
        return hot

    yield make
    for hot in made:
        await hot.close()


@pytest.fixture
def hot(make_hot: MakeHot) -> Hot:
    return make_hot()


async def eventually(happens: Callable[[], Awaitable[Any]]) -> None:
    """For what only the store's own clock brings about."""
    async with asyncio.timeout(SOON):
        while not await happens():
            await asyncio.sleep(0.005)


async def until_waiting(*tasks: asyncio.Task[Any]) -> None:
    """The tasks had every chance to return at once, and did not."""
    done, _ = await asyncio.wait(tasks, timeout=0.05)
    assert not done


# Short-lived keys.


async def test_a_key_that_was_never_put_is_none(hot: Hot) -> None:
    assert await hot.get("a") is None


async def test_a_key_gives_back_its_bytes(hot: Hot) -> None:
    value = bytes(range(256)) + b"\r\n"
    assert await hot.put("a", value, FOREVER) is True
    assert await hot.get("a") == value


async def test_after_clear_nothing_is_known(make_hot: MakeHot) -> None:
    hot, other = make_hot(), make_hot()
    for each in (hot, other):
        await each.put("key", b"value", FOREVER)
        await each.keep_page("page", b"body", edition=5)
        await each.drop_page("gone", edition=5)
    await hot.clear()
    assert await hot.get("key") is None
    assert await hot.pages() == (0, 0)
    assert await hot.keep_page("gone", b"body", edition=4)  # no fence stands any more
    assert await other.get("key") == b"value"


async def test_an_empty_value_is_a_value(hot: Hot) -> None:
    await hot.put("a", b"", FOREVER)
    assert await hot.get("a") == b""
    assert await hot.put("a", b"x", FOREVER, only_new=True) is False


async def test_put_replaces_value_and_ttl(hot: Hot) -> None:
    await hot.put("a", b"1", 0.01)
    await hot.put("a", b"2", FOREVER)
    await hot.put("brief", b"", 0.02)
    await eventually(lambda: _is_gone(hot, "brief"))
    assert await hot.get("a") == b"2"


async def test_only_new_leaves_what_is_there(hot: Hot) -> None:
    assert await hot.put("a", b"1", FOREVER, only_new=True) is True
    assert await hot.put("a", b"2", FOREVER, only_new=True) is False
    assert await hot.get("a") == b"1"


async def test_only_new_takes_the_place_of_what_has_expired(hot: Hot) -> None:
    await hot.put("a", b"1", 0.01)
    await eventually(lambda: hot.put("a", b"2", FOREVER, only_new=True))
    assert await hot.get("a") == b"2"


async def test_a_key_is_gone_after_its_ttl(hot: Hot) -> None:
    await hot.put("a", b"1", 0.01)
    await eventually(lambda: _is_gone(hot, "a"))
    assert await hot.drop("a") == 0


async def test_drop_counts_what_was_there(hot: Hot) -> None:
    for key in ("a", "b", "c"):
        await hot.put(key, b"x", FOREVER)
    assert await hot.drop("a", "b", "nothing") == 2
    assert [await hot.get(key) for key in ("a", "b", "c")] == [None, None, b"x"]
    assert await hot.drop() == 0
    assert await hot.drop("c", "c") == 1


async def test_only_one_of_many_puts_something_new(hot: Hot) -> None:
    answers = await asyncio.gather(*(hot.put("a", b"x", FOREVER, only_new=True) for _ in range(100)))
    assert sum(answers) == 1


async def test_the_kinds_do_not_share_names(hot: Hot) -> None:
    await hot.put("a", b"key", FOREVER)
    await hot.keep_page("a", b"page")
    mine = await hot.claim("a", FOREVER)
    await hot.take([Window("a", 1, 60)])
    assert (await hot.get("a"), await hot.page("a")) == (b"key", b"page")
    assert mine.token is not None
    assert await hot.drop("a") == 1
    assert await hot.page("a") == b"page"


async def _is_gone(hot: Hot, key: str) -> bool:
    return await hot.get(key) is None


# Sliding windows.


async def test_a_window_admits_its_limit_and_no_more(hot: Hot) -> None:
    window = Window("w", 3, 60)
    tallies = [(await hot.take([window], now=NOON + i))[0] for i in range(5)]
    assert [tally.allowed for tally in tallies] == [True, True, True, False, False]
    assert [tally.used for tally in tallies] == [1, 2, 3, 3, 3]
    assert [tally.remaining for tally in tallies] == [2, 1, 0, 0, 0]
    assert {tally.reset_at for tally in tallies} == {NOON + 60}
    assert {tally.limit for tally in tallies} == {3}


async def test_a_unit_leaves_after_exactly_the_length_of_the_window(hot: Hot) -> None:
    window = Window("w", 1, 60)
    await hot.take([window], now=NOON)
    (before,) = await hot.take([window], now=NOON + 59.999999)
    (after,) = await hot.take([window], now=NOON + 60)
    assert (before.allowed, after.allowed) == (False, True)
    assert after.reset_at == NOON + 120


async def test_windows_slide_and_do_not_start_anew(hot: Hot) -> None:
    window = Window("w", 2, 60)
    await hot.take([window], now=NOON)
    await hot.take([window], now=NOON + 50)
    assert (await hot.take([window], now=NOON + 60))[0].allowed
    assert not (await hot.take([window], now=NOON + 109))[0].allowed
    assert (await hot.take([window], now=NOON + 110))[0].allowed


async def test_all_windows_are_counted_or_none(hot: Hot) -> None:
    wide, narrow = Window("wide", 10, 60), Window("narrow", 1, 60)
    assert all(tally.allowed for tally in await hot.take([wide, narrow], now=NOON))
    first, second = await hot.take([wide, narrow], now=NOON)
    assert (first.allowed, first.used) == (True, 1)
    assert (second.allowed, second.used) == (False, 1)


async def test_a_cost_of_zero_looks(hot: Hot) -> None:
    look, take = Window("w", 1, 60, cost=0), Window("w", 1, 60)
    (empty,) = await hot.take([look], now=NOON)
    assert (empty.allowed, empty.used, empty.reset_at) == (True, 0, NOON)
    await hot.take([take], now=NOON)
    (full,) = await hot.take([look], now=NOON + 1)
    assert (full.allowed, full.used, full.remaining, full.reset_at) == (True, 1, 0, NOON + 60)


async def test_a_cost_is_counted_whole_or_not(hot: Hot) -> None:
    assert (await hot.take([Window("w", 5, 60, cost=4)], now=NOON))[0].used == 4
    (refused,) = await hot.take([Window("w", 5, 60, cost=2)], now=NOON)
    assert (refused.allowed, refused.used, refused.remaining) == (False, 4, 1)
    assert (await hot.take([Window("w", 5, 60, cost=1)], now=NOON))[0].allowed


async def test_a_large_cost_is_counted(hot: Hot) -> None:
    window = Window("w", 25_000, 60, cost=12_345)
    (tally,) = await hot.take([window], now=NOON)
    assert (await hot.take([window], now=NOON + 1))[0].used == 24_690
    await hot.give_back(window, tally.stamp)
    assert (await hot.take([Window("w", 25_000, 60, cost=0)], now=NOON + 1))[0].used == 12_345


async def test_a_limit_of_zero_admits_nothing(hot: Hot) -> None:
    (tally,) = await hot.take([Window("w", 0, 60)], now=NOON)
    assert (tally.allowed, tally.used, tally.reset_at) == (False, 0, NOON)


async def test_the_same_key_is_counted_apart_for_each_length(hot: Hot) -> None:
    minute, hour = Window("w", 1, 60), Window("w", 2, 3600)
    await hot.take([minute, hour], now=NOON)
    assert all(tally.allowed for tally in await hot.take([minute, hour], now=NOON + 60))
    short, long = await hot.take([minute, hour], now=NOON + 120)
    assert (short.allowed, long.allowed, long.used) == (True, False, 2)


async def test_no_windows_have_no_tallies(hot: Hot) -> None:
    assert await hot.take([]) == []


async def test_a_window_is_not_named_twice(hot: Hot) -> None:
    with pytest.raises(ValueError, match="twice"):
        await hot.take([Window("w", 1, 60), Window("w", 1, 60)])


async def test_what_is_given_back_can_be_taken_again(hot: Hot) -> None:
    window = Window("w", 2, 60)
    (first,) = await hot.take([window], now=NOON)
    await hot.take([window], now=NOON + 1)
    await hot.give_back(window, first.stamp)
    (again,) = await hot.take([window], now=NOON + 2)
    assert (again.allowed, again.reset_at) == (True, NOON + 61)
    assert not (await hot.take([window], now=NOON + 2))[0].allowed


async def test_giving_back_takes_only_its_own(hot: Hot) -> None:
    window = Window("w", 9, 60, cost=2)
    (tally,) = await hot.take([window], now=NOON)
    await hot.take([window], now=NOON)
    await hot.give_back(window, tally.stamp)
    assert (await hot.take([Window("w", 9, 60, cost=0)], now=NOON))[0].used == 2
    await hot.give_back(window, tally.stamp + 1)
    await hot.give_back(window, tally.stamp - 1)
    await hot.give_back(window, 0)
    assert (await hot.take([Window("w", 9, 60, cost=0)], now=NOON))[0].used == 2


async def test_giving_back_too_late_is_no_error(hot: Hot) -> None:
    window = Window("w", 1, 60)
    (tally,) = await hot.take([window], now=NOON)
    await hot.take([window], now=NOON + 60)
    await hot.give_back(window, tally.stamp)
    await hot.give_back(Window("never", 1, 60), tally.stamp)
    assert not (await hot.take([window], now=NOON + 60))[0].allowed


async def test_the_clock_is_the_stores(hot: Hot) -> None:
    before = time.time()
    (tally,) = await hot.take([Window("w", 1, 60)])
    assert before - 1 <= tally.stamp / 1_000_000 <= time.time() + 1
    assert tally.reset_at == pytest.approx(tally.stamp / 1_000_000 + 60, abs=1e-6)


async def test_a_window_opens_again_by_the_stores_own_clock(hot: Hot) -> None:
    window = Window("w", 1, 1)
    (first,) = await hot.take([window])
    taken = [first]

    async def again() -> bool:
        taken[:] = await hot.take([window])
        return taken[0].allowed

    await eventually(again)
    assert taken[0].stamp - first.stamp >= 1_000_000


async def test_a_clock_that_steps_back_neither_locks_nor_opens_the_window(hot: Hot) -> None:
    window = Window("w", 2, 60)
    await hot.take([window], now=NOON)
    await hot.take([window], now=NOON + 10)
    back = NOON - 86_400
    (refused,) = await hot.take([window], now=back)
    assert (refused.allowed, refused.reset_at) == (False, back + 50)
    assert not (await hot.take([window], now=back + 49))[0].allowed
    assert (await hot.take([window], now=back + 50))[0].allowed
    assert not (await hot.take([window], now=back + 59))[0].allowed
    assert (await hot.take([window], now=back + 60))[0].allowed


async def test_many_at_once_get_exactly_the_limit(hot: Hot) -> None:
    windows = [Window("a", 70, 60), Window("b", 50, 60)]
    answers = await asyncio.gather(*(hot.take(windows) for _ in range(300)))
    assert sum(all(tally.allowed for tally in tallies) for tallies in answers) == 50
    a, b = await hot.take([Window("a", 70, 60, cost=0), Window("b", 50, 60, cost=0)])
    assert (a.used, b.used) == (50, 50)


LIMITS = {("a", 1): 3, ("a", 3): 5, ("b", 2): 4}
asks = st.tuples(
    # Microseconds since the one before. Few values, so that units often meet the edge of a window.
    st.sampled_from([0, 1, 500_000, 499_999, 1_000_000, 500_000, 3_000_000]),
    st.dictionaries(st.sampled_from(sorted(LIMITS)), st.sampled_from([1, 2, 0, 4]), min_size=1),
    st.sampled_from([False, False, False, True]),  # give it back at once
)


@property_test
@given(sequence=st.lists(asks, min_size=4, max_size=30))
async def test_windows_do_what_a_plain_model_does(
    hot: Hot, sequence: list[tuple[int, dict[tuple[str, int], int], bool]]
) -> None:
    example = next(numbers)
    model: dict[tuple[str, int], list[int]] = defaultdict(list)
    now = round(NOON * 1_000_000)
    for step, costs, gives_back in sequence:
        now += step
        windows = [Window(f"{example}{key}", LIMITS[key, s], s, cost) for (key, s), cost in costs.items()]
        inside = {name: [t for t in model[name] if t > now - name[1] * 1_000_000] for name in costs}
        room = {name: len(inside[name]) + cost <= LIMITS[name] for name, cost in costs.items()}
        counted = all(room.values())
        tallies = await hot.take(windows, now=now / 1_000_000)
        for window, tally, (name, cost) in zip(windows, tallies, costs.items(), strict=True):
            units = inside[name] + [now] * cost * counted
            assert tally.allowed == room[name]
            assert tally.used == len(units) <= tally.limit
            assert tally.stamp == now
            expected = units[0] / 1_000_000 + window.seconds if units else now / 1_000_000
            assert tally.reset_at == pytest.approx(expected, abs=1e-6)
            if counted and gives_back:
                await hot.give_back(window, tally.stamp)
            elif counted:
                model[name] += [now] * cost
    for (key, seconds), units in model.items():
        for last in units:
            in_window = [unit for unit in units if last - seconds * 1_000_000 < unit <= last]
            assert len(in_window) <= LIMITS[key, seconds]


# Questions: windows, a key and a page at once.


async def test_a_question_counts_and_looks_each_time_it_is_asked(hot: Hot) -> None:
    await hot.take([Window("first", 1, 60)])
    ask = hot.hit_question([Window("w", 2, 60)], "k", "p", 4)
    facts = await asked(ask)
    assert (facts.tallies[0].used, facts.key_record, facts.page_start or b"") == (1, None, b"")
    await hot.put("k", b"value", FOREVER)
    await hot.keep_page("p", b"12345678")
    facts = await asked(ask)
    assert (facts.tallies[0].used, facts.key_record, facts.page_start) == (2, b"value", b"1234")
    facts = await asked(ask)
    assert (facts.tallies[0].allowed, facts.tallies[0].used) == (False, 2)
    assert (facts.key_record, facts.page_start) == (b"value", b"1234")
    (tally,) = await hot.take([Window("w", 2, 60, cost=0)])
    assert tally.used == 2
    await hot.drop("k")
    await hot.drop_page("p")
    facts = await asked(ask)
    assert (facts.key_record, facts.page_start or b"") == (None, b"")


async def test_a_question_counts_in_all_windows_or_in_none(hot: Hot) -> None:
    await hot.take([Window("first", 1, 60)])
    ask = hot.hit_question([Window("wide", 9, 60), Window("narrow", 1, 60)], "k", "p", 4)
    answers = [await asked(ask) for _ in range(2)]
    assert [[(each.allowed, each.used) for each in facts.tallies] for facts in answers] == [
        [(True, 1), (True, 1)],
        [(True, 1), (False, 1)],
    ]


async def test_a_page_that_is_asked_about_is_in_use(make_hot: MakeHot) -> None:
    hot = make_hot(max_pages=2)
    await hot.keep_page("a", b"a")
    await hot.keep_page("b", b"b")
    await hot.take([Window("first", 1, 60)])
    await asked(hot.hit_question([Window("w", 9, 60)], "k", "a", 1))
    await hot.keep_page("c", b"c")
    assert [await hot.page(key, touch=False) for key in ("a", "b", "c")] == [b"a", None, b"c"]


# Claims.


async def test_one_of_many_gets_the_work(hot: Hot) -> None:
    claims = await asyncio.gather(*(hot.claim("job", FOREVER) for _ in range(100)))
    winners = [claim for claim in claims if claim.token is not None]
    assert len(winners) == 1
    assert all(claim.value is None for claim in claims)


async def test_what_is_settled_is_given_to_all(hot: Hot) -> None:
    mine = await hot.claim("job", FOREVER)
    assert await hot.settle(mine, b"\x00answer", FOREVER) is True
    theirs = await hot.claim("job", FOREVER)
    assert (theirs.token, theirs.value) == (None, b"\x00answer")


async def test_an_empty_answer_is_an_answer(hot: Hot) -> None:
    await hot.settle(await hot.claim("job", FOREVER), b"", FOREVER)
    assert (await hot.claim("job", FOREVER)).value == b""


async def test_what_is_released_goes_to_the_next(hot: Hot) -> None:
    first = await hot.claim("job", FOREVER)
    await hot.release(first)
    second = await hot.claim("job", FOREVER)
    assert second.token not in (None, first.token)
    assert not await hot.settle(first, b"late", FOREVER)
    assert await hot.settle(second, b"right", FOREVER)


async def test_what_has_expired_goes_to_the_next_and_the_first_can_do_no_more(hot: Hot) -> None:
    first = await hot.claim("job", 0.01)
    second = await _claimed(hot, "job")
    assert not await hot.renew(first, FOREVER)
    assert not await hot.settle(first, b"late", FOREVER)
    await hot.release(first)
    assert (await hot.claim("job", FOREVER)).token is None, "a late release took the claim from its holder"
    assert await hot.settle(second, b"right", FOREVER)
    assert (await hot.claim("job", FOREVER)).value == b"right"


async def test_an_expired_holder_can_do_nothing_even_if_nobody_followed(hot: Hot) -> None:
    mine = await hot.claim("job", 0.01)
    await asyncio.wait_for(hot.wait("job", FOREVER), SOON)
    assert not await hot.renew(mine, FOREVER)
    assert not await hot.settle(mine, b"late", FOREVER)
    assert (await hot.claim("job", FOREVER)).token is not None


async def test_what_is_settled_can_not_be_changed(hot: Hot) -> None:
    mine = await hot.claim("job", FOREVER)
    await hot.settle(mine, b"answer", FOREVER)
    assert not await hot.settle(mine, b"other", FOREVER)
    assert not await hot.renew(mine, FOREVER)
    await hot.release(mine)
    assert (await hot.claim("job", FOREVER)).value == b"answer"


async def test_an_answer_is_forgotten_after_its_ttl(hot: Hot) -> None:
    await hot.settle(await hot.claim("job", FOREVER), b"answer", 0.01)
    assert (await _claimed(hot, "job")).token is not None


async def test_renewing_keeps_the_work(hot: Hot) -> None:
    mine = await hot.claim("job", 0.2)
    assert await hot.renew(mine, FOREVER)
    await hot.put("brief", b"", 0.25)
    await eventually(lambda: _is_gone(hot, "brief"))
    assert (await hot.claim("job", FOREVER)).token is None


async def test_who_has_no_token_can_do_nothing(hot: Hot) -> None:
    mine = await hot.claim("job", FOREVER)
    theirs = await hot.claim("job", FOREVER)
    assert not await hot.renew(theirs, FOREVER)
    assert not await hot.settle(theirs, b"wrong", FOREVER)
    await hot.release(theirs)
    await hot.release(Claim("nothing"))
    assert await hot.claim("job", FOREVER) == Claim("job", holder=mine.token)


@property_test
@given(
    actions=st.lists(st.tuples(st.sampled_from(["claim", "renew", "settle", "release"]), st.integers(0, 2)))
)
async def test_claims_do_what_a_plain_model_does(hot: Hot, actions: list[tuple[str, int]]) -> None:
    key = f"job{next(numbers)}"
    claims = [Claim(key)] * 3
    holder: int | None = None
    value: bytes | None = None
    for action, actor in actions:
        holds = holder == actor
        match action:
            case "claim":
                claim = await hot.claim(key, FOREVER)
                assert claim.value == value
                assert (claim.token is not None) == (holder is None and value is None)
                if claim.token is not None:
                    claims[actor], holder = claim, actor
            case "renew":
                assert await hot.renew(claims[actor], FOREVER) == holds
            case "settle":
                assert await hot.settle(claims[actor], bytes([actor]), FOREVER) == holds
                value, holder = (bytes([actor]), None) if holds else (value, holder)
            case "release":
                await hot.release(claims[actor])
                holder = None if holds else holder


async def test_all_who_wait_are_woken_when_it_is_settled(hot: Hot) -> None:
    mine = await hot.claim("job", FOREVER)
    waiting = [asyncio.create_task(hot.wait("job", FOREVER)) for _ in range(50)]
    await until_waiting(*waiting)
    await hot.settle(mine, b"answer", FOREVER)
    await asyncio.wait_for(asyncio.gather(*waiting), SOON)
    claims = await asyncio.gather(*(hot.claim("job", FOREVER) for _ in waiting))
    assert {claim.value for claim in claims} == {b"answer"}


async def test_who_waits_is_woken_when_it_is_released(hot: Hot) -> None:
    mine = await hot.claim("job", FOREVER)
    waiting = asyncio.create_task(hot.wait("job", FOREVER))
    await until_waiting(waiting)
    await hot.release(mine)
    await asyncio.wait_for(waiting, SOON)


async def test_who_waits_is_woken_when_it_expires(hot: Hot) -> None:
    await hot.claim("job", 0.05)
    await asyncio.wait_for(hot.wait("job", FOREVER), SOON)
    assert (await hot.claim("job", FOREVER)).token is not None


async def test_who_waits_stays_when_it_is_renewed(hot: Hot) -> None:
    mine = await hot.claim("job", 0.1)
    waiting = asyncio.create_task(hot.wait("job", FOREVER))
    assert await hot.renew(mine, FOREVER)
    await hot.put("brief", b"", 0.2)
    await eventually(lambda: _is_gone(hot, "brief"))
    assert not waiting.done()
    await hot.release(mine)
    await asyncio.wait_for(waiting, SOON)


async def test_nobody_waits_for_what_is_not_running(hot: Hot) -> None:
    await asyncio.wait_for(hot.wait("job", FOREVER), SOON)
    await hot.settle(await hot.claim("job", FOREVER), b"answer", FOREVER)
    await asyncio.wait_for(hot.wait("job", FOREVER), SOON)


async def test_waiting_ends_with_its_timeout(hot: Hot) -> None:
    mine = await hot.claim("job", FOREVER)
    started = time.monotonic()
    await hot.wait("job", 0.05)
    await hot.wait("job", 0)
    assert 0.045 <= time.monotonic() - started < SOON
    assert await hot.renew(mine, FOREVER)


async def test_waiting_can_be_cancelled(hot: Hot) -> None:
    mine = await hot.claim("job", FOREVER)
    given_up = asyncio.create_task(hot.wait("job", FOREVER))
    waiting = asyncio.create_task(hot.wait("job", FOREVER))
    await until_waiting(given_up, waiting)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    await hot.settle(mine, b"answer", FOREVER)
    await asyncio.wait_for(waiting, SOON)


async def test_no_wake_up_is_missed(hot: Hot) -> None:
    """However a settling falls among the steps of a waiting, the waiting ends."""

    async def work(key: str, steps: int) -> bytes | None:
        mine = await hot.claim(key, FOREVER)
        waiting = asyncio.create_task(hot.wait(key, FOREVER))
        for _ in range(steps):
            await asyncio.sleep(0)
        await hot.settle(mine, b"answer", FOREVER)
        await asyncio.wait_for(waiting, SOON)
        return (await hot.claim(key, FOREVER)).value

    answers = await asyncio.gather(*(work(f"job{i}", i % 20) for i in range(200)))
    assert set(answers) == {b"answer"}


async def test_a_hundred_do_the_work_once(hot: Hot) -> None:
    done = 0

    async def ask() -> bytes:
        nonlocal done
        while True:
            claim = await hot.claim("job", FOREVER)
            if claim.value is not None:
                return claim.value
            if claim.token is not None:
                done += 1
                if done < 3:  # the first two fail and pass it on
                    await hot.release(claim)
                else:
                    await hot.settle(claim, b"answer", FOREVER)
            else:
                await hot.wait("job", FOREVER)

    answers = await asyncio.wait_for(asyncio.gather(*(ask() for _ in range(100))), SOON)
    assert set(answers) == {b"answer"}
    assert done == 3


async def _claimed(hot: Hot, key: str) -> Claim:
    """The claim on `key`, once what is there has expired."""
    claims: list[Claim] = []

    async def claimed() -> bool:
        claims[:] = [await hot.claim(key, FOREVER)]
        return claims[0].token is not None

    await eventually(claimed)
    return claims[0]


# Pages.


async def test_a_page_gives_back_its_bytes(hot: Hot) -> None:
    body = bytes(range(256)) * 1000
    assert await hot.page("a") is None
    await hot.keep_page("a", body)
    await hot.keep_page("empty", b"")
    assert (await hot.page("a"), await hot.page("empty")) == (body, b"")
    assert await hot.pages() == (2, len(body))


async def test_a_page_is_replaced_and_its_bytes_counted_once(hot: Hot) -> None:
    await hot.keep_page("a", b"12345")
    await hot.keep_page("a", b"123")
    assert await hot.page("a") == b"123"
    assert await hot.pages() == (1, 3)


async def test_a_dropped_page_is_gone(hot: Hot) -> None:
    await hot.keep_page("a", b"12345")
    assert await hot.drop_page("a") is True
    assert await hot.drop_page("a") is False
    assert await hot.page("a") is None
    assert await hot.pages() == (0, 0)


async def test_the_least_recently_used_page_leaves_by_count(make_hot: MakeHot) -> None:
    hot = make_hot(max_pages=3)
    for key in ("a", "b", "c"):
        await hot.keep_page(key, key.encode())
    await hot.page("a")
    await hot.keep_page("b", b"again")
    await hot.keep_page("d", b"d")
    assert [await hot.page(key) for key in ("a", "b", "c", "d")] == [b"a", b"again", None, b"d"]
    assert await hot.pages() == (3, 7)


async def test_the_least_recently_used_pages_leave_by_bytes(make_hot: MakeHot) -> None:
    hot = make_hot(max_page_bytes=100)
    for key in ("a", "b", "c"):
        await hot.keep_page(key, b"x" * 30)
    await hot.page("a")
    await hot.keep_page("d", b"x" * 60)
    assert [await hot.page(key) is not None for key in ("a", "b", "c", "d")] == [True, False, False, True]
    assert await hot.pages() == (2, 90)


async def test_a_page_may_fill_the_room_but_not_exceed_it(make_hot: MakeHot) -> None:
    hot = make_hot(max_page_bytes=100)
    await hot.keep_page("a", b"x" * 50)
    await hot.keep_page("full", b"x" * 100)
    assert await hot.pages() == (1, 100)
    await hot.keep_page("huge", b"x" * 101)
    assert await hot.page("huge") is None
    assert await hot.pages() == (1, 100)


async def test_a_page_that_grew_too_large_takes_the_old_one_with_it(make_hot: MakeHot) -> None:
    hot = make_hot(max_page_bytes=100)
    await hot.keep_page("a", b"old")
    await hot.keep_page("a", b"x" * 101)
    assert await hot.page("a") is None
    assert await hot.pages() == (0, 0)


async def test_of_a_page_only_the_start(hot: Hot) -> None:
    await hot.keep_page("a", b"12345")
    assert [await hot.page("a", start=start) for start in (1, 3, 9)] == [b"1", b"123", b"12345"]
    assert not await hot.page("b", start=3)


async def test_asking_for_the_start_counts_as_a_use_and_looking_does_not(make_hot: MakeHot) -> None:
    hot = make_hot(max_pages=2)
    await hot.keep_page("a", b"a")
    await hot.keep_page("b", b"b")
    await hot.page("a", start=1)
    await hot.page("b", touch=False)
    await hot.keep_page("c", b"c")
    assert [await hot.page(key) for key in ("a", "b", "c")] == [b"a", None, b"c"]


async def test_an_edition_gives_way_to_none_that_is_older(hot: Hot) -> None:
    assert await hot.keep_page("a", b"second", edition=2)
    assert not await hot.keep_page("a", b"first", edition=1)
    assert await hot.page("a") == b"second"
    assert await hot.keep_page("a", b"again", edition=2)
    assert await hot.keep_page("a", b"third", edition=NOON_IN_MILLISECONDS)
    assert await hot.keep_page("a", b"fourth", edition=NOON_IN_MILLISECONDS + 1)
    assert not await hot.keep_page("a", b"third", edition=NOON_IN_MILLISECONDS)
    assert await hot.page("a") == b"fourth"
    assert await hot.pages() == (1, 6)


async def test_an_edition_that_was_dropped_is_not_kept_again_but_a_newer_one_is(hot: Hot) -> None:
    await hot.keep_page("a", b"page", edition=5)
    assert not await hot.drop_page("a", edition=4)
    assert await hot.page("a") == b"page"
    assert await hot.drop_page("a", edition=6)
    assert not await hot.drop_page("a", edition=3)
    for edition in (3, 5, 6):
        assert not await hot.keep_page("a", b"late", edition=edition)
    assert await hot.page("a") is None
    assert await hot.pages() == (0, 0)
    assert await hot.keep_page("a", b"new", edition=7)
    assert await hot.page("a") == b"new"
    assert await hot.keep_page("b", b"others are free", edition=1)


async def test_what_was_pushed_out_may_come_back(make_hot: MakeHot) -> None:
    hot = make_hot(max_pages=1)
    await hot.keep_page("a", b"a", edition=5)
    await hot.keep_page("b", b"b", edition=5)
    assert await hot.page("a") is None
    assert await hot.keep_page("a", b"older", edition=4)
    assert await hot.page("a") == b"older"


async def test_an_edition_that_is_too_large_takes_the_older_one_with_it(make_hot: MakeHot) -> None:
    hot = make_hot(max_page_bytes=100)
    await hot.keep_page("a", b"old", edition=1)
    assert not await hot.keep_page("a", b"x" * 101, edition=2)
    assert await hot.page("a") is None
    await hot.keep_page("a", b"new", edition=3)
    assert not await hot.keep_page("a", b"x" * 101, edition=2)
    assert await hot.page("a") == b"new"


page_actions = st.tuples(
    st.sampled_from(["keep", "page", "drop"]), st.sampled_from("abcde"), st.integers(0, 110)
)


@property_test
@given(actions=st.lists(page_actions, max_size=30))
async def test_pages_do_what_a_plain_model_does(
    make_hot: MakeHot, actions: list[tuple[str, str, int]]
) -> None:
    hot = make_hot(max_pages=3, max_page_bytes=100)
    model: dict[str, bytes] = {}  # the most recently used last
    for action, key, size in actions:
        before = model.pop(key, None)
        if action == "keep":
            await hot.keep_page(key, b"x" * size)
            if size <= 100:
                model[key] = b"x" * size
            while len(model) > 3 or sum(map(len, model.values())) > 100:
                del model[next(iter(model))]
        elif action == "page":
            assert await hot.page(key) == before
            if before is not None:
                model[key] = before
        else:
            assert await hot.drop_page(key) == (before is not None)
        assert await hot.pages() == (len(model), sum(map(len, model.values())))


async def test_ping_is_quiet(hot: Hot) -> None:
    await hot.ping()


async def test_closing_leaves_no_task_behind(make_hot: MakeHot) -> None:
    before = asyncio.all_tasks()
    hot = make_hot()
    await hot.ping()
    await hot.close()
    await hot.close()
    assert asyncio.all_tasks() <= before
