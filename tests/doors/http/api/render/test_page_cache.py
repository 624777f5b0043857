"""What is in the cache of rendered pages, what leaves it, and what is rendered ahead."""

import asyncio
from typing import Any

import pytest
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import OpenRendering, Rendering, article, at_work, idle, open_rendering
from tests.doors.services import AS_ADMIN, bearer

from gossamer.state.tenants.tenants import Role, Tier

__all__ = ["idle", "open_rendering"]


async def status(service: Rendering, target: str, **query: Any) -> dict[str, Any]:
    answer = await service.get("/api/cache/status", url=service.site.url(target), **query)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def test_seed3_3_cache_status(idle: Rendering) -> None:
    normal = (await idle.key("/page")).form
    assert await status(idle, "/page") == {
        "cached": False,
        "location": "none",
        "normalizedUrl": normal,
        "rendering": False,
        "message": "URL has not been rendered yet",
    }
    job_id = (await idle.ask("/page")).json()["jobId"]
    assert (await status(idle, "/page/"))["rendering"] is False  # which may be another page
    assert await status(idle, "/page?utm_source=a#b") == {
        "cached": False,
        "location": "none",
        "normalizedUrl": normal,
        "rendering": True,
        "jobId": job_id,
        "statusUrl": f"/api/status/{job_id}",
        "message": "Render job in progress",
    }
    await idle.keep("/page", "x" * 1000, age=100)
    await idle.ask("/page")
    shown = await status(idle, "/page")
    assert (shown["cached"], shown["location"], shown["rendering"]) == (True, "hot", True)
    assert (shown["size"], shown["accessCount"]) == (1000, 1)
    assert 100 <= shown["age"] < 160
    assert shown["lastRendered"].endswith("Z")
    assert (await status(idle, "/page", bot="claude"))["cached"] is False
    assert_problem(await idle.get("/api/cache/status", url="nonsense"), "INVALID_URL")
    assert_problem(await idle.get("/api/cache/status", url="http://127.0.0.2/"), "INVALID_URL")
    assert_problem(await idle.get("/api/cache/status"), "VALIDATION_ERROR")


async def test_seed3_4_a_page_is_cleared(idle: Rendering) -> None:
    await idle.keep("/page", "x" * 1000)
    queued = (await idle.ask("/other")).json()["jobId"]
    cleared = await idle.delete(url=idle.site.url("/page?fbclid=1"))
    assert cleared.status_code == 200
    assert cleared.json() == {
        "success": True,
        "clearedFrom": ["hot", "cold"],
        "freedSpace": 1000,
        "pages": 1,
        "canceledRenders": 0,
        "message": "Cache cleared for URL. Next render request will re-render the page.",
        "normalizedUrl": (await idle.key("/page")).form,
    }
    again = (await idle.delete(url=idle.site.url("/page"))).json()
    assert (again["success"], again["clearedFrom"], again["freedSpace"]) == (True, [], 0)
    assert again["message"] == "URL was not cached"
    assert (await idle.ask("/page")).status_code == 202
    canceled = (await idle.delete(url=idle.site.url("/other"))).json()
    assert canceled["canceledRenders"] == 1
    shown = await idle.over(queued)
    assert (shown["status"], shown["errorCode"]) == ("failed", "canceled")


async def test_pages_are_cleared_by_prefix_and_all_together(idle: Rendering) -> None:
    for target in ("/docs", "/docs/a", "/docs/a?page=2", "/docs-old", "/blog"):
        await idle.keep(target, "x" * 100)
    await idle.ask("/docs/queued")
    await idle.ask("/blog/queued")
    below = (await idle.delete(prefix=idle.site.url("/docs"))).json()
    assert (below["pages"], below["freedSpace"], below["canceledRenders"]) == (3, 300, 1)
    assert below["message"] == "3 pages cleared."
    assert (await idle.ask("/docs-old")).status_code == 200
    starred = (await idle.delete(prefix=idle.site.url("/docs*"))).json()
    assert (starred["pages"], starred["message"]) == (1, "1 page cleared.")
    others = bearer(await idle.visit.key(Role.USER))
    await idle.keep("/theirs", sent=others)
    everything = (await idle.delete(all="true")).json()
    assert (everything["pages"], everything["canceledRenders"]) == (1, 1)
    assert (await idle.ask("/theirs", sent=others)).status_code == 200  # admins clear their own only


@pytest.mark.parametrize(
    "query",
    [{}, {"all": "false"}, {"url": "http://127.0.0.1/", "all": "true"}, {"prefix": "http://*"}, {"x": "1"}],
)
async def test_what_to_clear_must_be_said_clearly(idle: Rendering, query: dict[str, Any]) -> None:
    refused = await idle.delete(**query)
    assert refused.status_code == 400
    assert refused.json()["code"] in ("VALIDATION_ERROR", "INVALID_URL")


async def test_users_clear_their_own_pages_only(idle: Rendering) -> None:
    await idle.keep("/page")
    user = bearer(await idle.visit.key(Role.USER))
    assert (await idle.delete(sent=user, url=idle.site.url("/page"))).json()["pages"] == 0
    assert (await idle.ask("/page")).status_code == 200


