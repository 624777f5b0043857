"""The cache of rendered pages: hot over cold, embedded and on servers; and races, one step at a time."""

import asyncio
import base64
import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from tests.servers.tiers import NOON, Tiers, page_of

from gossamer.problems import Problem
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.tables import cached_pages, stray_blobs
from gossamer.state.kv.hot import Hot
from gossamer.state.pages import page_rows
from gossamer.state.pages.cached_page import EDITION_BYTES, CachedPage, Dropped, Location, PageHit
from gossamer.state.pages.hot_pages import hot_name
from gossamer.state.pages.page_cache import MAX_WHOLE_BYTES, PageCache
from gossamer.state.pages.page_key import PageKey, PagePrefix
from gossamer.state.tenants import past_usage

HTML = b"<!doctype html><title>One</title>" + b"<p>text</p>" * 100
OTHER = b"<!doctype html><title>Two</title>"
ABOUT: Any = {
    "final_url": "https://example.com/end",
    "status": 203,
    "headers": (("Link", "<ü>"), ("Link", "")),
    "render_ms": 7,
}
PAGE, NEWER = page_of(HTML), page_of(OTHER, rendered_at=NOON + 1)
HOT, COLD = Location.HOT, Location.COLD


def large() -> CachedPage:
    """So large that it comes as a stream, also when it is compressed."""
    return page_of(base64.b64encode(random.Random(1).randbytes(MAX_WHOLE_BYTES * 3)))


@pytest.fixture
def cache(tiers: Tiers) -> PageCache:
    return tiers.cache()


@pytest.fixture
def other(tiers: Tiers) -> PageCache:
    """The same cache in another process."""
    return tiers.cache()


async def found(cache: PageCache, key: PageKey) -> tuple[bytes, Location] | None:
    answer = await cache.get(key)
    return None if answer is None else (answer.page.html(), answer.location)


async def whole(answer: PageHit | None, *, identity: bool = False) -> bytes:
    assert answer is not None
    chunks = answer.identity() if identity else answer.compressed()
    return b"".join([chunk async for chunk in chunks])


class Gated:
    """A real store one of whose methods waits, before or after it has done its work, until it is let go."""

    def __init__(self, store: Hot | Blobs, method: str) -> None:
        self.reached = asyncio.Event()
        self.gate = asyncio.Event()
        self._store = store
        self._method = method

    def __getattr__(self, name: str) -> Any:
        return self._wait if name == self._method else getattr(self._store, name)

    async def _wait(self, *arguments: Any, **options: Any) -> Any:
        self.reached.set()
        await self.gate.wait()
        return await getattr(self._store, self._method)(*arguments, **options)


# Getting and putting.


async def test_what_was_never_put_is_none(tiers: Tiers, cache: PageCache) -> None:
    assert await cache.get(tiers.key()) is None
    assert await cache.status(tiers.key()) is None
    assert tiers.counted("miss") == 1


async def test_what_was_put_is_found_hot_as_it_was(tiers: Tiers, cache: PageCache, other: PageCache) -> None:
    page = page_of(
        HTML, final_url="https://example.com/end", status=203, headers=(("Link", "<ü>"),), render_ms=7
    )
    await cache.put(tiers.key(), page)
    for reader in (cache, other, cache):
        assert await reader.get(tiers.key()) == PageHit(page, HOT)
    assert (page.html(), page.size, page.coding) == (HTML, len(HTML), "gzip")
    assert len(page.body) < len(HTML)
    assert tiers.counted("hot") == 3


async def test_what_hot_has_forgotten_is_found_cold_and_made_hot_again(
    tiers: Tiers, cache: PageCache
) -> None:
    page = page_of(
        HTML, final_url="https://example.com/end", status=203, headers=(("Link", "<ü>"),), render_ms=7
    )
    await cache.put(tiers.key(), page)
    await tiers.flush_hot()
    assert await cache.get(tiers.key()) == PageHit(page, COLD, None, True)
    await cache.close()
    assert await cache.get(tiers.key()) == PageHit(page, HOT)
    assert (tiers.counted("cold"), tiers.counted("promoted"), tiers.counted("hot")) == (1, 1, 1)


