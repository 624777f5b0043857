"""Hot in Redis: many processes on one server, and a server that fails, forgets or is full."""

import asyncio
import itertools
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.servers.questions import of_each_kind
from tests.servers.valkey import PATIENCE, Valkey

from gossamer.problems import Unavailable
from gossamer.state.kv.hot import Window
from gossamer.state.kv.hot_redis import RedisHot
from gossamer.state.kv.resp import RespClient
from gossamer.state.kv.resp_address import Address

SOON = 5.0
FOREVER = 60.0
numbers = itertools.count()


@pytest.fixture
async def hot(valkey: Valkey) -> AsyncIterator[RedisHot]:
    hot = RedisHot(valkey.url, prefix=f"own{next(numbers)}", deadline=PATIENCE)
    yield hot
    await hot.close()


@pytest.fixture
async def own_hot(own_valkey: Valkey) -> AsyncIterator[RedisHot]:
    hot = RedisHot(own_valkey.url)
    yield hot
    await hot.close()


@pytest.fixture
async def operator(own_valkey: Valkey) -> AsyncIterator[RespClient]:
    client = RespClient(Address.parse(own_valkey.url))
    yield client
    await client.close()


async def eventually(act: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(SOON):
        while True:
            try:
                return await act()
            except Unavailable:
                await asyncio.sleep(0.02)


CHILD = """
import asyncio, sys
from gossamer.state.kv.hot import Window
from gossamer.state.kv.hot_redis import RedisHot

async def main():
    hot = RedisHot(sys.argv[1], prefix="children", deadline=20.0)
    await hot.ping()
    print("ready", flush=True)
    sys.stdin.readline()
    windows = [Window("shared", 500, 3600), Window(sys.argv[2], 400, 3600)]
    answers = await asyncio.gather(*(hot.take(windows) for _ in range(300)))
    print(sum(all(tally.allowed for tally in tallies) for tallies in answers))
    await hot.close()

asyncio.run(main())
"""


def test_eight_processes_admit_exactly_the_limit(valkey: Valkey) -> None:
    command = [sys.executable, "-c", CHILD, valkey.url]
    children = [
        subprocess.Popen([*command, f"own{i}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for i in range(8)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    admitted = [int(child.communicate(timeout=30)[0]) for child in children]
    assert sum(admitted) == 500


async def test_two_processes_share_everything(valkey: Valkey, hot: RedisHot) -> None:
    other = RedisHot(valkey.url, prefix=hot._prefix)
    try:
        await hot.put("k", b"v", FOREVER)
        assert await other.get("k") == b"v"
        claim = await hot.claim("job", FOREVER)
        assert (await other.claim("job", FOREVER)).token is None
        waiting = asyncio.create_task(other.wait("job", FOREVER))
        done, _ = await asyncio.wait({waiting}, timeout=0.05)
        assert not done
        await hot.settle(claim, b"answer", FOREVER)
        await asyncio.wait_for(waiting, SOON)
        assert (await other.claim("job", FOREVER)).value == b"answer"
        await hot.keep_page("p", b"body")
        assert await other.page("p") == b"body"
        assert await other.drop_page("p")
        assert await hot.page("p") is None
    finally:
        await other.close()


async def test_ten_thousand_takes_at_once(hot: RedisHot) -> None:
    window = Window("w", 4_000, 3600)
    answers = await asyncio.gather(*(hot.take([window]) for _ in range(10_000)))
    assert sum(tally.allowed for (tally,) in answers) == 4_000


async def test_a_killed_server_fails_everything_at_once(own_valkey: Valkey, own_hot: RedisHot) -> None:
    await of_each_kind(own_hot)
    own_valkey.kill()
    calls: list[Callable[[], Awaitable[Any]]] = [
        own_hot.ping,
        lambda: own_hot.get("k"),
        lambda: own_hot.put("k", b"v", FOREVER),
        lambda: own_hot.take([Window("w", 1, 60)]),
        lambda: own_hot.claim("job", FOREVER),
        lambda: own_hot.wait("job", FOREVER),
        lambda: own_hot.page("p"),
        lambda: own_hot.keep_page("p", b"body"),
        own_hot.pages,
    ]
    started = time.monotonic()
    for call in calls:
        with pytest.raises(Unavailable):
            await call()
    assert time.monotonic() - started < 5, "each waited for the deadline"


async def test_a_frozen_server_fails_everything_at_the_deadline(
    own_valkey: Valkey, own_hot: RedisHot
) -> None:
    await of_each_kind(own_hot)
    own_valkey.stop()
    started = time.monotonic()
    answers = await asyncio.gather(
        own_hot.take([Window("w", 1, 60)]),
        own_hot.page("p"),
        own_hot.pages(),
        own_hot.wait("job", FOREVER),
        return_exceptions=True,
    )
    assert all(isinstance(answer, Unavailable) for answer in answers)
    assert time.monotonic() - started < 20
    own_valkey.cont()
    await eventually(own_hot.ping)
    await of_each_kind(own_hot)


async def test_a_restarted_server_is_found_again(own_valkey: Valkey, own_hot: RedisHot) -> None:
    await of_each_kind(own_hot)
    own_valkey.restart()
    await eventually(own_hot.ping)
    await of_each_kind(own_hot)


async def test_who_waits_is_told_when_the_server_is_gone(own_valkey: Valkey, own_hot: RedisHot) -> None:
    await own_hot.claim("job", FOREVER)
    waiting = asyncio.create_task(own_hot.wait("job", FOREVER))
    done, _ = await asyncio.wait({waiting}, timeout=0.05)
    assert not done
    own_valkey.kill()
    with pytest.raises(Unavailable):
        await asyncio.wait_for(waiting, SOON)


async def test_a_server_that_forgot_our_scripts_gets_them_again(
    own_hot: RedisHot, operator: RespClient
) -> None:
    await of_each_kind(own_hot)
    await operator.call("SCRIPT", "FLUSH")
    await of_each_kind(own_hot)


async def test_pages_are_still_touched_after_the_scripts_are_gone(
    own_valkey: Valkey, operator: RespClient
) -> None:
    hot = RedisHot(own_valkey.url, max_pages=2)
    await hot.keep_page("a", b"a")
    await hot.keep_page("b", b"b")
    await operator.call("SCRIPT", "FLUSH")
    await hot.page("a")
    await hot.keep_page("c", b"c")
    assert [await hot.page(key) for key in ("a", "b", "c")] == [b"a", None, b"c"]
    await hot.close()


async def test_a_flushed_server_is_an_empty_one(own_hot: RedisHot, operator: RespClient) -> None:
    await own_hot.keep_page("p", b"body")
    window = Window("w", 1, 60)
    (tally,) = await own_hot.take([window])
    claim = await own_hot.claim("job", FOREVER)
    await operator.call("FLUSHALL")
    await own_hot.give_back(window, tally.stamp)
    assert not await own_hot.settle(claim, b"late", FOREVER)
    assert await own_hot.page("p") is None
    assert await own_hot.pages() == (0, 0)
    assert (await own_hot.take([window]))[0].allowed
    await of_each_kind(own_hot)


async def test_a_page_that_the_server_evicted_does_not_stay_in_the_index(
    own_valkey: Valkey, operator: RespClient
) -> None:
    hot = RedisHot(own_valkey.url, max_pages=2)
    for key in ("a", "b"):
        await hot.keep_page(key, b"12345")
    await operator.call("DEL", "gossamer:page:a")
    assert await hot.page("a") is None
    assert await hot.drop_page("a") is False
    assert await hot.pages() == (1, 5)
    await hot.close()


async def test_a_full_server_is_unavailable_and_still_reads(own_hot: RedisHot, operator: RespClient) -> None:
    await own_hot.put("k", b"v", FOREVER)
    await operator.call("CONFIG", "SET", "maxmemory", "1")
    for call in (
        own_hot.put("k", b"w", FOREVER),
        own_hot.take([Window("w", 1, 60)]),
        own_hot.keep_page("p", b""),
    ):
        with pytest.raises(Unavailable, match="OOM"):
            await call
    assert await own_hot.get("k") == b"v"


async def test_waiting_leaves_no_subscription(own_hot: RedisHot, operator: RespClient) -> None:
    claim = await own_hot.claim("job", FOREVER)
    waiting = [asyncio.create_task(own_hot.wait("job", timeout)) for timeout in (0.01, FOREVER, FOREVER)]
    await waiting[0]
    assert await operator.call("PUBSUB", "CHANNELS") == [b"gossamer:claim:job"]
    waiting[1].cancel()
    await own_hot.settle(claim, b"answer", FOREVER)
    await asyncio.wait(waiting, timeout=SOON)
    await own_hot.ping()
    assert await operator.call("PUBSUB", "CHANNELS") == []


async def test_everything_but_pages_expires(own_hot: RedisHot, operator: RespClient) -> None:
    await own_hot.put("k", b"v", FOREVER)
    await own_hot.take([Window("w", 5, 60), Window("v", 5, 60, cost=3)])
    await own_hot.take([Window("looked", 5, 60, cost=0)])
    await own_hot.claim("job", FOREVER)
    keys = await operator.call("KEYS", "*")
    left = await asyncio.gather(*(operator.call("PTTL", key) for key in keys))
    assert len(keys) == 4
    assert all(0 < milliseconds <= 61_000 for milliseconds in left)
