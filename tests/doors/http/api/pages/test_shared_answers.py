"""A shared answer is one that every asker could have caused: what a key leaves out is not sent either.

`/reflect` says how it was asked for, so whatever one caller smuggles past a key would be shown to the next.
"""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.doors.fetches import Fetching, fetching
from tests.doors.renders import Rendering, open_rendering, rendering
from tests.doors.services import AS_ADMIN
from tests.site.server import Request, Site

from gossamer.flows.pages.caching import CacheKey, Caching, to_shared
from gossamer.flows.render.render import page_key, visited
from gossamer.flows.render.serve import Queued
from gossamer.flows.tenants.admit import Caller, wallet
from gossamer.flows.tenants.keys import NewKey
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.tenants import PUBLIC, Role, Tier
from gossamer.web.pages.page_request import PageRequest
from gossamer.web.render.request import RenderRequest
from gossamer.web.url.url import Url, cache_form

__all__ = ["fetching", "open_rendering", "rendering"]

numbers = itertools.count()


def new_page() -> str:
    return f"/reflect/{next(numbers)}"


def asked(site: Site, target: str) -> list[Request]:
    """All requests for a page, whatever was sent along."""
    return [request for request in list(site.requests) if request.target.partition("?")[0] == target]


# Every entry point.

SMUGGLED = "?ref=EV!L&utm_term=EV!L&%72ef=EV!L#EV!L"
ENTRIES: dict[str, dict[str, Any]] = {
    "/fetch": {"formats": ["markdown", "html", "rawHtml"]},
    "/fetch/basic": {"formats": ["markdown", "html", "rawHtml"]},
    "/fetch/pro": {"formats": ["markdown", "html", "rawHtml"]},
    "/extract": {
        "schema": {"type": "object", "properties": {"asked": {"type": "string", "x-selector": "pre"}}}
    },
    "/screenshot": {},
    "/pdf": {},
}


@pytest.mark.parametrize("path", ENTRIES)
async def test_what_one_caller_smuggles_in_is_not_served_to_the_next(fetching: Fetching, path: str) -> None:
    page, body = new_page(), {"cache": True, **ENTRIES[path]}
    attack = await fetching.post(page + SMUGGLED, path=path, **body)
    victim = await fetching.post(page, path=path, **body)
    assert (attack.status_code, victim.status_code) == (200, 200), victim.text
    assert (attack.headers["x-cache-status"], victim.headers["x-cache-status"]) == ("MISS", "HIT")
    assert "EV!L" not in victim.text
    (request,) = asked(fetching.site, page)
    assert request.target == page


@pytest.mark.parametrize("path", ["/fetch", "/fetch/pro", "/extract", "/screenshot"])
async def test_what_one_caller_sends_in_headers_is_not_served_to_the_next(
    fetching: Fetching, path: str
) -> None:
    page, body = new_page(), {"cache": True, **ENTRIES[path]}
    await fetching.post(page, path=path, headers={"Cookie": "a=EV!L"}, **body)
    victim = await fetching.post(page, path=path, **body)
    assert victim.headers["x-cache-status"] == "MISS"
    assert "EV!L" not in victim.text
    assert ["EV!L" in request.raw.decode() for request in asked(fetching.site, page)] == [True, False]


async def test_without_a_cache_the_url_is_asked_for_as_given(fetching: Fetching) -> None:
    page = new_page()
    for path in ("/fetch", "/fetch/pro"):
        answer = await fetching.answer(f"{page}?ref=b&a=1#there", path=path, formats=["rawHtml"])
        assert f"{page}?ref=b&amp;a=1" in answer["rawHtml"]
    assert "#there" in answer["rawHtml"]


async def test_a_read_that_a_tracking_parameter_may_have_changed_is_not_found_by_others(
    fetching: Fetching,
) -> None:
    word = f"smuggled{next(numbers)}"
    await fetching.answer(f"{new_page()}?ref={word}")
    clean = new_page()
    await fetching.answer(f"{clean}?q={word}")
    found = await fetching.visit.client.post("/search", json={"query": word}, headers=AS_ADMIN)
    assert [hit["url"] for hit in found.json()["results"]] == [fetching.site.url(f"{clean}?q={word}")]