async def test_the_status_says_where_a_page_is(tiers: Tiers, cache: PageCache) -> None:
    await cache.put(tiers.key(), PAGE)
    assert await cache.status(tiers.key()) == (HOT, NOON, len(HTML), 0, PAGE.etag)
    await tiers.flush_hot()
    assert await cache.status(tiers.key()) == (COLD, NOON, len(HTML), 0, PAGE.etag)


async def test_tenants_and_variants_are_kept_apart(tiers: Tiers, cache: PageCache) -> None:
    keys = [tiers.key("/a"), tiers.key("/a", "claude"), PageKey(tiers.other_tenant, "https://example.com/a")]
    pages = [page_of(b"%d" % number) for number in range(3)]
    for key, page in zip(keys, pages, strict=True):
        await cache.put(key, page)
    for _ in range(2):
        answers = [await cache.get(key) for key in keys]
        assert [answer and answer.page for answer in answers] == pages
        await tiers.flush_hot()
    assert len({key.name for key in keys}) == 3


async def test_a_page_is_replaced_in_every_process_and_its_old_blob_goes(
    tiers: Tiers, cache: PageCache, other: PageCache
) -> None:
    await cache.put(tiers.key(), PAGE)
    assert await found(other, tiers.key()) == (HTML, HOT)
    [before] = [row.blob for row in await tiers.rows()]
    await cache.put(tiers.key(), NEWER)
    assert await found(other, tiers.key()) == (OTHER, HOT)
    await tiers.flush_hot()
    assert await found(other, tiers.key()) == (OTHER, COLD)
    await other.close()
    await tiers.make_due()
    await cache.repair()
    assert await tiers.blobs.get(before) is None
    assert await tiers.rows(stray_blobs) == []
    [row] = await tiers.rows()
    assert (row.render_count, row.access_count, row.hot_behind, row.due_at) == (2, 3, False, None)


async def test_a_transaction_that_is_undone_leaves_the_page_as_it_was(tiers: Tiers, cache: PageCache) -> None:
    await cache.put(tiers.key(), PAGE)
    staged = await cache.stage(tiers.key(), NEWER)

    async def fail() -> None:
        async with tiers.database.write() as connection:
            await cache.write(connection, staged)
            raise RuntimeError("never mind")

    with pytest.raises(RuntimeError):
        await fail()
    assert await found(cache, tiers.key()) == (HTML, HOT)
    await tiers.flush_hot()
    assert await found(cache, tiers.key()) == (HTML, COLD)
    await tiers.make_due()
    await cache.repair()
    assert await tiers.blobs.get(staged.blob or "") is None
    assert await tiers.rows(stray_blobs) == []


async def test_a_crash_after_the_row_was_written_is_made_up_for(tiers: Tiers, cache: PageCache) -> None:
    """The hot tier still has the page before it, until repair."""
    await cache.put(tiers.key(), PAGE)
    staged = await cache.stage(tiers.key(), NEWER)
    async with tiers.database.write() as connection:
        await cache.write(connection, staged)
    after_the_crash = tiers.cache()
    assert await after_the_crash.repair() == 0
    await tiers.make_due()
    assert await after_the_crash.repair() == 2
    assert await found(after_the_crash, tiers.key()) == (OTHER, COLD)


async def test_an_upload_that_nobody_waited_for_is_kept_hot_alone(tiers: Tiers, cache: PageCache) -> None:
    """Its blob was collected before the row was written; repair uploads it again."""
    staged = await cache.stage(tiers.key(), PAGE)
    await tiers.make_due()
    await cache.repair()
    async with tiers.database.write() as connection:
        await cache.write(connection, staged)
    await cache.publish(staged)
    assert await found(cache, tiers.key()) == (HTML, HOT)
    await tiers.make_due()
    await cache.repair()
    await tiers.flush_hot()
    assert await found(cache, tiers.key()) == (HTML, COLD)
    assert [row.due_at for row in await tiers.rows()] == [None]


