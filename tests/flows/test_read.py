"""Reading through the cache: what is kept, under which key, and for how long."""

import asyncio
import io
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace
from tests.site.server import Site

from gossamer.flows.pages.caching import CacheKey, Caching, to_shared
from gossamer.flows.pages.obtain import Obtainer
from gossamer.flows.pages.read import Reader
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.tenants.admit import Caller
from gossamer.observe.logs import Log
from gossamer.problems import INVALID_SELECTOR, Problem
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.state.cache import Cache
from gossamer.state.kv.hot import Hot
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.tenants.tenants import Role
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page_request import PageRequest
from gossamer.web.pages.read_result import ReadReply

NOON = 1_800_000_000.0
SOMEONE = Caller(Role.USER, "key", "tenant")
numbers = itertools.count()


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Parts:
    site: Site
    hot: Hot
    clock: Clock
    reader: Reader

    def target(self, path: str = "/ok") -> str:
        return f"{path}?read={next(numbers)}"

    async def through(self, target: str, *, tenant: str = "t", **caching: Any) -> ReadReply:
        request = PageRequest(url=self.site.url(target))
        return await self.reader.read_cached(request, SOMEONE, Caching(tenant, **{"ttl": 60, **caching}))

    def visits(self, target: str) -> int:
        return len(self.site.seen(target))


@pytest.fixture
async def parts(site: Site) -> AsyncIterator[Parts]:
    names, hot, clock, parsers = Names(), MemoryHot(), Clock(), ParserPool(1)
    fetcher = Fetcher(Dialer(names, allow=(ip_network("127.0.0.1/32"),), ports="*"), "Gossamer/0 (tests)")
    cache = Cache(hot, Log(io.StringIO()), clock)
    yield Parts(site, hot, clock, Reader(Obtainer(fetcher, None), parsers, cache, clock=clock))
    await fetcher.close()
    await parsers.close()
    await names.close()


async def test_a_read_is_kept_until_its_time_is_over(parts: Parts) -> None:
    target = parts.target()
    first = await parts.through(target)
    assert (first.part.hit, first.part.since, first.part.until) == (False, NOON, NOON + 60)
    parts.clock.now += 59
    second = await parts.through(target)
    assert (second.part.hit, second.part.since, second.part.until) == (True, NOON, NOON + 60)
    assert second.read == first.read
    assert second.part.key == first.part.key
    parts.clock.now += 1
    third = await parts.through(target)
    assert (third.part.hit, third.read.fetched_at, third.part.until) == (False, NOON + 60, NOON + 120)
    assert parts.visits(target) == 2


async def test_what_is_older_than_asked_is_read_anew_and_kept(parts: Parts) -> None:
    target = parts.target()
    await parts.through(target)
    parts.clock.now += 10
    assert (await parts.through(target, max_age=10)).part.hit
    renewed = await parts.through(target, max_age=9)
    assert (renewed.part.hit, renewed.part.since) == (False, NOON + 10)
    assert (await parts.through(target, max_age=0)).part.hit  # of this very moment


async def test_what_is_not_ok_is_read_every_time(parts: Parts) -> None:
    target = parts.target("/status/403")
    for _ in range(2):
        reply = await parts.through(target)
        assert reply.read.outcome is Outcome.BLOCKED
        assert (reply.part.hit, reply.part.since, reply.part.until) == (False, None, None)
        parts.clock.now += 1
    assert parts.visits(target) == 2
    assert await parts.hot.pages() == (0, 0)


async def test_tenants_do_not_see_each_others(parts: Parts) -> None:
    target = parts.target()
    replies = [await parts.through(target, tenant=tenant) for tenant in ("one", "other", "one")]
    assert [reply.part.hit for reply in replies] == [False, False, True]
    assert len({reply.part.key for reply in replies}) == 1  # what is shown tells nothing


async def test_what_an_older_version_kept_is_read_anew(parts: Parts) -> None:
    target = parts.target()
    await parts.through(target)
    key = CacheKey.of("fetch", "t", PageRequest(url=parts.site.url(target)).parameters())
    await parts.reader.cache.put(key.stored, b"\x81\xa3url\xa3old", 60)
    renewed = await parts.through(target)
    assert (renewed.part.hit, renewed.read.title) == (False, "Gossamer")
    assert (await parts.through(target)).part.hit


