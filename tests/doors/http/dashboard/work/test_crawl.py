"""One crawl: how far it is, what it has stored, and how it is controlled."""

import csv
import io
import re

import httpx
import pytest
from tests.doors.crawls import PROSE, ROBOTS, Web, begin, crawling, over, page
from tests.doors.fetches import say
from tests.doors.services import Visit
from tests.site.server import Site

HOSTILE = "<script>alert(1)</script>\"'"


@pytest.fixture
def web(site: Site) -> Web:
    return Web.on(site.origins(1)[0])


async def crawled(visit: Visit, *seeds: str, **body: object) -> str:
    begun = await begin(visit, *seeds, delay=0, **body)
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    crawl_id: str = begun["crawlId"]
    return crawl_id


async def test_a_crawl_that_is_over(visit: Visit, web: Web, admin: httpx.AsyncClient) -> None:
    crawl_id = await crawled(visit, web.seed, name=HOSTILE, maxDepth=7)
    shown = (await admin.get(f"/app/crawls/{crawl_id}")).text
    assert HOSTILE not in shown
    assert "&lt;script&gt;alert(1)" in shown
    assert 'class="pill is-done"' in shown
    assert re.search(r'data-bind="counts.pages"[^>]*>3<', shown)
    assert "Options in force" in shown
    assert re.search(r"<dt>Max depth</dt><dd>7</dd>", shown)
    assert web.origin.removeprefix("http://") in shown
    assert "A leaf" in shown  # among the newest pages
    assert "data-stream" not in shown  # nothing changes any more
    assert "/stop" not in shown
    assert "/pause" not in shown


async def test_a_crawl_is_paused_resumed_and_stopped(visit: Visit, admin: httpx.AsyncClient) -> None:
    crawl_id = (await begin(visit, "https://example.com/"))["crawlId"]
    here = f"/app/crawls/{crawl_id}"
    shown = (await admin.get(here)).text
    assert f'data-stream="/api/crawls/{crawl_id}' in shown
    assert "No worker crawls at the moment." in shown
    for change, state in (("pause", "paused"), ("resume", "running")):
        assert f'action="{here}/{change}"' in (await admin.get(here)).text
        answer = await admin.post(f"{here}/{change}")
        assert answer.headers["location"].startswith(f"{here}?notice=crawl-")
        assert f'class="pill is-{state}"' in (await admin.get(answer.headers["location"])).text
    asked = (await admin.get(f"{here}/stop")).text
    assert "It cannot be resumed." in asked
    stopped = await admin.post(f"{here}/stop")
    assert "The crawl is stopped for good." in (await admin.get(stopped.headers["location"])).text
    assert "This cannot be undone." in (await admin.get(f"{here}/delete")).text
    deleted = await admin.post(f"{here}/delete")
    listed = (await admin.get(deleted.headers["location"])).text
    assert "The crawl is being deleted" in listed
    assert here not in listed
    assert (await admin.get(here)).status_code == 404


async def test_the_pages_of_a_crawl_with_filters(visit: Visit, web: Web, admin: httpx.AsyncClient) -> None:
    bad = say(f"<title>{HOSTILE}</title><p>{PROSE}", status="404 Not Found")
    crawl_id = await crawled(visit, web.seed, web.origin + bad)
    here = f"/app/crawls/{crawl_id}/pages"

    async def listed(**query: object) -> int:
        shown = await admin.get(here, params=query)  # type: ignore[arg-type]
        assert shown.status_code == 200
        assert HOSTILE not in shown.text
        return len(re.findall(rf'href="{here}/[0-9a-f]{{64}}"', shown.text))

    assert await listed() == 4
    assert await listed(outcome="", status_code="", host="", contains="") == 4  # an empty form
    assert await listed(status_code=404) == await listed(outcome="error") == 1
    assert await listed(contains="a LEAF") == 1
    assert await listed(contains="%") == 0
    assert await listed(host=web.origin.removeprefix("http://")) == 4
    assert "No page fits these filters" in (await admin.get(here, params={"host": "example.org"})).text
    assert 'value="a LEAF"' in (await admin.get(here, params={"contains": "a LEAF"})).text
    assert (await admin.get(here, params={"status_code": "9"})).status_code == 400


async def test_exports_are_links_that_a_browser_can_follow(
    visit: Visit, web: Web, admin: httpx.AsyncClient
) -> None:
    crawl_id = await crawled(visit, web.seed)
    shown = (await admin.get(f"/app/crawls/{crawl_id}/pages")).text
    links = dict(re.findall(r'href="(/api/crawls/[^"]+)" download="pages\.(\w+)"', shown))
    found = {kind: await admin.get(link.replace("&amp;", "&")) for link, kind in links.items()}
    assert {row["url"] for row in csv.DictReader(io.StringIO(found["csv"].text))} == web.urls
    assert len(found["ndjson"].text.splitlines()) == len(found["json"].json()["pages"]) == 3


async def test_urls_that_failed_or_are_blocked_say_why(
    visit: Visit, site: Site, admin: httpx.AsyncClient
) -> None:
    (origin,) = site.origins(1)
    ROBOTS[origin.removeprefix("http://")] = "User-agent: *\nDisallow: /secret"
    odd = say(b"?", "Content-Encoding: odd")
    crawl_id = await crawled(visit, origin + page("A root", "/secret/1", odd))
    here = f"/app/crawls/{crawl_id}/urls"
    blocked = (await admin.get(f"{here}?status=blocked")).text
    assert "robots.txt does not allow it." in blocked
    assert 'rel="noreferrer noopener"' in blocked
    failed = (await admin.get(here)).text
    assert "The answer is compressed in a way that is not known here." in failed
    assert "No URL of the crawl is in this state" in (await admin.get(f"{here}?status=pending")).text


async def test_crawls_of_others_are_not_there(
    visit: Visit, admin: httpx.AsyncClient, user: httpx.AsyncClient
) -> None:
    crawl_id = (await begin(visit, "https://example.com/"))["crawlId"]
    for path in ("", "/pages", "/urls", "/stop", "/delete"):
        assert (await user.get(f"/app/crawls/{crawl_id}{path}")).status_code == 404
    for path in ("pause", "resume", "stop", "delete"):
        assert (await user.post(f"/app/crawls/{crawl_id}/{path}")).status_code == 404
    assert (await admin.get("/app/crawls/01JGGR2Z3W8Q4T6V9X0Y1B2C3D")).status_code == 404


async def test_a_crawl_without_pages_says_so(visit: Visit, admin: httpx.AsyncClient) -> None:
    crawl_id = (await begin(visit, "https://example.com/"))["crawlId"]
    assert "Nothing is stored yet" in (await admin.get(f"/app/crawls/{crawl_id}/pages")).text