async def test_the_same_page_at_once_by_many(tiers: Tiers, cache: PageCache, other: PageCache) -> None:
    pages = [page_of(b"page %d" % number) for number in range(8)]
    await asyncio.gather(*((cache, other)[n % 2].put(tiers.key(), page) for n, page in enumerate(pages)))
    hot = await cache.get(tiers.key())
    await tiers.flush_hot()
    cold = await other.get(tiers.key())
    assert hot is not None
    assert cold is not None
    assert hot.page == cold.page
    await tiers.make_due()
    await cache.repair()
    assert await tiers.rows(stray_blobs) == []
    assert [row.render_count for row in await tiers.rows()] == [8]


async def test_what_makes_no_sense_in_hot_is_not_served(tiers: Tiers, cache: PageCache) -> None:
    await cache.put(tiers.key(), PAGE)
    for nonsense in (b"", b"x", b"\xff" * 100):
        await tiers.hot.keep_page(f"render:{tiers.key().name}", nonsense)
        assert await found(cache, tiers.key()) == (HTML, COLD)
        await cache.close()


async def test_a_page_that_no_tier_has_any_more_is_forgotten(tiers: Tiers, cache: PageCache) -> None:
    await cache.put(tiers.key(), PAGE)
    [row] = await tiers.rows()
    await tiers.blobs.drop([row.blob])
    await tiers.flush_hot()
    assert await cache.get(tiers.key()) is None
    assert len(tiers.logged("page_lost")) == 1
    assert await cache.status(tiers.key()) is None
    await cache.repair()
    assert await tiers.rows() == []


async def test_a_damaged_blob_is_not_served(tiers: Tiers, cache: PageCache) -> None:
    await cache.put(tiers.key(), PAGE)
    [row] = await tiers.rows()
    await tiers.blobs.put(row.blob, PAGE.body[:-1])
    await tiers.flush_hot()
    assert await cache.get(tiers.key()) is None
    assert await tiers.hot_page(tiers.key()) is None


# Large pages.


async def test_a_large_page_comes_from_cold_as_a_stream_and_is_made_hot(
    tiers: Tiers, cache: PageCache
) -> None:
    page = large()
    await cache.put(tiers.key(), page)
    assert await whole(await cache.get(tiers.key())) == page.body
    for identity in (False, True):
        await tiers.settle()  # else what is being made hot would be so after all is forgotten
        await tiers.flush_hot()
        answer = await tiers.cache().get(tiers.key())
        assert answer is not None
        assert answer.stream is not None
        assert (answer.location, answer.page.etag, answer.page.size) == (COLD, page.etag, page.size)
        assert await whole(answer, identity=identity) == (page.html() if identity else page.body)
        assert answer.promoting
    await tiers.settle()
    answer = await cache.get(tiers.key())
    assert (answer and answer.location) == HOT
    assert await whole(answer, identity=True) == page.html()


async def test_a_large_page_that_is_not_read_is_closed_and_not_made_hot(
    tiers: Tiers, cache: PageCache
) -> None:
    await cache.put(tiers.key(), large())
    await tiers.flush_hot()
    for chunks in range(3):
        answer = await cache.get(tiers.key())
        assert answer is not None
        assert answer.stream is not None
        for _ in range(chunks):
            assert await anext(answer.stream)
        await answer.close()
        await answer.close()
    await cache.close()
    assert await tiers.hot_page(tiers.key()) is None


async def test_a_large_page_that_is_damaged_ends_as_an_error(tiers: Tiers, cache: PageCache) -> None:
    page = large()
    await cache.put(tiers.key(), page)
    [row] = await tiers.rows()
    await tiers.blobs.put(row.blob, page.body[:-1])
    await tiers.flush_hot()
    with pytest.raises(Problem, match="damaged"):
        await whole(await cache.get(tiers.key()))
    await cache.close()
    assert await tiers.hot_page(tiers.key()) is None


# Dropping.


async def test_a_dropped_page_is_gone_everywhere(tiers: Tiers, cache: PageCache, other: PageCache) -> None:
    await cache.put(tiers.key(), PAGE)
    assert await found(other, tiers.key()) == (HTML, HOT)
    [row] = await tiers.rows()
    assert await cache.drop(tiers.key()) == Dropped((HOT, COLD), len(HTML), 1)
    assert await tiers.blobs.get(row.blob) is None
    assert await tiers.hot_page(tiers.key()) is None
    assert await tiers.rows(stray_blobs) == []
    for reader in (cache, other):
        assert await reader.get(tiers.key()) is None
        assert await reader.status(tiers.key()) is None
        assert await reader.drop(tiers.key()) == Dropped()
    await tiers.make_due()
    await cache.repair()
    assert await tiers.rows() == []


