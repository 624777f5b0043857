"""What callers write into requests about crawls, however odd it is: on either database, and of every kind."""

from typing import Any

import pytest
from tests.doors.crawls import OPEN, Web, begin, crawling, get, over, page, post
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting
from tests.site.server import Site

NUL_PATHS = (
    "/api/crawls/%00",
    "/api/crawls/{id}/pages/%00",
    "/api/domains/a%00b/robots",
    "/api/jobs/%00",
    "/audits/%00",
)
NUL_QUERIES = (
    "/api/crawls?cursor=%00",
    "/api/crawls/{id}/pages?host=%00",
    "/api/crawls/{id}/pages?cursor=1-%00",
    "/api/domains?cursor=%00",
    "/api/frontier/urls?host=%00",
    "/api/frontier/urls?cursor=%00",
    "/api/stats?crawl=%00",
    "/api/jobs?kind=%00",
)


@pytest.fixture
def web(site: Site) -> Web:
    return Web.on(site.origins(1)[0])


async def test_a_nul_is_refused_before_a_database_has_to(
    database_url: str, visiting: Visiting, web: Web
) -> None:
    async with visiting(database_url=database_url, **OPEN) as visit:
        crawl_id = (await begin(visit, web.seed))["crawlId"]
        for path in NUL_PATHS:
            response = await visit.client.get(path.format(id=crawl_id), headers=AS_ADMIN)
            assert_problem(response, "NOT_FOUND")
        for path in NUL_QUERIES:
            response = await visit.client.get(path.format(id=crawl_id), headers=AS_ADMIN)
            assert_problem(response, "VALIDATION_ERROR")
        for path, body in (
            ("/api/crawls", {"seeds": [web.seed], "name": "a\0b"}),
            ("/api/crawls", {"seeds": [web.seed], "include": ["/\0*"]}),
            ("/api/frontier/add", {"urls": [web.seed], "crawl": "\0"}),
        ):
            assert_problem(await post(visit, path, body), "VALIDATION_ERROR")
        assert_problem(await post(visit, "/api/admin/domains/%00/reset"), "NOT_FOUND")
        named = await begin(visit, web.seed, name="a backslash and u0000: \\u0000")
        assert named["name"] == "a backslash and u0000: \\u0000"


async def test_what_cannot_be_sent_along_is_refused_at_once(visiting: Visiting, web: Web) -> None:
    async with visiting(**OPEN) as visit:
        for value in ("a\r\nb: c", "a\nb", "\u2603"):
            body = {"seeds": [web.seed], "headers": {"Cookie": value}}
            problem = assert_problem(await post(visit, "/api/crawls", body), "VALIDATION_ERROR")
            assert problem["details"] == {"header": "Cookie"}


async def test_a_host_is_known_by_any_of_its_names(visiting: Visiting, web: Web) -> None:
    host = web.origin.removeprefix("http://")
    async with visiting(**OPEN) as visit:
        begun = await begin(visit, web.seed)
        urls = {"urls": ["http://bücher.example/", "https://bücher.example/"], "crawl": begun["crawlId"]}
        await post(visit, "/api/frontier/add", urls)
        for name, found in (
            ("bücher.example", 2),
            ("XN--bcher-kva.example", 2),
            ("bücher.example:443", 1),
            (host, 1),
            ("bücher.example/path", 0),
            ("nobody.example", 0),
        ):
            listed = await get(visit, "/api/frontier/urls", crawl=begun["crawlId"], host=name)
            assert len(listed["urls"]) == found, name
        await post(visit, f"/api/crawls/{begun['crawlId']}/stop")
        other = await begin(visit, web.seed)
        async with crawling(visit):
            await over(visit, other["crawlId"])
        assert len((await get(visit, other["pagesUrl"], host=host))["pages"]) == 3
        assert (await get(visit, other["pagesUrl"], host="127.0.0.1"))["pages"] == []
        robots = await visit.client.get(f"/api/domains/{host.upper()}/robots", headers=AS_ADMIN)
        assert robots.json()["host"] == host
        reset = (await post(visit, f"/api/admin/domains/{host}/reset")).json()
        assert (reset["host"], "counts" in reset) == (host, False)
        (listed,) = (await get(visit, "/api/domains", crawl=other["crawlId"]))["domains"]
        assert listed["counts"]["completed"] == 3