async def warmed(service: Rendering, *, sent: dict[str, str] | None = None, **body: Any) -> dict[str, Any]:
    headers = {**AS_ADMIN, **(sent or {})}
    accepted = await service.visit.client.post("/api/cache/warm", json=body, headers=headers)
    assert accepted.status_code == 202, accepted.text
    assert accepted.headers["location"] == accepted.json()["statusUrl"]
    async with asyncio.timeout(30):
        while True:
            job: dict[str, Any] = (await service.get(accepted.json()["statusUrl"], sent=sent)).json()
            if job["status"] in ("done", "failed"):
                return job
            await asyncio.sleep(0.02)


async def test_pages_are_rendered_ahead(idle: Rendering) -> None:
    first, second = say(article("First")), say(article("Second"))
    await idle.keep(second, article("Second"))
    async with at_work(idle.visit):
        urls = [idle.site.url(target) for target in (first, f"{first}?utm_source=x", second)]
        job = await warmed(idle, urls=[*urls, "http://127.0.0.2/", "nonsense"])
        result = job["result"]
        assert job["status"] == "done"
        assert (result["found"], result["queued"], result["cached"], result["refused"]) == (4, 1, 1, 2)
        reasons = {one["reason"] for one in result["problems"]}
        assert reasons == {"hostname_blocked", "invalid_url_format"}
        assert (await idle.over(result["jobIds"][0]))["status"] == "completed"
    assert (await idle.ask(first)).headers["x-cache"] == "HIT"


async def test_a_sitemap_is_rendered_ahead_up_to_the_limit(
    open_rendering: OpenRendering,
) -> None:
    async with open_rendering(working=False, limit_renders_free="2/86400") as idle:
        user = bearer(await idle.visit.key(Role.USER, Tier.FREE))
        pages = [say(article(f"Page {n}")) for n in range(4)]
        locations = "".join(f"<url><loc>{idle.site.url(page)}</loc></url>" for page in pages)
        inner = say(f"<urlset>{locations}</urlset>", "Content-Type: application/xml")
        missing = idle.site.url("/missing")
        index = say(
            f"<sitemapindex><sitemap><loc>{idle.site.url(inner)}</loc></sitemap>"
            f"<sitemap><loc>{missing}</loc></sitemap></sitemapindex>",
            "Content-Type: application/xml",
        )
        async with at_work(idle.visit):
            job = await warmed(idle, sent=user, sitemap=idle.site.url(index), limit=3)
            result = job["result"]
            assert (result["found"], result["queued"], result["limited"]) == (3, 2, 1)
            broken = await warmed(idle, sent=user, sitemap=idle.site.url(say("<html></html>")))
            assert (broken["status"], "sitemap" in broken["error"]) == ("failed", True)


@pytest.mark.parametrize(
    "body",
    [{}, {"urls": []}, {"urls": ["https://a.example/"], "sitemap": "https://a.example/"}, {"urls": [1]}],
)
async def test_what_to_warm_must_be_said_clearly(idle: Rendering, body: dict[str, Any]) -> None:
    answer = await idle.visit.client.post("/api/cache/warm", json=body, headers=AS_ADMIN)
    assert_problem(answer, "VALIDATION_ERROR")
    blocked = await idle.visit.client.post(
        "/api/cache/warm", json={"sitemap": "http://127.0.0.2/"}, headers=AS_ADMIN
    )
    assert_problem(blocked, "INVALID_URL")


async def listed(service: Rendering, **query: Any) -> dict[str, Any]:
    answer = await service.get("/api/cache/pages", **query)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def test_cached_pages_are_listed_and_found(idle: Rendering) -> None:
    for age, target in enumerate(("/docs/a", "/docs/b", "/blog")):
        await idle.keep(target, "x" * 100, age=age)
    shown = await listed(idle)
    site = (await idle.key("/")).form.rstrip("/")
    assert [page["url"] for page in shown["pages"]] == [
        f"{site}{path}" for path in ("/docs/a", "/docs/b", "/blog")
    ]
    assert (shown["pages"][0]["tiers"], shown["pages"][0]["size"]) == (["hot", "cold"], 100)
    assert shown["nextCursor"] is None
    assert len((await listed(idle, search="DOCS"))["pages"]) == 2
    assert len((await listed(idle, prefix=idle.site.url("/docs")))["pages"]) == 2
    assert len((await listed(idle, site=site.removeprefix("https://")))["pages"]) == 3
    assert (await listed(idle, site="other.example"))["pages"] == []
    first = await listed(idle, limit=2)
    rest = await listed(idle, limit=2, cursor=first["nextCursor"])
    assert [*first["pages"], *rest["pages"]] == shown["pages"]
    user = bearer(await idle.visit.key(Role.USER))
    assert (await listed(idle, sent=user))["pages"] == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"search": "a"}, "VALIDATION_ERROR"),
        ({"cursor": "x"}, "VALIDATION_ERROR"),
        ({"limit": "101"}, "VALIDATION_ERROR"),
        ({"site": "not a host"}, "INVALID_URL"),
        ({"prefix": "nonsense"}, "INVALID_URL"),
    ],
)
async def test_what_to_list_must_be_said_clearly(idle: Rendering, query: dict[str, Any], code: str) -> None:
    assert_problem(await idle.get("/api/cache/pages", **query), code)
