"""Prerender's and Rendertron's requests, one by one."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import copy
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.doors.fetches import say
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.renders import RENDERED, OpenRendering, Rendering, app_page, open_rendering, opened
from tests.doors.services import ADMIN_KEY, bearer
from tests.site.server import Site

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.dropin.prerender.target import read_target, target_behind
from gossamer.problems import Problem

__all__ = ["open_rendering"]
TOKEN = {"X-Prerender-Token": ADMIN_KEY}


@pytest.fixture(scope="module")
async def rendering(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, site: Site
) -> AsyncIterator[Rendering]:
    folder = tmp_path_factory.mktemp("service")
    copy(sqlite_template, folder)
    async with opened(folder, site, drain_seconds="0") as service:
        yield service


async def get(
    rendering: Rendering, path: str, headers: dict[str, str] = TOKEN, **query: Any
) -> httpx.Response:
    return await rendering.visit.client.get(path, headers=headers, params=query or None)


def exchange_for(raw_path: str, query: str = "") -> Exchange:
    scope = {
        "type": "http",
        "method": "GET",
        "path": raw_path,
        "raw_path": raw_path.encode(),
        "query_string": query.encode(),
        "headers": [],
    }
    return Exchange(scope, None, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/prerender/https://site/a", "x=1&b=%C3%BC", "https://site/a?x=1&b=%C3%BC"),
        ("/prerender/https:/site/a%2Fb", "", "https://site/a%2Fb"),
        ("/prerender/HTTP://site/", "", "http://site/"),
        ("/prerender/https%3A%2F%2Fsite%2Fa%3Fx%3D1", "", "https://site/a?x=1"),
        ("/prerender/https://site/a", "x=1&mobile", "https://site/a?x=1"),
        ("/prerender/https://site/", "_escaped_fragment_=", "https://site/"),
        ("/prerender/https://site/", "a=1&_escaped_fragment_=/b%26c", "https://site/?a=1#!/b&c"),
    ],
)
def test_where_the_page_is(path: str, query: str, expected: str) -> None:
    assert target_behind(exchange_for(path, query), "/prerender/", frozenset({"mobile"})) == expected


@pytest.mark.parametrize("address", ["", "favicon.ico", "ftp://site/", "https://", "javascript:alert(1)"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(Problem):
        read_target(address)


async def test_a_page_is_compressed_for_those_who_take_it(rendering: Rendering) -> None:
    path = f"/prerender/{rendering.site.url(app_page())}"
    for accepted in ("gzip", "identity"):
        async with rendering.visit.client.stream(
            "GET", path, headers={**TOKEN, "Accept-Encoding": accepted}
        ) as answer:
            body = b"".join([piece async for piece in answer.aiter_raw()])
        assert answer.headers.get("content-encoding") == ("gzip" if accepted == "gzip" else None)
        assert RENDERED in (gzip.decompress(body) if accepted == "gzip" else body)


async def test_a_session_is_no_key_here(rendering: Rendering) -> None:
    """Else a link could show a stranger's page, with its scripts, as one of ours."""
    person = await sign_in(rendering.visit)
    assert (await person.get("/api/me")).status_code == 200
    answer = await person.get(f"/prerender/{rendering.site.url(app_page())}")
    await person.aclose()
    assert answer.status_code == 503
    assert RENDERED not in answer.content


@pytest.mark.parametrize("bad", ["/prerender/favicon.ico", "/prerender/ftp://site/", "/prerender/http://"])
async def test_what_is_no_address_is_refused(rendering: Rendering, bad: str) -> None:
    answer = await get(rendering, bad)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "text/html; charset=utf-8")


async def test_an_address_that_must_not_be_visited(rendering: Rendering) -> None:
    answer = await get(rendering, "/prerender/http://127.0.0.2/")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