async def test_the_url_is_the_one_that_was_asked_for(parts: Parts) -> None:
    """Two spellings are one entry, and each of their askers finds his own again."""
    target = parts.target()
    await parts.through(f"{target}&utm_source=letter#top")
    reply = await parts.through(target)
    assert reply.part.hit
    assert reply.read.url == parts.site.url(target)


async def test_nobody_waits_for_another_beyond_his_own_timeout(parts: Parts) -> None:
    target = parts.target("/first-byte-late")
    patient = PageRequest(url=parts.site.url(target), timeout=20_000)
    caching = Caching("t", 60)
    first = asyncio.create_task(parts.reader.read_cached(patient, SOMEONE, caching))
    while not parts.visits(target):
        await asyncio.sleep(0.01)
    with pytest.raises(Problem) as caught:
        await parts.reader.read_cached(replace(patient, timeout=100), SOMEONE, caching)
    assert caught.value.kind.code == "FETCH_TIMEOUT"
    assert not first.done()
    first.cancel()
    await asyncio.wait([first])


async def test_a_bad_selector_is_refused_before_anybody_is_visited(parts: Parts) -> None:
    target = parts.target()
    request = PageRequest(url=parts.site.url(target), include=("a[",))
    with pytest.raises(Problem) as caught:
        await parts.reader.read(request, SOMEONE)
    assert caught.value.kind is INVALID_SELECTOR
    assert not parts.visits(target)


async def test_only_what_was_asked_for_is_there(parts: Parts) -> None:
    request = PageRequest(url=parts.site.url("/ok"), formats=("text", "rawHtml"))
    read = await parts.reader.read(request, SOMEONE)
    assert read.text
    assert str(read.raw_html).startswith("<!doctype html>")
    assert (read.markdown, read.html, read.links) == (UNSET, UNSET, UNSET)


# Keys.

PAGE = "https://site.example/page?b=2&a=1"
REQUEST = PageRequest(url=PAGE)


def key_of(request: PageRequest) -> CacheKey:
    return CacheKey.of("fetch", "t", to_shared(request).parameters())


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://site.example/other"},
        {"url": "https://site.example/page?b=2&a=2"},
        {"url": "https://other.example/page?b=2&a=1"},
        {"formats": ("markdown",)},
        {"main_content": False},
        {"include": ("p",)},
        {"exclude": ("p",)},
        {"url": "https://site.example/page/?b=2&a=1"},
        {"url": "http://site.example/page?b=2&a=1"},
        {"url": "https://site.example/page?b=2&a=%31"},
        {"headers": {"cookie": "a=b"}},
        {"render": "auto"},
        {"render": "always"},
        {"wait_for_selector": "p"},
        {"formats": ("llm", "markdown", "metadata")},
    ],
    ids=str,
)
def test_what_the_answer_depends_on_is_in_the_key(change: dict[str, Any]) -> None:
    other, key = key_of(replace(REQUEST, **change)), key_of(REQUEST)
    assert other.stored != key.stored
    assert other.shown != key.shown


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://site.example/page?a=1&b=2"},
        {"url": "https://SITE.example:443/page?b=2&a=1&utm_campaign=x&gclid=1#part"},
        {"formats": ("metadata", "markdown", "markdown")},
        {"timeout": 1_000},
        {"max_tokens": 100},  # of a format that is not asked for
    ],
    ids=str,
)
def test_what_it_does_not_depend_on_is_not(change: dict[str, Any]) -> None:
    assert key_of(replace(REQUEST, **change)).stored == key_of(REQUEST).stored


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.text(max_size=5), st.lists(st.text(max_size=5), max_size=3)), min_size=2, max_size=2
    )
)
def test_different_selectors_and_tenants_never_share_a_place(sides: list[tuple[str, list[str]]]) -> None:
    stored = [
        CacheKey.of("fetch", tenant, PageRequest(url=PAGE, include=tuple(include)).parameters()).stored
        for tenant, include in sides
    ]
    assert (stored[0] == stored[1]) == (sides[0] == sides[1])


def test_the_key_that_is_shown_has_the_shape_that_was_promised() -> None:
    key = CacheKey.of("fetch", "tenant", REQUEST.parameters())
    shown, stored = key.shown, key.stored
    assert shown.startswith("weblens:fetch:")
    assert len(shown) == len("weblens:fetch:") + 12
    assert "tenant" in stored
    assert len(stored.rpartition(":")[2]) == 64
