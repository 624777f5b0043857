"""The frontier and the statistics over HTTP."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.doors.crawls import OPEN, Web, begin, crawling, get, over, page, post
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.server import Site

from gossamer.state.tenants.tenants import Role


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


@pytest.fixture
def web(site: Site) -> Web:
    return Web.on(site.origins(1)[0])


async def test_seeds_are_fetched_by_the_default_crawl(
    database_url: str, visiting: Visiting, web: Web
) -> None:
    async with visiting(database_url=database_url, **OPEN) as visit:
        urls = [web.seed, f"{web.seed}#part", "no URL", "http://169.254.169.254/"]
        added = (await post(visit, "/api/frontier/seed", {"urls": urls})).json()
        assert (added["added"], added["known"]) == (1, 1)
        assert [one["reason"] for one in added["refused"]] == ["invalid_url_format", "hostname_blocked"]
        again = (await post(visit, "/api/frontier/add", {"urls": [web.seed]})).json()
        assert (again["added"], again["known"], again["crawlId"]) == (0, 1, added["crawlId"])
        listed = await get(visit, "/api/frontier/urls", status="pending")
        assert [(one["url"], one["priority"], one["depth"]) for one in listed["urls"]] == [(web.seed, 3, 0)]
        assert (await get(visit, "/api/frontier/stats"))["counts"]["pending"] == 1
        async with crawling(visit), asyncio.timeout(60):
            while (await get(visit, "/api/frontier/stats"))["counts"]["pages"] < 3:
                await asyncio.sleep(0.05)
        assert {one["url"] for one in (await get(visit, "/api/pages"))["pages"]} == web.urls
        more = (await post(visit, "/api/frontier/seed", {"urls": [f"{web.seed}?more"]})).json()
        assert (more["added"], more["crawlId"]) == (1, added["crawlId"])  # it takes more at any time


async def test_urls_are_listed_by_state_host_and_page(visit: Visit, site: Site) -> None:
    one, other = site.origins(2)
    urls = [one + page("A"), one + page("B"), other + page("C")]
    body = {"urls": urls, "priority": 1}
    crawl = (await begin(visit, one + page("Root")))["crawlId"]
    assert (await post(visit, "/api/frontier/add", {**body, "crawl": crawl})).json()["added"] == 3
    first = await get(visit, "/api/frontier/urls", crawl=crawl, limit=3)
    rest = await get(visit, "/api/frontier/urls", crawl=crawl, limit=3, cursor=first["nextCursor"])
    found = first["urls"] + rest["urls"]
    assert (len(found), rest["nextCursor"]) == (4, None)
    assert [each["urlHash"] for each in found] == sorted(each["urlHash"] for each in found)
    assert {each["url"] for each in found if each["priority"] == 1} == set(urls)
    host = other.removeprefix("http://")
    here = await get(visit, "/api/frontier/urls", crawl=crawl, host=host, status="pending")
    assert [each["url"] for each in here["urls"]] == [urls[2]]
    assert (await get(visit, "/api/frontier/urls", crawl=crawl, status="failed"))["urls"] == []


async def test_what_waits_is_cleared_and_nothing_else(visit: Visit, web: Web) -> None:
    begun = await begin(visit, web.seed)
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    await post(visit, "/api/frontier/seed", {"urls": [web.seed, web.origin + web.leaf]})
    cleared = await visit.client.delete("/api/frontier", headers=AS_ADMIN)
    assert (cleared.json()["removed"], cleared.json()["left"]) == (2, 0)
    assert (await get(visit, "/api/frontier/urls"))["urls"] == []
    assert (await get(visit, "/api/frontier/stats"))["counts"]["pending"] == 0
    assert len((await get(visit, begun["pagesUrl"]))["pages"]) == 3
    assert (await post(visit, "/api/frontier/recover")).json() == {"recovered": 0}


async def test_decision1_a_url_that_is_too_long_is_refused_by_itself(visit: Visit, web: Web) -> None:
    too_long = f"{web.origin}/{'x' * 2_048}"
    for verb in ("seed", "add"):
        told = await post(visit, f"/api/frontier/{verb}", {"urls": [web.seed, too_long]})
        (refused,) = told.json()["refused"]
        assert (refused["reason"], refused["url"]) == ("url_too_long", too_long[:2_048])
    assert (await get(visit, "/api/frontier/stats"))["counts"]["pending"] == 1


async def test_a_thousand_urls_of_the_greatest_length_are_taken(visit: Visit, web: Web) -> None:
    urls = [f"{web.origin}/{number}/".ljust(2_048, "x") for number in range(1_000)]
    for verb, added in (("seed", 1_000), ("add", 0)):
        told = await post(visit, f"/api/frontier/{verb}", {"urls": urls})
        assert (told.status_code, told.json()["added"], told.json()["refused"]) == (200, added, [])
    begun = await post(visit, "/api/crawls", {"seeds": urls})
    assert (begun.status_code, begun.json()["counts"]["pending"]) == (202, 1_000)
    other = await post(visit, "/api/render", {"url": "x" * 1_000_001})
    assert other.status_code == 413  # elsewhere the setting holds


async def test_seed17_the_frontier_is_for_admins_and_seeds_have_a_limit(visiting: Visiting, web: Web) -> None:
    async with visiting(**OPEN, limit_seed_injection="2/60") as visit:
        user = bearer(await visit.key(Role.USER))
        body = {"urls": [web.seed]}
        for method, path in (
            ("GET", "/api/frontier/stats"),
            ("GET", "/api/frontier/urls"),
            ("POST", "/api/frontier/add"),
            ("POST", "/api/frontier/seed"),
            ("POST", "/api/frontier/recover"),
            ("DELETE", "/api/frontier"),
            ("POST", "/api/admin/domains/example.com/reset"),
        ):
            sent = body if method == "POST" else None
            assert_problem(await visit.client.request(method, path, json=sent, headers=user), "FORBIDDEN")
            assert_problem(await visit.client.request(method, path, json=sent), "UNAUTHORIZED")
        for _ in range(2):
            answer = await post(visit, "/api/frontier/seed", body)
            assert '"seed-injection";q=2;w=60' in answer.headers["ratelimit-policy"]
        assert_problem(await post(visit, "/api/frontier/seed", body), "RATE_LIMITED")
        assert (await post(visit, "/api/frontier/add", body)).status_code == 200


async def test_seed13_statistics_are_open_and_tell_no_names(visit: Visit, web: Web) -> None:
    before = (await visit.client.get("/api/stats")).json()
    begun = await begin(visit, web.seed)
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    answer = await visit.client.get("/api/stats")
    told = answer.json()
    assert told["frontier"]["completed"] - before["frontier"]["completed"] == 3
    assert told["pages"] == told["frontier"]["pages"] == 3
    assert (told["crawls"], told["runningCrawls"], told["domains"]) == (1, 0, 1)
    assert told["lastHour"]["statusCodes"]["2xx"] == 3
    assert told["lastHour"]["successRate"] == 1.0
    assert told["pagesPerSecond"] > 0
    assert web.origin.removeprefix("http://") not in answer.text
    mine = await get(visit, "/api/stats", crawl=begun["crawlId"])
    assert (mine["pages"], mine["crawlId"]) == (3, begun["crawlId"])
    assert_problem(await visit.client.get("/api/stats", params={"crawl": begun["crawlId"]}), "UNAUTHORIZED")
    series = await get(visit, "/api/stats/timeseries", crawl=begun["crawlId"], minutes=10)
    assert len(series["points"]) == 10  # empty minutes too
    assert sum(point["fetched"] for point in series["points"]) == 3
    assert sum(point["statusCodes"]["2xx"] for point in series["points"]) == 3
    everything = await get(visit, "/api/stats/timeseries", minutes=10, step=5)
    assert [len(everything["points"]), sum(point["fetched"] for point in everything["points"])] == [2, 3]
    user = bearer(await visit.key(Role.USER))
    theirs = await get(visit, "/api/stats/timeseries", sent=user)
    assert sum(point["fetched"] for point in theirs["points"]) == 0
    assert_problem(await visit.client.get("/api/stats/timeseries"), "UNAUTHORIZED")


async def test_domains_are_listed_and_reset(visit: Visit, site: Site) -> None:
    origins = site.origins(2)
    hosts = sorted(origin.removeprefix("http://") for origin in origins)
    begun = await begin(visit, *(Web.on(origin).seed for origin in origins))
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    first = await get(visit, "/api/domains", crawl=begun["crawlId"], limit=1)
    rest = await get(visit, "/api/domains", crawl=begun["crawlId"], limit=1, cursor=first["nextCursor"])
    found = first["domains"] + rest["domains"]
    assert ([one["host"] for one in found], rest["nextCursor"]) == (hosts, None)
    assert all(one["counts"]["completed"] == 3 and one["isAllowed"] for one in found)
    reset = await post(visit, f"/api/admin/domains/{hosts[0]}/reset")
    assert (reset.json()["host"], reset.json()["failures"]) == (hosts[0], 0)
    assert_problem(await post(visit, "/api/admin/domains/example.com/reset"), "NOT_FOUND")