async def test_a_page_that_is_only_cold_is_dropped(tiers: Tiers, cache: PageCache) -> None:
    await cache.put(tiers.key(), PAGE)
    await tiers.flush_hot()
    assert await cache.drop(tiers.key()) == Dropped((COLD,), len(HTML), 1)
    assert await cache.get(tiers.key()) is None


async def test_a_dropped_page_can_be_put_again_and_begins_anew(tiers: Tiers, cache: PageCache) -> None:
    for page, html in ((PAGE, HTML), (NEWER, OTHER)):
        await cache.put(tiers.key(), page)
        assert await found(cache, tiers.key()) == (html, HOT)
        await cache.flush()
        assert [(row.render_count, row.access_count) for row in await tiers.rows()] == [(1, 1)]
        await cache.drop(tiers.key())


async def test_all_variants_of_a_url_are_dropped(tiers: Tiers, cache: PageCache) -> None:
    for variant in ("default", "claude", "gemini"):
        await cache.put(tiers.key("/a", variant), PAGE)
    await cache.put(tiers.key("/a/b"), PAGE)
    assert await cache.drop(tiers.key("/a", "claude")) == Dropped((HOT, COLD), len(HTML), 1)
    assert await cache.drop_url(tiers.tenant, "https://example.com/a") == Dropped(
        (HOT, COLD), 2 * len(HTML), 2
    )
    assert await found(cache, tiers.key("/a/b")) == (HTML, HOT)


SITE = ["/", "/docs", "/docs/a", "/docs?x=1", "/docs-old", "/Docs", "/do%63s/a", "/d_cs/a", "/docs/%25"]
PREFIXES = {
    "https://example.com/docs": ["/docs", "/docs/a", "/docs?x=1", "/docs/%25"],
    "http://EXAMPLE.com/docs/": ["/docs", "/docs/a", "/docs?x=1", "/docs/%25"],
    "https://example.com/docs*": ["/docs", "/docs/a", "/docs?x=1", "/docs-old", "/docs/%25"],
    "https://example.com/docs/*": ["/docs/a", "/docs/%25"],
    "https://example.com/d_cs": ["/d_cs/a"],
    "https://example.com/d_*": ["/d_cs/a"],
    "https://example.com/docs/%25": ["/docs/%25"],
    "https://example.com/d%": [],
    "https://example.com": SITE,
    "https://example.com/*": SITE,
    "https://example.co": [],
    "https://example.com:8443/": [],
}


@pytest.mark.parametrize(("text", "paths"), PREFIXES.items())
def test_a_prefix_ends_at_a_boundary_or_at_an_asterisk(text: str, paths: list[str]) -> None:
    prefix = PagePrefix.parse(text)
    assert [path for path in SITE if prefix.matches(f"https://example.com{path}")] == paths


NO_PREFIXES = (
    *("https://example.co*", "https://example.com*", "https://*", "*", "", "ftp://example.com/"),
    *("https://example.com/a?b=c", "https://example.com/?*"),
)


@pytest.mark.parametrize("text", NO_PREFIXES)
def test_what_is_no_prefix_is_refused(text: str) -> None:
    with pytest.raises(Problem):
        PagePrefix.parse(text)


async def test_prefixes_drop_what_they_match_and_nothing_else(tiers: Tiers, cache: PageCache) -> None:
    others = [
        PageKey(tiers.tenant, "https://example.com.evil.example/docs"),
        PageKey(tiers.tenant, "https://example.com:8443/docs"),
        PageKey(tiers.other_tenant, "https://example.com/docs"),
    ]
    for key in [*others, *map(tiers.key, SITE)]:
        await cache.put(key, PAGE)
    left = set(SITE)
    for text, paths in PREFIXES.items():
        gone = left & set(paths) if ":8443" not in text else {"8443"}
        dropped = await cache.drop_prefix(tiers.tenant, PagePrefix.parse(text))
        assert (dropped.pages, dropped.freed_bytes) == (len(gone), len(gone) * len(HTML)), text
        left -= gone
        assert {path for path in SITE if await cache.get(tiers.key(path))} == left
    assert [await cache.get(key) is not None for key in others] == [True, False, True]


