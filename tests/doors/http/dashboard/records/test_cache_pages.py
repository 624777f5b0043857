"""The pages of the page cache: pages are found, looked up, rendered, warmed and cleared."""

import time

import httpx
import pytest
from tests.doors.http.dashboard.records.test_jobs import HOSTILE, tenant_of
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.renders import Rendering, article, idle, open_rendering

from gossamer.flows.render.render import page_key
from gossamer.state.pages.cached_page import CachedPage
from gossamer.web.url.url import Url

__all__ = ["idle", "open_rendering"]


async def keep(rendering: Rendering, client: httpx.AsyncClient, *targets: str) -> None:
    """Put pages into the cache of the person who signed in."""
    tenant = await tenant_of(client)
    for target in targets:
        key = page_key(tenant, Url.parse(rendering.site.url(target)))
        page = CachedPage.of(article().encode(), url=key.url, rendered_at=round(time.time() * 1000))
        await rendering.service.page_cache.put(key, page)


async def test_an_empty_cache_says_how_to_fill_it(idle: Rendering) -> None:
    client = await sign_in(idle.visit, "user")
    assert "The cache is empty" in (await client.get("/app/cache")).text


async def test_pages_are_listed_and_found(idle: Rendering) -> None:
    client = await sign_in(idle.visit, "user")
    await keep(idle, client, "/spiders/one", "/spiders/two", "/flies/three")

    everything = (await client.get("/app/cache")).text
    found = (await client.get("/app/cache", params={"prefix": idle.site.url("/spiders/")})).text

    assert everything.count('href="/app/cache/page?url=') == 3
    assert found.count('href="/app/cache/page?url=') == 2
    assert "No page matches" in (await client.get("/app/cache?search=beetles")).text


async def test_a_search_that_cannot_be_done_says_why_beside_the_filters(idle: Rendering) -> None:
    client = await sign_in(idle.visit, "user")
    shown = await client.get("/app/cache", params={"prefix": f"nonsense{HOSTILE}"})
    assert shown.status_code == 400
    assert "data-problem" in shown.text
    assert "nonsense&lt;script&gt;" in shown.text
    assert "<script>alert" not in shown.text


async def test_one_page_is_looked_up(idle: Rendering) -> None:
    client = await sign_in(idle.visit, "user")
    await keep(idle, client, "/page")

    cached = (await client.get("/app/cache/page", params={"url": idle.site.url("/page")})).text
    missing = (await client.get("/app/cache/page", params={"url": idle.site.url("/other")})).text
    wrong = await client.get("/app/cache/page", params={"url": "nonsense"})

    assert "It is cached" in cached
    assert "Clear it" in cached
    assert "It is not cached" in missing
    assert wrong.status_code == 400
    assert "data-problem" in wrong.text
    assert (await client.get("/app/cache/page?url=x&bot=nobody")).status_code == 400


async def test_a_prefix_is_cleared_after_its_pages_were_shown(idle: Rendering) -> None:
    client = await sign_in(idle.visit, "user")
    await keep(idle, client, "/spiders/one", "/spiders/two", "/flies/three")
    prefix = idle.site.url("/spiders/")

    asked = (await client.get("/app/cache/clear", params={"prefix": prefix})).text
    assert "2 pages would go" in asked
    assert (await client.get("/app/cache")).text.count("/app/cache/page?url=") == 3  # asking changes nothing

    cleared = await client.post("/app/cache/clear", data={"once": "one", "prefix": prefix, "url": ""})
    assert "2 pages cleared." in cleared.text
    assert (await client.get("/app/cache")).text.count("/app/cache/page?url=") == 1


async def test_one_page_is_cleared(idle: Rendering) -> None:
    client = await sign_in(idle.visit, "user")
    await keep(idle, client, "/page")
    url = idle.site.url("/page")

    assert "This page would go" in (await client.get("/app/cache/clear", params={"url": url})).text
    assert "Cache cleared" in (await client.post("/app/cache/clear", data={"once": "one", "url": url})).text
    assert "It is not cached" in (await client.get("/app/cache/page", params={"url": url})).text


@pytest.mark.parametrize("fields", [{}, {"url": "https://a.example/", "prefix": "https://a.example/"}])
async def test_clearing_needs_one_of_both(idle: Rendering, fields: dict[str, str]) -> None:
    client = await sign_in(idle.visit, "user")
    refused = await client.post("/app/cache/clear", data={"once": "one", **fields})
    assert refused.status_code == 400
    assert "data-problem" in refused.text


async def test_a_render_leads_to_its_job_and_a_fresh_page_is_not_rendered(idle: Rendering) -> None:
    client = await sign_in(idle.visit, "user")
    form = {"url": idle.site.url("/page"), "maxAge": "0", "bot": "default", "keepScripts": "on"}

    queued = await client.post("/app/cache/render", data={"once": "one", **form})
    assert queued.headers["location"].startswith("/app/jobs/")
    job = (await client.get(queued.headers["location"])).text
    assert 'keepScripts&#34;</span>: <span class="word">true' in job

    await keep(idle, client, "/page")
    known = await client.post(
        "/app/cache/render", data={"once": "two", "url": form["url"], "maxAge": "3600", "bot": "default"}
    )
    assert known.headers["location"].startswith("/app/cache/page?url=")
    assert "nothing was rendered" in (await client.get(known.headers["location"])).text


async def test_a_refused_render_keeps_what_was_typed(idle: Rendering) -> None:
    client = await sign_in(idle.visit, "user")
    form = {"once": "one", "url": f"nonsense{HOSTILE}", "waitForSelector": "main > p"}
    refused = await client.post("/app/cache/render", data=form)
    assert refused.status_code == 400
    assert 'value="main &gt; p"' in refused.text
    assert "<script>alert" not in refused.text


async def test_warming_leads_to_its_job(idle: Rendering) -> None:
    client = await sign_in(idle.visit, "user")
    lines = f"{idle.site.url('/one')}\n\n{idle.site.url('/two')}"
    warmed = await client.post("/app/cache/warm", data={"once": "one", "urls": lines, "limit": "5"})
    assert warmed.status_code == 303, warmed.text
    assert "Warm the cache" in (await client.get(warmed.headers["location"])).text
    both = {"once": "two", "urls": lines, "sitemap": idle.site.url("/sitemap.xml")}
    refused = await client.post("/app/cache/warm", data=both)
    assert refused.status_code == 400
    assert "either a sitemap or a list" in refused.text
    assert idle.site.url("/two") in refused.text


async def test_nobody_sees_the_pages_of_another_tenant(idle: Rendering) -> None:
    owner, admin = await sign_in(idle.visit, "user"), await sign_in(idle.visit, "admin")
    await keep(idle, owner, "/page")
    assert "The cache is empty" in (await admin.get("/app/cache")).text