async def test_what_makes_no_other_page_is_for_the_crawl_to_say(visiting: Visiting, site: Site) -> None:
    origin = site.origins(1)[0]
    leaf = page("A leaf")
    links = [f"{leaf}?sid=1", f"{leaf}?sid=2", f"{leaf}/?pk_kw=x", f"{leaf}?utm_source=x", f"{leaf}?id=7"]
    seed = origin + page("The root", *links)
    async with visiting(**OPEN) as visit:
        plain = await begin(visit, seed)
        options: dict[str, Any] = {"ignoreParameters": ["sid", "PK_*"], "ignoreTrailingSlash": True}
        sparing = await begin(visit, seed, f"{seed}/?sid=3", **options)
        assert sparing["counts"]["pending"] == 1
        assert {name: sparing["options"][name] for name in options} == options
        async with crawling(visit):
            await over(visit, plain["crawlId"])
            await over(visit, sparing["crawlId"])
        assert len((await get(visit, plain["pagesUrl"]))["pages"]) == 6
        assert len((await get(visit, sparing["pagesUrl"]))["pages"]) == 3
        body = {"urls": [f"{origin}{leaf}?sid=9"], "crawl": sparing["crawlId"]}
        assert (await post(visit, "/api/frontier/add", body)).json()["known"] == 1


async def test_nothing_is_added_to_a_crawl_that_has_stored_enough(visiting: Visiting, web: Web) -> None:
    async with visiting(**OPEN) as visit:
        begun = await begin(visit, web.seed, maxPages=1)
        async with crawling(visit):
            done = await over(visit, begun["crawlId"])
        assert (done["counts"]["pages"], done["counts"]["pending"]) == (1, 2)
        body = {"urls": [web.origin + web.leaf + "?more"], "crawl": begun["crawlId"]}
        assert_problem(await post(visit, "/api/frontier/seed", body), "UNPROCESSABLE_ENTITY")
        assert (await get(visit, begun["statusUrl"]))["status"] == "done"
        stats = await get(visit, "/api/stats")
        assert (stats["frontier"]["pending"], stats["frontier"]["pages"]) == (0, 1)  # nobody waits for them


async def test_every_shape_of_an_answer_is_documented_and_told_apart(visiting: Visiting, web: Web) -> None:
    async with visiting(**OPEN) as visit:
        begun = await begin(visit, web.seed)
        async with crawling(visit):
            await over(visit, begun["crawlId"])
        for media_type in ("application/json", "application/x-ndjson", "text/csv"):
            headers = {**AS_ADMIN, "Accept": media_type}
            listed = await visit.client.get(begun["pagesUrl"], headers=headers)
            assert (listed.headers["content-type"].partition(";")[0], listed.headers["vary"]) == (
                media_type,
                "Accept",
            )
            assert media_type in await _documented(visit, "/api/crawls/{id}/pages")
        unknown = await visit.client.get(begun["pagesUrl"], params={"outcome": "nice"}, headers=AS_ADMIN)
        assert_problem(unknown, "VALIDATION_ERROR")
        content = await _documented(visit, "/api/crawls/{id}/pages/{page}/content")
        assert {"text/markdown", "text/plain", "text/html"} <= set(content)
        assert "text/html" in await _documented(visit, "/audits/{id}")
        assert "text/event-stream" in await _documented(visit, "/api/jobs/{id}/events")


async def _documented(visit: Visit, path: str) -> dict[str, Any]:
    document = (await visit.client.get("/openapi.json")).json()
    content: dict[str, Any] = document["paths"][path]["get"]["responses"]["200"]["content"]
    return content