async def test_wallets_share_a_tenant_and_nothing_else(fetching: Fetching) -> None:
    reader, page = fetching.visit.service.reader, new_page()
    caching = Caching(PUBLIC, 60)
    attack = PageRequest(fetching.site.url(page + SMUGGLED), formats=("rawHtml",))
    await reader.read_cached(attack, wallet("0x" + "a" * 40), caching)
    victim = structs.replace(attack, url=fetching.site.url(page))
    reply = await reader.read_cached(victim, wallet("0x" + "b" * 40), caching)
    assert reply.part.hit
    assert "EV!L" not in (reply.read.raw_html or "")


async def test_a_batch_smuggles_nothing_in(rendering: Rendering) -> None:
    page, client = new_page(), rendering.visit.client
    body = {"urls": [rendering.site.url(page + SMUGGLED)], "cache": True, "formats": ["rawHtml"]}
    batch = (await client.post("/batch/fetch", json=body, headers=AS_ADMIN)).json()
    async with asyncio.timeout(60):
        while (await rendering.get(f"/api/jobs/{batch['jobId']}")).json()["status"] != "done":
            await asyncio.sleep(0.02)
    victim = {"url": rendering.site.url(page), "cache": True, "formats": ["rawHtml"]}
    answer = await client.post("/fetch", json=victim, headers=AS_ADMIN)
    assert answer.headers["x-cache-status"] == "HIT"
    assert "EV!L" not in answer.text
    assert [request.target for request in asked(rendering.site, page)] == [page]


async def test_a_render_smuggles_nothing_in(rendering: Rendering) -> None:
    page = new_page()
    attack = await rendering.ask(page + SMUGGLED, wait=30)
    victim = await rendering.ask(page)
    assert (attack.status_code, victim.status_code) == (200, 200), attack.text
    assert victim.headers["x-cache"] == "HIT"
    assert b"EV!L" not in victim.content
    assert [request.target for request in asked(rendering.site, page)] == [page]


async def test_a_warm_up_smuggles_nothing_in(rendering: Rendering) -> None:
    page = new_page()
    body = {"urls": [rendering.site.url(page + SMUGGLED), rendering.site.url(page)]}
    warm = await rendering.visit.client.post("/api/cache/warm", json=body, headers=AS_ADMIN)
    async with asyncio.timeout(60):
        while (job := (await rendering.get(f"/api/jobs/{warm.json()['jobId']}")).json())["status"] != "done":
            await asyncio.sleep(0.02)
    assert (job["result"]["found"], job["result"]["queued"]) == (1, 1)
    await rendering.over(job["result"]["jobIds"][0])
    victim = await rendering.ask(page)
    assert (victim.status_code, b"EV!L" in victim.content) == (200, False)


# Spellings that a site may tell apart are pages of their own, and are shown and deleted together.


async def test_another_spelling_that_may_be_another_resource_is_another_page(rendering: Rendering) -> None:
    page = new_page()
    for target in (page, f"{page}/", f"{page}?a=%31", f"{page}?a=1"):
        answer = await rendering.ask(target, wait=30)
        assert answer.status_code == 200
        assert f"GET {target} ".encode() in answer.content
    shown = [
        (await rendering.get("/api/cache/status", url=rendering.site.url(f"{page}{end}"))).json()
        for end in ("", "/")
    ]
    assert [one["cached"] for one in shown] == [True, True]
    assert shown[0]["normalizedUrl"] == shown[1]["normalizedUrl"]
    cleared = (await rendering.delete(url=rendering.site.url(f"{page}?ref=x"))).json()
    assert cleared["normalizedUrl"] == shown[0]["normalizedUrl"]
    left = [
        (await rendering.get("/api/cache/status", url=rendering.site.url(target))).json()["cached"]
        for target in (page, f"{page}/", f"{page}?a=1")
    ]
    assert left == [False, False, True]


# Any two requests.

NAMES = st.sampled_from(["a", "b", "B", "ref", "REF", "utm_x", "source", "%72ef", "", "a+b", "\u00e9"])
VALUES = st.sampled_from(["", "=", "=1", "=2", "=%31", "=a b", "=+", "=%FF"])
QUERIES = st.lists(st.tuples(NAMES, VALUES).map("".join), max_size=4)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["X-One", "x-one", "Cookie", "cookie", "X-Two", "Accept", "User-Agent"]),
        st.sampled_from(["1", "2", "c=d"]),
    ),
    max_size=3,
)