async def test_a_tenant_drops_all_of_its_pages_in_batches(
    tiers: Tiers, cache: PageCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.state.pages.page_drops.BATCH", 2)
    for number in range(5):
        await cache.put(tiers.key(f"/{number}"), PAGE)
    theirs = PageKey(tiers.other_tenant, "https://example.com/")
    await cache.put(theirs, PAGE)
    assert await cache.drop_tenant(tiers.tenant) == Dropped((HOT, COLD), 5 * len(HTML), 5)
    assert [await cache.get(tiers.key(f"/{number}")) for number in range(5)] == [None] * 5
    assert await found(cache, theirs) == (HTML, HOT)


# Races.


async def test_a_promotion_in_flight_does_not_bring_a_dropped_page_back(
    tiers: Tiers, cache: PageCache
) -> None:
    await cache.put(tiers.key(), PAGE)
    await tiers.evict(tiers.key())
    gated: Any = Gated(tiers.hot, "keep_page")
    promoting = tiers.cache(hot=gated)
    assert await found(promoting, tiers.key()) == (HTML, COLD)
    await gated.reached.wait()
    assert (await cache.drop(tiers.key())).pages == 1
    gated.gate.set()
    await promoting.close()
    assert await tiers.hot_page(tiers.key()) is None
    assert await promoting.get(tiers.key()) is None


async def test_nor_when_the_hot_tier_has_lost_its_fences(tiers: Tiers, cache: PageCache) -> None:
    await cache.put(tiers.key(), PAGE)
    await tiers.evict(tiers.key())
    gated: Any = Gated(tiers.hot, "keep_page")
    promoting = tiers.cache(hot=gated)
    assert await found(promoting, tiers.key()) == (HTML, COLD)
    await gated.reached.wait()
    await cache.drop(tiers.key())
    await tiers.flush_hot()
    gated.gate.set()
    await promoting.close()
    assert await tiers.hot_page(tiers.key()) is None


async def test_a_promotion_in_flight_does_not_replace_a_newer_page(tiers: Tiers, cache: PageCache) -> None:
    await cache.put(tiers.key(), PAGE)
    await tiers.evict(tiers.key())
    gated: Any = Gated(tiers.hot, "keep_page")
    promoting = tiers.cache(hot=gated)
    assert await found(promoting, tiers.key()) == (HTML, COLD)
    await gated.reached.wait()
    await cache.put(tiers.key(), NEWER)
    gated.gate.set()
    await promoting.close()
    assert await found(promoting, tiers.key()) == (OTHER, HOT)


async def test_a_page_that_is_dropped_before_it_is_published_stays_dropped(
    tiers: Tiers, cache: PageCache, other: PageCache
) -> None:
    staged = await cache.stage(tiers.key(), PAGE)
    async with tiers.database.write() as connection:
        await cache.write(connection, staged)
    assert await found(other, tiers.key()) == (HTML, COLD)
    await other.close()
    assert (await other.drop(tiers.key())).pages == 1
    await cache.publish(staged)
    await cache.flush()
    assert await cache.get(tiers.key()) is None
    assert await tiers.hot_page(tiers.key()) is None


async def test_a_page_that_is_drafted_before_a_drop_and_put_in_after_it_is_there(
    tiers: Tiers, cache: PageCache, other: PageCache
) -> None:
    await cache.put(tiers.key(), PAGE)
    staged = await cache.stage(tiers.key(), NEWER)
    await other.drop(tiers.key())
    async with tiers.database.write() as connection:
        await cache.write(connection, staged)
    await cache.publish(staged)
    assert await found(other, tiers.key()) == (OTHER, HOT)


async def test_publications_out_of_order_leave_the_newest(tiers: Tiers, cache: PageCache) -> None:
    staged_pages = [await cache.stage(tiers.key(), page) for page in (PAGE, NEWER)]
    for staged in staged_pages:
        async with tiers.database.write() as connection:
            await cache.write(connection, staged)
    for staged in reversed(staged_pages):
        await cache.publish(staged)
    assert await found(cache, tiers.key()) == (OTHER, HOT)
    await tiers.flush_hot()
    assert await found(cache, tiers.key()) == (OTHER, COLD)


@pytest.mark.parametrize("then", ["replaced", "dropped"])
async def test_a_page_that_changes_while_its_blob_is_read(tiers: Tiers, cache: PageCache, then: str) -> None:
    await cache.put(tiers.key(), PAGE)
    await tiers.flush_hot()
    gated: Any = Gated(tiers.blobs, "get")
    reading = asyncio.create_task(tiers.cache(blobs=gated).get(tiers.key()))
    await gated.reached.wait()
    if then == "replaced":
        await cache.put(tiers.key(), NEWER)
        await tiers.make_due()
        await cache.repair()
    else:
        await cache.drop(tiers.key())
    gated.gate.set()
    answer = await reading
    assert (answer and answer.page) == (NEWER if then == "replaced" else None)


async def test_a_repair_in_flight_does_not_bring_a_dropped_page_back(tiers: Tiers, cache: PageCache) -> None:
    """It uploads what the cold tier did not have, while the page is dropped."""
    await cache.put(tiers.key(), PAGE)
    [row] = await tiers.rows()
    await tiers.blobs.drop([row.blob])
    await tiers.evict(tiers.key())
    assert await cache.get(tiers.key()) is None  # so the loss is noticed …
    await tiers.hot.keep_page(f"render:{tiers.key().name}", PAGE.frame(row.edition), edition=row.edition)
    gated: Any = Gated(tiers.blobs, "put")
    repairing = tiers.cache(blobs=gated)
    running = asyncio.create_task(repairing.repair())
    await gated.reached.wait()
    assert (await cache.drop(tiers.key())).cleared_from == (HOT,)
    gated.gate.set()
    await running
    assert await repairing.get(tiers.key()) is None
    await tiers.make_due()
    await cache.repair()
    assert await tiers.rows(stray_blobs) == []
    assert await tiers.rows() == []


# Bounds and counts.


async def test_what_the_hot_tier_has_no_room_for_is_served_cold(tiers: Tiers, cache: PageCache) -> None:
    tiers.hot._max_pages = 2  # type: ignore[attr-defined]
    for path in ("/a", "/b", "/c"):
        await cache.put(tiers.key(path), page_of(b"a"))
    statuses = [await cache.status(tiers.key(path)) for path in ("/a", "/b", "/c")]
    assert [status and status.location for status in statuses] == [COLD, HOT, HOT]
    assert await found(cache, tiers.key("/a")) == (b"a", COLD)
    await cache.close()
    assert await found(cache, tiers.key("/a")) == (b"a", HOT)


async def test_accesses_are_counted_and_written_behind(
    tiers: Tiers, cache: PageCache, other: PageCache
) -> None:
    await cache.put(tiers.key(), PAGE)
    for reader in (cache, cache, other):
        await reader.get(tiers.key())
    status = await cache.status(tiers.key())
    assert status is not None
    assert status.access_count == 2
    await asyncio.gather(cache.flush(), other.close())
    status = await cache.status(tiers.key())
    assert status is not None
    assert status.access_count == 3
    [row] = await tiers.rows()
    assert row.accessed_at >= row.changed_at


async def storm(tiers: Tiers, processes: Sequence[PageCache], keys: Sequence[PageKey], seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(15):
        cache, key = chance.choice(processes), chance.choice(keys)
        match chance.choice(["put", "put", "get", "get", "get", "evict", "drop", "prefix", "repair"]):
            case "put":
                await cache.put(key, page_of(chance.randbytes(50)))
            case "get":
                await cache.get(key)
            case "evict":
                await tiers.evict(key)
            case "drop":
                await cache.drop(key)
            case "prefix":
                await cache.drop_prefix(tiers.tenant, PagePrefix.parse("https://example.com/a"))
            case "repair":
                await tiers.make_due()
                await cache.repair()


async def test_after_a_storm_both_tiers_have_what_the_rows_say(tiers: Tiers) -> None:
    """Nothing that was dropped is there, nothing old, and no blob is left over."""
    processes = [tiers.cache(), tiers.cache()]
    keys = [tiers.key(path) for path in ("/", "/a", "/a/b", "/c")]
    await asyncio.gather(*(storm(tiers, processes, keys, seed) for seed in range(12)))
    await tiers.settle()
    await tiers.make_due()
    await processes[0].repair()  # forgets what was evicted before the cold tier had it
    etags = {row.name: row.etag for row in await tiers.rows() if row.deleted_at is None}
    for _ in ("as it is", "cold"):
        for key, cache in product(keys, processes):
            answer = await cache.get(key)
            assert (answer and answer.page.etag) == etags.get(key.name)
        await tiers.settle()
        await tiers.flush_hot()
    for _ in range(2):
        await tiers.make_due()
        await processes[0].repair()
    assert await tiers.rows(stray_blobs) == []
    assert all(row.deleted_at is None and row.due_at is None for row in await tiers.rows())


async def test_a_page_that_is_dropped_and_forgotten_at_once_is_no_deadlock(
    tiers: Tiers, cache: PageCache
) -> None:
    """Both lock the page before they add to what its URL was used for, so one simply waits for the other."""
    await cache.put(tiers.key(), PAGE)
    [row] = await tiers.rows()

    async def forget() -> None:
        async with tiers.database.write() as connection:
            await page_rows.forget(connection, [row])

    async with tiers.database.write() as connection:
        held = select(cached_pages.c.name).where(cached_pages.c.name == row.name).with_for_update()
        await connection.execute(held)
        forgetting = asyncio.create_task(forget())
        await asyncio.wait({forgetting}, timeout=0.3)  # it has come as far as it can
        await past_usage.remember(connection, cached_pages.c.name == row.name)
    await forgetting
    assert await tiers.rows() == []


Action = tuple[str, str, int]
actions = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "get", "get", "drop", "prefix", "flush", "evict", "repair", "settle"]),
        st.sampled_from(["/", "/a", "/a/b", "/ab"]),
        st.integers(0, 1),
    ),
    max_size=25,
)


