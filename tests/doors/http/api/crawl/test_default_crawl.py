"""The default crawl: begun by the first seed, bounded, and no trap."""

import asyncio
from typing import Any

import pytest
from tests.doors.crawls import OPEN, Web, begin, crawling, get, over, page, post
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting
from tests.site.server import Site

from gossamer.flows.crawl import seeds

LOOKS = (
    "/api/pages",
    "/api/domains",
    "/api/stats",
    "/api/stats/timeseries",
    "/api/frontier/stats",
    "/api/frontier/urls",
    "/api/domains/example.com/robots",
    "/api/crawls",
)


async def seed(visit: Visit, *urls: str, **body: Any) -> dict[str, Any]:
    answer = await post(visit, "/api/frontier/seed", {"urls": list(urls), **body})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def test_looking_makes_nothing(visiting: Visiting) -> None:
    async with visiting(**OPEN) as visit:
        for path in LOOKS:
            await visit.client.get(path, headers=AS_ADMIN)
        assert (await get(visit, "/api/crawls"))["crawls"] == []
        assert (await get(visit, "/api/pages")) == {"pages": [], "nextCursor": None}
        assert (await get(visit, "/api/domains"))["domains"] == []
        for method, path in (("GET", "stats"), ("GET", "urls"), ("DELETE", "")):
            answer = await visit.client.request(method, f"/api/frontier/{path}".rstrip("/"), headers=AS_ADMIN)
            assert_problem(answer, "NOT_FOUND")
            assert "/api/frontier/seed" in answer.json()["hint"]
        nothing = await seed(visit, "no URL", "http://169.254.169.254/")
        assert (nothing["crawlId"], nothing["added"], len(nothing["refused"])) == (None, 0, 2)
        assert (await get(visit, "/api/crawls"))["crawls"] == []


async def test_lists_show_all_crawls_each_page_with_its_own(
    database_url: str, visiting: Visiting, site: Site
) -> None:
    one, other = (Web.on(origin) for origin in site.origins(2))
    async with visiting(database_url=database_url, **OPEN) as visit:
        first, second = await begin(visit, one.seed), await begin(visit, other.seed)
        async with crawling(visit):
            for crawl in (first, second):
                await over(visit, crawl["crawlId"])
        seen: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            answer = await get(visit, "/api/pages", limit=2, **cursor)
            seen += answer["pages"]
            if answer["nextCursor"] is None:
                break
            cursor = {"cursor": answer["nextCursor"]}
        told = [(page["crawlId"], page["url"]) for page in seen]
        assert len(told) == len(set(told)) == 6
        assert [crawl for crawl, _ in told] == [second["crawlId"]] * 3 + [first["crawlId"]] * 3
        assert {url for crawl, url in told if crawl == first["crawlId"]} == one.urls
        lines = {**AS_ADMIN, "Accept": "application/x-ndjson"}
        streamed = await visit.client.get("/api/pages", headers=lines)  # it ends by itself
        assert len(streamed.text.splitlines()) == 6
        table = await visit.client.get("/api/pages", headers={**AS_ADMIN, "Accept": "text/csv"})
        assert len(table.text.splitlines()) == 7
        host = other.origin.removeprefix("http://")
        filtered = await get(visit, "/api/pages", host=host, statusCode=200)
        assert {page["crawlId"] for page in filtered["pages"]} == {second["crawlId"]}
        domains = await get(visit, "/api/domains")
        assert (domains["crawlId"], len(domains["domains"])) == (None, 2)
        assert {one["counts"]["completed"] for one in domains["domains"]} == {3}
        narrow = await get(visit, "/api/domains", crawl=second["crawlId"])
        assert [one["host"] for one in narrow["domains"]] == [host]


async def test_its_scope_is_the_hosts_of_its_seeds_and_grows(
    database_url: str, visiting: Visiting, site: Site
) -> None:
    one, two, never = site.origins(3)
    late = page("Late")
    early = page("Early", two + late, never + page("Never"))
    async with visiting(database_url=database_url, **OPEN, default_crawl_pages=4) as visit:
        begun = await seed(visit, one + early)
        async with crawling(visit):
            await over(visit, begun["crawlId"])
            stand = await get(visit, f"/api/crawls/{begun['crawlId']}")
            assert (stand["counts"]["pages"], stand["options"]["maxPages"]) == (1, 4)
            again = await seed(visit, two + page("Root", late))
            assert again["crawlId"] == begun["crawlId"]
            await over(visit, begun["crawlId"])
        urls = {found["url"] for found in (await get(visit, "/api/pages"))["pages"]}
        assert urls >= {one + early, two + late}
        assert not any(url.startswith(never) for url in urls)
        assert len((await get(visit, f"/api/crawls/{begun['crawlId']}"))["seeds"]) == 2


async def test_when_it_is_full_or_stopped_the_next_seed_begins_another(
    visiting: Visiting, site: Site
) -> None:
    web = Web.on(site.origins(1)[0])
    async with visiting(**OPEN, default_crawl_pages=1) as visit:
        full = await seed(visit, web.seed)
        async with crawling(visit):
            assert (await over(visit, full["crawlId"]))["counts"]["pages"] == 1
        stopped = await seed(visit, web.seed)
        assert stopped["crawlId"] != full["crawlId"]
        answer = await post(visit, f"/api/crawls/{stopped['crawlId']}/stop")
        assert (answer.status_code, answer.json()["status"]) == (200, "canceled")
        third = await seed(visit, web.seed)
        assert third["crawlId"] not in (full["crawlId"], stopped["crawlId"])
        refused = await post(visit, "/api/frontier/seed", {"urls": [web.seed], "crawl": stopped["crawlId"]})
        assert_problem(refused, "UNPROCESSABLE_ENTITY")


async def test_too_many_hosts_are_for_another_one(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds, "MAX_DEFAULT_HOSTS", 2)
    async with visiting(**OPEN) as visit:
        first = await seed(visit, "http://127.0.0.1:81/", "http://127.0.0.1:82/")
        same = await seed(visit, "http://127.0.0.1:82/more")
        other = await seed(visit, "http://127.0.0.1:83/")
        assert (same["crawlId"], other["crawlId"] != first["crawlId"]) == (first["crawlId"], True)


async def test_many_first_seeds_begin_one(database_url: str, visiting: Visiting) -> None:
    async with visiting(database_url=database_url, **OPEN, limit_seed_injection="1000/60") as visit:
        urls = [f"http://127.0.0.1:{port}/" for port in range(81, 91)]
        told = await asyncio.gather(*(seed(visit, url) for url in urls))
        assert len({one["crawlId"] for one in told}) == 1
        (crawl,) = (await get(visit, "/api/crawls"))["crawls"]
        assert crawl["counts"]["pending"] == len(urls)
        stand = await get(visit, crawl["statusUrl"])
        assert sorted(stand["seeds"]) == sorted(urls)