@dataclass(frozen=True)
class Spelling:
    """How somebody writes the URL of a page, and what is sent along."""

    slash: str
    query: list[str]
    mark: str
    fragment: str
    host: str
    headers: list[tuple[str, str]]

    def target(self, page: str) -> str:
        query = "&".join(self.query)
        return f"{page}{self.slash}{self.mark if not query else '?'}{query}{self.fragment}"

    def request(self, origin: str, page: str) -> PageRequest:
        written = origin.replace("127.0.0.1", self.host) + self.target(page)
        return PageRequest(written, headers=dict(self.headers))


SPELLINGS = st.builds(
    Spelling,
    st.sampled_from(["", "/", "//"]),
    QUERIES,
    st.sampled_from(["", "?"]),
    st.sampled_from(["", "#", "#x"]),
    st.sampled_from(["127.0.0.1", "0x7f.1", "127.1"]),
    HEADERS,
)


@st.composite
def pairs(draw: st.DrawFn) -> Sequence[Spelling]:
    """Two that are alike, as one makes the other out of it; else they would hardly ever share a key."""
    one = draw(SPELLINGS)
    other = draw(SPELLINGS)
    kept = draw(st.sets(st.sampled_from(["slash", "query", "mark", "fragment", "host", "headers"])))
    alike = replace(other, **{name: getattr(one, name) for name in kept})
    if draw(st.booleans()):
        added = draw(st.lists(st.sampled_from(["ref=1", "utm_a=2", "gclid"]), max_size=2))
        alike = replace(alike, query=draw(st.permutations([*one.query, *added])))
    if draw(st.booleans()):
        alike = replace(alike, headers=[(name.swapcase(), value) for name, value in reversed(one.headers)])
    return one, alike


@settings(max_examples=150, deadline=None)
@given(pairs())
async def test_p_two_reads_with_one_key_cause_the_same_bytes(
    fetching: Fetching, spellings: Sequence[Spelling]
) -> None:
    site, page = fetching.site, new_page()
    made: list[tuple[CacheKey, bytes]] = []
    for spelling in spellings:
        request = spelling.request(site.url(""), page)
        before = len(site.requests)
        # Each has a cache of its own, so that both are asked for.
        reply = await fetching.visit.service.reader.read_cached(
            request, Caller(Role.USER), Caching(f"tenant {next(numbers)}", 60), attempts=1
        )
        assert not reply.part.hit
        (sent,) = site.requests[before:]
        made.append((CacheKey.of("fetch", "t", to_shared(request).parameters()), sent.raw))
    (one_key, one), (other_key, other) = made
    assert (one_key.stored == other_key.stored) == (one == other)


@pytest.fixture(scope="module")
async def askers(rendering: Rendering) -> list[Caller]:
    """Two tenants, who share no jobs and no pages."""
    callers = []
    for name in ("one", "other"):
        wanted = NewKey(email=f"{name}@example.com", tier=Tier.ENTERPRISE)
        new = await rendering.service.keys.create(wanted, Actor("test"))
        callers.append(Caller(Role.USER, new.key.id, new.key.tenant_id, Tier.ENTERPRISE))
    return callers


@settings(max_examples=60, deadline=None)
@given(spellings=pairs(), schemes=st.tuples(*[st.sampled_from(["http", "https"])] * 2))
async def test_p_two_renders_with_one_key_visit_the_same_url(
    rendering: Rendering, askers: list[Caller], spellings: Sequence[Spelling], schemes: tuple[str, str]
) -> None:
    page, made = new_page(), []
    for caller, spelling, scheme in zip(askers, spellings, schemes, strict=True):
        url = Url.parse(f"{scheme}://nowhere.invalid{spelling.target(page)}")
        queued = await rendering.service.render_service.ask(caller, RenderRequest(url=url.href), "wl_test")
        assert isinstance(queued, Queued)
        key = page_key("t", url)
        made.append((key.name, visited(queued.job), key.form))
        assert key.form == cache_form(url)
        await rendering.service.jobs.cancel(queued.job.job_id)
    (one, one_visited, _), (other, other_visited, _) = made
    assert one_visited is not None
    assert (one == other) == (one_visited == other_visited)


async def test_what_a_browser_sends_for_two_spellings_with_one_key_is_the_same(rendering: Rendering) -> None:
    page = new_page()
    for target in (f"{page}?b=2&a=1&ref=x#y", f"{page}?a=1&utm_x=EV!L&b=2"):
        await rendering.ask(target, wait=30, maxAge=0)
    one, other = asked(rendering.site, page)
    assert one.raw == other.raw
    assert one.target == f"{page}?a=1&b=2"