@settings(max_examples=40)
@given(steps=actions)
async def test_the_cache_does_what_a_plain_model_does(tiers: Tiers, steps: Sequence[Action]) -> None:
    """Two processes, in any order: what is read is what was last written."""
    await tiers.cache().drop_tenant(tiers.tenant)
    processes = [tiers.cache(), tiers.cache()]
    model: dict[str, CachedPage] = {}
    for number, (action, path, process) in enumerate(steps):
        cache, key = processes[process], tiers.key(path)
        match action:
            case "put":
                model[path] = page_of(b"%d" % number)
                await cache.put(key, model[path])
            case "drop":
                assert (await cache.drop(key)).pages == (model.pop(path, None) is not None)
            case "prefix":
                prefix = PagePrefix.parse(key.url)
                gone = [known for known in model if prefix.matches(f"https://example.com{known}")]
                assert (await cache.drop_prefix(tiers.tenant, prefix)).pages == len(gone)
                model = {known: page for known, page in model.items() if known not in gone}
            case "flush":
                await tiers.flush_hot()
            case "evict":
                await tiers.evict(key)
            case "repair":
                await tiers.make_due()
                await cache.repair()
            case "settle":
                await cache.close()
        answer = await cache.get(key)
        assert (answer and answer.page) == model.get(path)
    for cache in processes:
        await cache.close()


async def test_a_page_that_was_found_is_known_again_by_its_start(tiers: Tiers, cache: PageCache) -> None:
    async def start() -> bytes | None:
        return await tiers.hot.page(hot_name(name), start=EDITION_BYTES)

    name = tiers.key().name
    await cache.put(tiers.key(), PAGE)
    found = await cache.get(tiers.key())
    assert found is not None
    assert cache.is_still(name, found.edition, await start())
    status = await cache.status(tiers.key())
    assert status is not None
    assert status.access_count == 2
    await cache.put(tiers.key(), PAGE)
    assert not cache.is_still(name, found.edition, await start())
    await cache.drop(tiers.key())
    assert not cache.is_still(name, found.edition, await start())