async def test_render_by_parameters(rendering: Rendering) -> None:
    url = rendering.site.url(app_page())
    html = await get(rendering, "/prerender/render", url=url)
    assert RENDERED in html.content
    posted = await rendering.visit.client.post("/prerender/render", json={"url": url}, headers=TOKEN)
    assert RENDERED in posted.content
    plain = await get(rendering, "/prerender/render", url=url, javascript="false")
    assert b"<script>" in plain.content
    for kind, start in (("png", b"\x89PNG"), ("jpeg", b"\xff\xd8\xff"), ("pdf", b"%PDF")):
        made = await get(rendering, "/prerender/render", url=url, renderType=kind, width=800, fullpage="true")
        assert (made.status_code, made.content[: len(start)]) == (200, start)
    assert (await get(rendering, "/prerender/render", url=url, renderType="har")).status_code == 400
    assert (
        await get(rendering, "/prerender/render", url=url, renderType="png", width="x")
    ).status_code == 400
    assert (await get(rendering, "/prerender/render")).status_code == 400


async def test_recache_renders_again(rendering: Rendering) -> None:
    target = app_page()
    url = rendering.site.url(target)
    await get(rendering, f"/prerender/{url}")
    before = rendering.visits(target)
    client = rendering.visit.client
    asked = await client.post("/prerender/recache", json={"prerenderToken": ADMIN_KEY, "url": url})
    assert asked.status_code == 200
    async with asyncio.timeout(30):
        while rendering.visits(target) == before:
            await asyncio.sleep(0.02)
    for body, status in (({"prerenderToken": ADMIN_KEY}, 400), ({"prerenderToken": "no", "url": url}, 401)):
        refused = await client.post("/prerender/recache", json=body)
        assert refused.status_code == status
        assert refused.json()["error"]


async def test_rendertron(rendering: Rendering) -> None:
    target = app_page()
    url = rendering.site.url(target)
    page = await get(rendering, f"/prerender/render/{quote(url, safe='')}")
    assert RENDERED in page.content
    mobile = await get(rendering, f"/prerender/render/{url}?mobile")
    assert RENDERED in mobile.content
    assert "Mobile" in (rendering.site.seen(target)[-1].header("user-agent") or "")
    visits = rendering.visits(target)
    refreshed = await get(rendering, f"/prerender/render/{quote(url, safe='')}?refreshCache=true")
    assert RENDERED in refreshed.content
    assert rendering.visits(target) > visits
    picture = await get(rendering, f"/prerender/screenshot/{quote(url, safe='')}?width=800&height=600")
    assert picture.content[:3] == b"\xff\xd8\xff"
    assert (await get(rendering, f"/prerender/invalidate/{url}")).status_code == 200
    status = (await rendering.get("/api/cache/status", url=url)).json()
    assert status["cached"] is False
    assert (await get(rendering, "/prerender/invalidate")).status_code == 200


async def test_another_key_sees_its_own_pages(rendering: Rendering) -> None:
    key = await rendering.visit.key()
    page = await get(rendering, f"/prerender/{rendering.site.url(app_page())}", bearer(key))
    assert RENDERED in page.content


async def test_something_that_is_no_page(rendering: Rendering) -> None:
    data = say('{"a": 1}', "Content-Type: application/json")
    shown = await get(rendering, f"/prerender/{rendering.site.url(data)}")
    assert (shown.status_code, '{"a": 1}' in shown.text) == (200, True)
    kept = say(b"\x00\x01" * 50, "Content-Type: application/octet-stream")
    answer = await get(rendering, f"/prerender/{rendering.site.url(kept)}")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")


async def test_a_page_that_takes_too_long_is_the_one_of_its_server(open_rendering: OpenRendering) -> None:
    async with open_rendering(working=False, prerender_seconds="0.2") as service:
        answer = await get(service, f"/prerender/{service.site.url(app_page())}")
    assert answer.status_code == 200
    assert b"<script>document" in answer.content


async def test_a_server_without_a_browser_answers_with_the_page_of_the_site(
    open_rendering: OpenRendering,
) -> None:
    async with open_rendering(chromium="/nowhere/chromium") as service:
        answer = await get(service, f"/prerender/{service.site.url(app_page())}")
    assert answer.status_code == 200
    assert b"<script>document" in answer.content
