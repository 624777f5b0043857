"""The list of cached pages: its order, its filters and its cursors, embedded and on servers."""

import pytest
from tests.servers.tiers import NOON, Tiers, page_of

from gossamer.problems import Problem
from gossamer.state.pages.cached_page import Location
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.pages.page_key import PageKey, PagePrefix
from gossamer.state.pages.page_list import CachedPageFilter, ListedPage

PATHS = ("/", "/Docs/a", "/docs/b?page=2", "/shop/100%25", "/docs_old")


async def put_all(tiers: Tiers) -> PageCache:
    cache = tiers.cache()
    for number, path in enumerate(PATHS):
        await cache.put(tiers.key(path), page_of(b"x" * 1000, rendered_at=NOON + number))
    elsewhere = PageKey(tiers.tenant, "https://other.example/docs")
    await cache.put(elsewhere, page_of(b"x", rendered_at=NOON - 1))
    theirs = PageKey(tiers.other_tenant, "https://example.com/theirs")
    await cache.put(theirs, page_of(b"x", rendered_at=NOON + 9))
    return cache


async def listed(cache: PageCache, wanted: CachedPageFilter) -> list[str]:
    found = await cache.listing.list_page(wanted, cursor=None, limit=50)
    assert found.cursor is None
    return [page.url.partition("//")[2] for page in found.pages]


async def test_own_pages_come_last_rendered_first_and_deleted_ones_do_not(tiers: Tiers) -> None:
    cache = await put_all(tiers)
    await cache.drop(tiers.key("/shop/100%25"))
    assert await listed(cache, CachedPageFilter(tiers.tenant)) == [
        "example.com/docs_old",
        "example.com/docs/b?page=2",
        "example.com/Docs/a",
        "example.com/",
        "other.example/docs",
    ]


async def test_a_search_finds_a_part_of_the_url_in_any_case_and_knows_no_wildcards(tiers: Tiers) -> None:
    cache = await put_all(tiers)
    found = {
        text: len(await listed(cache, CachedPageFilter(tiers.tenant, text)))
        for text in ("DOCS", "docs/", "s_o", "s%o", "0%25", "other.", "theirs", "d\\o")
    }
    assert found == {
        "DOCS": 4,
        "docs/": 2,
        "s_o": 1,
        "s%o": 0,
        "0%25": 1,
        "other.": 1,
        "theirs": 0,
        "d\\o": 0,
    }


async def test_a_search_in_another_script_finds_the_encoded_url(tiers: Tiers) -> None:
    cache = tiers.cache()
    await cache.put(tiers.key("/caf%C3%A9"), page_of(b"x"))
    assert await listed(cache, CachedPageFilter(tiers.tenant, "café")) == ["example.com/caf%C3%A9"]


async def test_prefix_and_site_narrow_the_list(tiers: Tiers) -> None:
    cache = await put_all(tiers)
    below = PagePrefix.parse("https://example.com/docs")
    assert await listed(cache, CachedPageFilter(tiers.tenant, prefix=below)) == ["example.com/docs/b?page=2"]
    starred = PagePrefix.parse("https://example.com/docs*")
    assert len(await listed(cache, CachedPageFilter(tiers.tenant, prefix=starred))) == 2
    assert await listed(cache, CachedPageFilter(tiers.tenant, site="https://other.example")) == [
        "other.example/docs"
    ]
    both = CachedPageFilter(tiers.tenant, "docs", site="https://example.com")
    assert len(await listed(cache, both)) == 3


async def test_pages_follow_each_other_even_if_they_were_rendered_in_the_same_moment(tiers: Tiers) -> None:
    cache = tiers.cache()
    for number in range(5):
        await cache.put(tiers.key(f"/{number}"), page_of(b"x", rendered_at=NOON + number // 3))
    seen: list[ListedPage] = []
    cursor = None
    for _ in range(3):
        found = await cache.listing.list_page(CachedPageFilter(tiers.tenant), cursor=cursor, limit=2)
        seen += found.pages
        cursor = found.cursor
    assert cursor is None
    assert len({page.url for page in seen}) == 5
    assert [page.rendered_at for page in seen] == [NOON + 1] * 2 + [NOON] * 3
    for bad in ("", "1", f"1-{'g' * 64}", f"1-{'0' * 64}\n"):
        with pytest.raises(Problem, match="cursor"):
            await cache.listing.list_page(CachedPageFilter(tiers.tenant), cursor=bad, limit=2)


async def test_a_page_is_listed_with_its_counts_and_tiers(tiers: Tiers) -> None:
    cache, key = tiers.cache(), tiers.key("/one", "claude")
    await cache.put(key, page_of(b"x" * 1000, rendered_at=NOON, status=203, render_ms=7))
    await cache.put(key, page_of(b"y" * 1000, rendered_at=NOON + 1, status=203, render_ms=8))
    await cache.get(key)
    (before,) = (await cache.listing.list_page(CachedPageFilter(tiers.tenant), cursor=None, limit=1)).pages
    assert (before.url, before.variant, before.status) == ("https://example.com/one", "claude", 203)
    assert (before.size, before.rendered_at, before.render_ms) == (1000, NOON + 1, 8)
    assert before.stored_size < 1000
    assert (before.renders, before.hits, before.last_hit_at) == (2, 1, None)  # not written yet
    assert before.tiers == (Location.HOT, Location.COLD)
    await cache.flush()
    await tiers.evict(key)
    (after,) = (await cache.listing.list_page(CachedPageFilter(tiers.tenant), cursor=None, limit=1)).pages
    assert (after.hits, after.tiers) == (1, (Location.COLD,))
    assert after.last_hit_at is not None
