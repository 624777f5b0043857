"""The cache of rendered pages while one of the things beneath it is stopped, frozen, flushed or gone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3
from tests.servers.tiers import NOON, Tiers, page_of
from tests.servers.valkey import Valkey

from gossamer.problems import Unavailable
from gossamer.state.blobs import open_blobs
from gossamer.state.database import open_database
from gossamer.state.hot_memory import MemoryHot
from gossamer.state.hot_redis import RedisHot
from gossamer.state.page_cache import Dropped, Location, PageCache, PageKey
from gossamer.state.tables import stray_blobs

HTML, OTHER = b"<p>one</p>" * 100, b"<p>two</p>"
PAGE, NEWER = page_of(HTML), page_of(OTHER, rendered_at=NOON + 1)
HOT, COLD = Location.HOT, Location.COLD


@pytest.fixture
def own_stores(own_valkey: Valkey, own_s3: S3, postgres: PostgresServer) -> Tiers:
    return Tiers(
        RedisHot(own_valkey.url),
        open_blobs(own_s3.url, own_s3.environ, deadline=1.0),
        open_database(postgres.url, deadline=5.0),
        valkey=own_valkey,
    )


@pytest.fixture
async def tiers(own_stores: Tiers) -> AsyncIterator[Tiers]:
    """On servers that the test may break."""
    await own_stores.prepare()
    yield own_stores
    await own_stores.close()


@pytest.fixture
def cache(tiers: Tiers) -> PageCache:
    return tiers.cache()


async def found(cache: PageCache, key: PageKey) -> tuple[bytes, Location] | None:
    answer = await cache.get(key)
    return None if answer is None else (answer.page.html(), answer.location)


async def until(act: Callable[[], Awaitable[Any]]) -> None:
    """For a server that was started again, and has to be found."""
    async with asyncio.timeout(10):
        while True:
            try:
                await act()
            except Unavailable:
                await asyncio.sleep(0.02)
            else:
                return


async def test_without_the_hot_tier_the_cold_one_serves_and_keeps(
    tiers: Tiers, cache: PageCache, own_valkey: Valkey
) -> None:
    await cache.put(tiers.key("/a"), PAGE)
    assert await found(cache, tiers.key("/a")) == (HTML, HOT)
    own_valkey.kill()
    assert await found(cache, tiers.key("/a")) == (HTML, COLD)
    assert await found(tiers.cache(), tiers.key("/a")) == (HTML, COLD)
    assert (await cache.status(tiers.key("/a")) or [None])[0] == COLD
    await cache.put(tiers.key("/b"), PAGE)
    assert len(tiers.logged("page_not_hot")) == 1
    assert await found(cache, tiers.key("/b")) == (HTML, COLD)
    assert await cache.get(tiers.key("/c")) is None
    own_valkey.start()
    await until(tiers.hot.ping)
    await tiers.make_due()
    await cache.repair()
    for location in (COLD, HOT):
        assert await found(cache, tiers.key("/b")) == (HTML, location)
        await cache.close()


async def test_what_was_dropped_while_the_hot_tier_was_frozen_stays_dropped(
    tiers: Tiers, cache: PageCache, own_valkey: Valkey
) -> None:
    await cache.put(tiers.key("/a"), PAGE)
    await cache.put(tiers.key("/b"), PAGE)
    own_valkey.stop()
    with pytest.raises(Unavailable):
        await tiers.hot.ping()  # which ends the connection, so nothing that follows can reach it late
    assert await cache.drop(tiers.key("/a")) == Dropped((COLD,), len(HTML), 1, (HOT,))
    await cache.put(tiers.key("/b"), NEWER)
    await cache.flush()  # what was confirmed of them before does not count any more
    own_valkey.cont()
    await until(tiers.hot.ping)
    assert await tiers.hot_page(tiers.key("/a")) is not None
    assert await tiers.hot_page(tiers.key("/b")) is not None
    # It has both as they were; who has dropped the one and put the other does not believe it.
    assert await cache.get(tiers.key("/a")) is None
    assert await found(cache, tiers.key("/b")) == (OTHER, COLD)
    await tiers.make_due()
    await tiers.cache().repair()
    for reader in (cache, tiers.cache()):
        assert await reader.get(tiers.key("/a")) is None
        assert await found(reader, tiers.key("/b")) in ((OTHER, COLD), (OTHER, HOT))
        await reader.close()
        assert await found(reader, tiers.key("/b")) == (OTHER, HOT)


async def test_dropping_again_asks_the_hot_tier_again(
    tiers: Tiers, cache: PageCache, own_valkey: Valkey
) -> None:
    await cache.put(tiers.key(), PAGE)
    own_valkey.kill()
    assert await cache.drop(tiers.key()) == Dropped((COLD,), len(HTML), 1, (HOT,))
    assert await cache.drop(tiers.key()) == Dropped((), 0, 0, (HOT,))
    own_valkey.start()
    await until(tiers.hot.ping)
    assert await cache.drop(tiers.key()) == Dropped()
    assert [row.hot_behind for row in await tiers.rows()] == [False]


async def test_without_the_cold_tier_the_hot_one_serves_and_keeps(
    tiers: Tiers, cache: PageCache, own_s3: S3
) -> None:
    await cache.put(tiers.key("/a"), PAGE)
    own_s3.kill()
    assert await found(cache, tiers.key("/a")) == (HTML, HOT)
    await cache.put(tiers.key("/b"), NEWER)
    assert len(tiers.logged("page_not_stored")) == 1
    assert await found(tiers.cache(), tiers.key("/b")) == (OTHER, HOT)
    await cache.flush()
    await tiers.make_due()
    assert await cache.repair() == 0
    assert await found(cache, tiers.key("/b")) == (OTHER, HOT)
    own_s3.start()
    await until(tiers.blobs.ping)
    await tiers.make_due()
    await cache.repair()
    await tiers.flush_hot()
    assert await found(cache, tiers.key("/b")) == (OTHER, COLD)
    assert [row.due_at for row in await tiers.rows()] == [None, None]
    assert await tiers.rows(stray_blobs) == []


async def test_what_was_dropped_while_the_cold_tier_was_away_is_dropped_there_later(
    tiers: Tiers, cache: PageCache, own_s3: S3
) -> None:
    await cache.put(tiers.key(), PAGE)
    [row] = await tiers.rows()
    own_s3.kill()
    assert await cache.drop(tiers.key()) == Dropped((HOT,), len(HTML), 1, (COLD,))
    assert await cache.get(tiers.key()) is None
    own_s3.start()
    await until(tiers.blobs.ping)
    assert await tiers.blobs.get(row.blob) == PAGE.body
    assert await cache.get(tiers.key()) is None
    await tiers.make_due()
    await cache.repair()
    assert await tiers.blobs.get(row.blob) is None
    assert await tiers.rows(stray_blobs) == []


async def test_what_is_only_in_a_tier_that_is_away_is_not_called_missing(
    tiers: Tiers, cache: PageCache, own_valkey: Valkey, own_s3: S3
) -> None:
    await cache.put(tiers.key("/cold"), PAGE)
    await tiers.flush_hot()
    own_s3.kill()
    await cache.put(tiers.key("/hot"), PAGE)
    with pytest.raises(Unavailable, match="blobs"):
        await cache.get(tiers.key("/cold"))
    own_valkey.kill()
    for path in ("/hot", "/cold"):
        with pytest.raises(Unavailable):
            await tiers.cache().get(tiers.key(path))
    assert await cache.get(tiers.key("/none")) is None
    with pytest.raises(Unavailable):
        await cache.put(tiers.key("/new"), PAGE)
    assert len(await tiers.rows()) == 2


async def test_without_the_database_what_is_hot_is_served(
    tiers: Tiers, cache: PageCache, postgres: PostgresServer
) -> None:
    await cache.put(tiers.key("/a"), PAGE)
    await cache.put(tiers.key("/b"), PAGE)
    await tiers.evict(tiers.key("/b"))
    postgres.stop()
    for _ in range(3):
        assert await found(cache, tiers.key("/a")) == (HTML, HOT)
    for act in (cache.get, cache.status, cache.drop):
        with pytest.raises(Unavailable, match="database"):
            await act(tiers.key("/b"))
    for act_on_all in (cache.flush, cache.repair):
        with pytest.raises(Unavailable, match="database"):
            await act_on_all()
    with pytest.raises(Unavailable, match="database"):
        await cache.put(tiers.key("/a"), NEWER)
    assert await found(cache, tiers.key("/a")) == (HTML, HOT)
    postgres.start()
    await until(cache.flush)
    assert await found(cache, tiers.key("/b")) == (HTML, COLD)
    status = await cache.status(tiers.key("/a"))
    assert status is not None
    assert (status.location, status.access_count) == (HOT, 4)


async def test_embedded_a_folder_that_is_gone_and_comes_back(tmp_path: Path) -> None:
    tiers = Tiers(
        MemoryHot(),
        open_blobs(f"file://{tmp_path}/blobs", {}),
        open_database(f"sqlite:///{tmp_path}/gossamer.db"),
    )
    await tiers.prepare()
    cache = tiers.cache()
    await cache.put(tiers.key("/a"), PAGE)
    (tmp_path / "blobs").rename(tmp_path / "away")
    await cache.put(tiers.key("/b"), PAGE)
    assert await found(cache, tiers.key("/a")) == (HTML, HOT)
    assert await found(cache, tiers.key("/b")) == (HTML, HOT)
    assert await cache.drop(tiers.key("/a")) == Dropped((HOT,), len(HTML), 1, (COLD,))
    (tmp_path / "away").rename(tmp_path / "blobs")
    await tiers.make_due()
    await cache.repair()
    await tiers.flush_hot()
    assert await cache.get(tiers.key("/a")) is None
    assert await found(cache, tiers.key("/b")) == (HTML, COLD)
    files = [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
    assert len(files) == 1
    await tiers.close()
