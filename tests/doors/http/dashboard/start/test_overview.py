"""The overview: what happens here now, live; and for a fresh installation what to do first."""

import re
from typing import Any

import httpx
import pytest
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit, Visiting

HOSTILE = "<script>alert(1)</script>\"'"


def value_at(data: Any, path: str) -> Any:
    """As live.js finds it."""
    for part in path.split("."):
        data = data[part]
    return data


async def start_crawl(client: httpx.AsyncClient, name: str) -> str:
    answer = await client.post("/api/crawls", json={"seeds": ["https://site.example/"], "name": name})
    assert answer.status_code in (200, 201, 202), answer.text
    crawl_id: str = answer.json()["crawlId"]
    return crawl_id


async def test_a_fresh_installation_says_what_to_do_first(visit: Visit) -> None:
    client = await sign_in(visit)

    page = await client.get("/app")

    assert page.status_code == 200, page.text
    assert "Begin here" in page.text
    for path in ("/app/playground", "/app/keys", "/app/crawls/new"):
        assert f'href="{path}"' in page.text
    assert "No job is queued or running." in page.text
    assert "No page was crawled in the last hour." in page.text
    assert "not known" in page.text  # the success of nothing is no number


async def test_running_crawls_and_queued_jobs_are_shown(visit: Visit) -> None:
    client = await sign_in(visit)
    crawl_id = await start_crawl(client, HOSTILE)
    queued = await client.post("/api/render", json={"url": "https://site.example/"})
    assert queued.status_code == 202, queued.text

    page = await client.get("/app")

    assert f'href="/app/crawls/{crawl_id}"' in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert "<script>alert" not in page.text
    assert "https:/<wbr>/<wbr>site.<wbr>example/<wbr>" in page.text
    assert 'href="/app/jobs?kind=render"' in page.text
    assert "Begin here" not in page.text


async def test_a_service_that_is_down_is_named_in_words_with_what_to_do(visit: Visit) -> None:
    client = await sign_in(visit)
    await client.post("/api/render", json={"url": "https://site.example/"})  # and no worker runs

    page = await client.get("/app")

    assert "Jobs wait, and no worker runs that could do them." in page.text
    assert "No worker is running for render." in page.text
    assert "<code>gossamer worker</code>" in page.text
    assert "Everything works." not in page.text


async def test_everything_that_is_bound_to_the_stream_is_in_it(visiting: Visiting) -> None:
    wallets = {
        "wallet_address": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
        "wallet_svm": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
    }
    async with visiting(**wallets) as visit:
        client = await sign_in(visit)
        await start_crawl(client, "one")

        page = await client.get("/app")
        shown = (await client.get("/api/overview")).json()

    bound = re.findall(r'data-bind="([^"]+)"', page.text)
    assert "crawls.pagesPerSecond" in bound
    assert "revenue.total" in bound
    for path in [*bound, *re.findall(r'data-reload="([^"]+)"', page.text)]:
        value_at(shown, path)  # raises KeyError where the stream has no such value
    assert 'data-stream="/api/stats/stream" data-event="overview"' in page.text


async def test_a_user_sees_their_own_work_and_no_revenue(visiting: Visiting) -> None:
    wallets = {
        "wallet_address": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
        "wallet_svm": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
    }
    async with visiting(**wallets) as visit:
        admin, user = await sign_in(visit), await sign_in(visit, "user")
        await start_crawl(admin, "crawl of the admin")

        page = await user.get("/app")
        whole = await admin.get("/app")

    assert page.status_code == 200
    assert "crawl of the admin" not in page.text
    assert "Revenue" not in page.text
    assert "crawl of the admin" in whole.text
    assert "Revenue" in whole.text


@pytest.mark.parametrize("path", ["/app", "/app/health"])
async def test_nobody_gets_in_without_a_session(visit: Visit, path: str) -> None:
    assert (await visit.client.get(path)).headers["location"] == f"/app/sign-in?next={path}"


async def test_the_start_page_leads_to_the_dashboard(visit: Visit) -> None:
    page = await visit.client.get("/", headers={"Accept": "text/html"})

    assert re.search(r'<a [^>]*href="/app"[^>]*>Open the dashboard</a>', page.text)
