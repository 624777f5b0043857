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
from gossamer.state.blobs.blobs import open_blobs
from gossamer.state.db.database import open_database
from gossamer.state.db.tables import stray_blobs
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.kv.hot_redis import RedisHot
from gossamer.state.pages import cold_pages, page_cache
from gossamer.state.pages.cached_page import Dropped, Location
from gossamer.state.pages.cold_pages import SILENT_TIMES
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.pages.page_key import PageKey

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
    async with asyncio.timeout(60):
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


async def test_a_page_that_the_cold_tier_refused_is_stored_by_the_next_repair(
    tiers: Tiers, cache: PageCache, own_s3: S3
) -> None:
    own_s3.kill()
    await cache.put(tiers.key(), PAGE)
    own_s3.start()
    await until(tiers.blobs.ping)
    assert await cache.repair() > 0
    await tiers.flush_hot()
    assert await found(tiers.cache(), tiers.key()) == (HTML, COLD)


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


@pytest.fixture(params=["embedded", "on servers"])
def with_s3(request: pytest.FixtureRequest, own_s3: S3) -> Tiers:
    """With a cold tier for whose answers nobody waits to the end."""
    blobs = open_blobs(own_s3.url, own_s3.environ, deadline=300.0)
    if request.param == "embedded":
        return Tiers(MemoryHot(), blobs, open_database(request.getfixturevalue("sqlite")))
    valkey: Valkey = request.getfixturevalue("own_valkey")
    server: PostgresServer = request.getfixturevalue("postgres")
    return Tiers(RedisHot(valkey.url), blobs, open_database(server.url), valkey=valkey)


@pytest.fixture
async def frozen(with_s3: Tiers, own_s3: S3) -> AsyncIterator[Tiers]:
    """Whose cold tier accepts connections and says nothing."""
    await with_s3.prepare()
    own_s3.stop()
    yield with_s3
    own_s3.cont()
    await with_s3.close()


@pytest.fixture
def frozen_cache(frozen: Tiers) -> PageCache:
    return frozen.cache(alone=frozen.valkey is None)


async def keep(tiers: Tiers, cache: PageCache, key: PageKey) -> asyncio.Task[bool]:
    """As a job does: what is returned is the upload that goes on behind it."""
    async with asyncio.timeout(60):  # of the 300 seconds that an upload takes
        staged = await cache.stage(key, PAGE)
        async with tiers.database.write() as connection:
            await cache.write(connection, staged)
        storing = await cache.publish(staged)
    assert storing is not None
    return storing


async def test_a_cold_tier_that_is_frozen_delays_no_new_page(
    frozen: Tiers, frozen_cache: PageCache, own_s3: S3
) -> None:
    storing = await keep(frozen, frozen_cache, frozen.key())
    assert not storing.done()
    assert await found(frozen_cache, frozen.key()) == (HTML, HOT)
    [row] = await frozen.rows()
    assert (row.blob, row.due_at is None) == (None, False)  # it is owed, and repair knows
    own_s3.cont()
    assert await storing
    [row] = await frozen.rows()
    assert await frozen.blobs.get(row.blob) == PAGE.body
    await frozen_cache.flush()
    assert [row.due_at for row in await frozen.rows()] == [None]
    await frozen.flush_hot()
    assert await found(frozen_cache, frozen.key()) == (HTML, COLD)
    assert await frozen.rows(stray_blobs) == []


async def test_a_page_that_is_about_to_be_hot_is_waited_for_by_who_asks_for_it(
    frozen: Tiers, frozen_cache: PageCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is written, and says so to whoever waits, before the page is in the hot tier."""
    monkeypatch.setattr(page_cache, "PUBLISH_SECONDS", 60.0)
    staged = await frozen_cache.stage(frozen.key(), PAGE)
    async with frozen.database.write() as connection:
        await frozen_cache.write(connection, staged)
    asked = asyncio.create_task(found(frozen.cache(), frozen.key()))
    await asyncio.sleep(0)
    await frozen_cache.publish(staged)
    assert await asked == (HTML, HOT)


async def test_a_process_that_ends_before_the_upload_leaves_it_to_repair(
    frozen: Tiers, frozen_cache: PageCache, own_s3: S3
) -> None:
    await keep(frozen, frozen_cache, frozen.key())
    for task in list(frozen_cache._uploads._running):  # as when the process is killed
        task.cancel()
    own_s3.cont()
    await until(frozen.blobs.ping)
    await frozen.make_due()
    await frozen.cache().repair()
    [row] = await frozen.rows()
    assert await frozen.blobs.get(row.blob) == PAGE.body


async def test_an_upload_that_ends_after_the_page_was_dropped_is_a_stray(
    frozen: Tiers, frozen_cache: PageCache, own_s3: S3
) -> None:
    storing = await keep(frozen, frozen_cache, frozen.key())
    assert (await frozen_cache.drop(frozen.key())).pages == 1
    own_s3.cont()
    await storing
    assert await frozen_cache.get(frozen.key()) is None
    assert [row.blob for row in await frozen.rows()] == [None]
    assert len(await frozen.rows(stray_blobs)) == 1
    await frozen.make_due()
    await frozen_cache.repair()
    assert await frozen.rows(stray_blobs) == []


async def test_who_asks_for_a_page_in_a_frozen_cold_tier_is_told_soon_and_then_at_once(
    frozen: Tiers, frozen_cache: PageCache, own_s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cold_pages, "ANSWER_SECONDS", 0.6)
    own_s3.cont()
    await frozen_cache.put(frozen.key(), PAGE)
    await frozen.flush_hot()
    own_s3.stop()
    async with asyncio.timeout(60):
        for _ in range(SILENT_TIMES):
            with pytest.raises(Unavailable, match=r"no answer within 0\.6 s"):
                await frozen_cache.get(frozen.key())
        with pytest.raises(Unavailable, match="has not answered lately"):
            await frozen_cache.get(frozen.key())
    own_s3.cont()
    monkeypatch.setattr(cold_pages, "ANSWER_SECONDS", 60.0)

    async def served() -> None:
        assert await found(frozen_cache, frozen.key()) == (HTML, COLD)

    await until(served)


async def test_repair_does_not_wait_for_every_page_that_a_frozen_cold_tier_is_owed(
    frozen: Tiers, frozen_cache: PageCache, own_s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cold_pages, "UPLOAD_SECONDS", 0.5)
    for number in range(8):
        await (await keep(frozen, frozen_cache, frozen.key(f"/{number}")))
    await frozen_cache.flush()
    await frozen.make_due()
    before = len(frozen.logged("page_not_stored"))
    assert await frozen.cache().repair() == 0
    assert len(frozen.logged("page_not_stored")) == before + 1
    own_s3.cont()
    await until(frozen.blobs.ping)
    await frozen.make_due()
    await frozen.cache().repair()
    assert all(row.blob for row in await frozen.rows())


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
