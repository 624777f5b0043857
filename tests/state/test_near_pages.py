"""Pages at hand in this process, bounded by bytes; and the one round trip that a hit costs."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from tests.servers.questions import asked
from tests.servers.tiers import Tiers, page_of
from tests.servers.valkey import Valkey

from gossamer.state.blobs.blobs import open_blobs
from gossamer.state.db.database import open_database
from gossamer.state.kv.hot import Window
from gossamer.state.kv.hot_redis import RedisHot
from gossamer.state.kv.resp import RespClient
from gossamer.state.kv.resp_address import Address
from gossamer.state.pages.cached_page import EDITION_BYTES, CachedPage
from gossamer.state.pages.hot_pages import OVERHEAD, NearPages, hot_name

PAGE = page_of(b"<p>text</p>" * 1_000)
COST = len(PAGE.body) + OVERHEAD


def kept(near: NearPages, *names: str) -> list[CachedPage | None]:
    found = [near.get(name) for name in names]
    return [page.page if page else None for page in found]


def test_the_least_recently_used_leave_when_the_bytes_are_used_up() -> None:
    near = NearPages(2 * COST)
    near.keep("a", 1, PAGE)
    near.keep("b", 1, PAGE)
    near.keep("a", 2, PAGE)
    near.keep("c", 1, PAGE)
    assert kept(near, "a", "b", "c") == [PAGE, None, PAGE]
    near.drop("a")
    near.drop("a")
    near.keep("d", 1, PAGE)
    assert kept(near, "a", "c", "d") == [None, PAGE, PAGE]


def test_what_is_larger_than_the_room_is_not_kept() -> None:
    near = NearPages(COST - 1)
    near.keep("a", 1, PAGE)
    assert kept(near, "a") == [None]
    near.keep("b", 1, page_of(b""))
    assert kept(near, "b") != [None]


def test_a_page_is_touched_once_in_a_while() -> None:
    near = NearPages(COST)
    near.keep("a", 1, PAGE)
    page = near.get("a")
    assert page is not None
    assert [page.is_to_be_touched(now) for now in (100.0, 100.5, 101.0, 101.9, 102.1)] == [
        True, False, True, False, True,
    ]  # fmt: skip


@pytest.fixture
async def tiers(own_valkey: Valkey, tmp_path: Path) -> AsyncIterator[Tiers]:
    tiers = Tiers(
        RedisHot(own_valkey.url),
        open_blobs(f"file://{tmp_path}/blobs", {}),
        open_database(f"sqlite:///{tmp_path}/gossamer.db"),
        valkey=own_valkey,
    )
    await tiers.prepare()
    yield tiers
    await tiers.close()


async def test_a_hit_and_its_limit_are_one_round_trip_and_the_body_stays_here(
    tiers: Tiers, own_valkey: Valkey
) -> None:
    cache, key = tiers.cache(), tiers.key()
    await cache.put(key, PAGE)
    await tiers.hot.take([Window("w", 100, 60)])
    ask = tiers.hot.hit_question([Window("w", 100, 60)], "caller", hot_name(key.name), EDITION_BYTES)
    operator = RespClient(Address.parse(own_valkey.url))

    async def traffic() -> tuple[int, int]:
        info: bytes = await operator.call("INFO", "stats")
        stats = dict(line.split(":") for line in info.decode().splitlines() if ":" in line)
        return int(stats["total_reads_processed"]), int(stats["total_net_output_bytes"])

    async def cost(hit: Callable[[], Awaitable[object]]) -> tuple[int, int]:
        """What a hit adds to the traffic of looking at it: reads of the server, and bytes that it sent."""
        first, second = await traffic(), await traffic()
        await hit()
        third = await traffic()
        reads, sent = (c - b - (b - a) for a, b, c in zip(first, second, third, strict=True))
        return reads, sent

    async def by_fast_path() -> None:
        assert cache.is_still(key.name, edition, (await asked(ask)).page_start)

    found = await cache.get(key)
    assert found is not None
    edition = found.edition
    for hit in (by_fast_path, partial(cache.get, key)):
        await hit()  # touches the page, which is not told again within this second
        reads, sent = await cost(hit)
        assert reads == 1
        assert sent < 150
    await operator.close()
