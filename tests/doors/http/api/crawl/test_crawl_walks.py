"""Where a crawl goes and where it does not: sitemaps without end, and pages that lead elsewhere."""

import asyncio
from typing import Any

from tests.doors.crawls import OPEN, PROSE, ROBOTS, begin, crawling, get, over, page
from tests.doors.fetches import say
from tests.doors.renders import APP
from tests.doors.services import Visit, Visiting, bearer
from tests.site.server import Site

from gossamer.flows.crawl.plan import AMPLE, SPARE
from gossamer.state.crawl.waiting import RENDER_LIMIT

XML = "Content-Type: application/xml"
FOLDERS = 6
EACH = 2_000


def sitemap(*urls: str, name: str = "urlset", entry: str = "url") -> str:
    entries = "".join(f"<{entry}><loc>{url}</loc></{entry}>" for url in urls)
    return say(f"<{name}>{entries}</{name}>", XML)


async def test_sitemaps_without_end_do_not_keep_a_crawl_from_its_end(visiting: Visiting, site: Site) -> None:
    origin = site.origins(1)[0]
    leaf = page("A leaf")
    inner = [
        origin + sitemap(*(f"{origin}{leaf}?{folder}-{number}" for number in range(EACH)))
        for folder in range(FOLDERS)
    ]
    index = sitemap(*inner, name="sitemapindex", entry="sitemap")
    app = say(f"<!doctype html><title>App</title><p>{PROSE}</p>")  # at every address
    ROBOTS[origin.removeprefix("http://")] = f"Sitemap: {origin}{index}\nSitemap: {origin}{app}"
    async with visiting(**OPEN) as visit:
        begun = await begin(visit, origin + page("Start"), maxPages=5, sitemaps=True)
        async with crawling(visit):
            done = await over(visit, begun["crawlId"])
        assert (done["status"], done["counts"]["pages"]) == ("done", 5)
        # What was found and not written yet is not counted: no sitemap brings more than there is room for.
        assert done["counts"]["pending"] <= len(inner) * (AMPLE * 5 + SPARE + 1)
        stored = {one["url"] for one in (await get(visit, begun["pagesUrl"]))["pages"]}
        assert len(stored) == 5
        assert not stored & {origin + app, origin + index, *inner}
        assert site.seen(app)


async def test_a_crawl_with_a_browser_obeys_those_whom_a_page_leads_to(
    visiting: Visiting, site: Site
) -> None:
    origin, forbidden, outside = site.origins(3)
    ROBOTS[forbidden.removeprefix("http://")] = "User-agent: *\nDisallow: /"
    secret, far, near = page("Secret"), page("Far"), page("Near")
    by_answer = say("", f"Location: {forbidden}{secret}", status="302 Found")
    by_script = say(f"<p>{PROSE}</p><script>location = '{forbidden}{secret}?by_script'</script>")
    leaving = say("", f"Location: {outside}{far}", status="302 Found")
    staying = say("", f"Location: {near}", status="301 Moved Permanently")
    async with visiting(**OPEN) as visit:
        anywhere = await begin(visit, origin + by_answer, origin + by_script, scope="any", render="always")
        at_home = await begin(visit, origin + leaving, origin + staying, render="always")
        async with crawling(visit):
            for crawl in (anywhere, at_home):
                await over(visit, crawl["crawlId"])
        assert await _led(visit, anywhere) == {
            origin + by_answer: (302, forbidden + secret),
            origin + by_script: (200, f"{forbidden}{secret}?by_script"),
        }
        assert (await get(visit, anywhere["statusUrl"]))["counts"]["blocked"] == 2
        assert await _led(visit, at_home) == {
            origin + leaving: (302, outside + far),
            origin + staying: (301, origin + near),
            origin + near: (200, origin + near),
        }
    seen = {request.target for request in site.requests if request.origin in _sites(forbidden, outside)}
    assert seen == {"/robots.txt"}
    assert {request.origin for request in site.seen("/robots.txt")} >= _sites(forbidden)


async def _led(visit: Visit, crawl: dict[str, Any]) -> dict[str, tuple[int, str]]:
    pages = (await get(visit, crawl["pagesUrl"]))["pages"]
    assert {one["via"] for one in pages} == {"render"}
    return {one["url"]: (one["statusCode"], one["finalUrl"]) for one in pages}


def _sites(*origins: str) -> set[str]:
    return {origin.removeprefix("http://") for origin in origins}


async def test_what_is_to_be_rendered_waits_until_its_tenant_may_render_more(
    visiting: Visiting, site: Site
) -> None:
    origin = site.origins(1)[0]
    *always, shell = (say(APP.replace("'/next'", "'#'")) for _ in range(4))
    async with visiting(**OPEN, limit_renders_pro="1/day") as visit:
        user: dict[str, Any] = {"sent": bearer(await visit.key())}
        begun = await begin(visit, *(origin + target for target in always), render="always", **user)
        async with crawling(visit):
            (rendered,) = await _limited(visit, begun, left=2)
            assert (rendered["via"], rendered["outcome"]) == ("render", "ok")
            auto = await begin(visit, origin + shell, origin + page("Plain"), render="auto", **user)
            (plain,) = await _limited(visit, auto, left=1)
            assert (plain["via"], plain["outcome"]) == ("fetch", "ok")
    assert sorted(len(site.seen(target)) for target in (*always, shell)) == [0, 0, 1, 1]


async def _limited(visit: Visit, crawl: dict[str, Any], left: int) -> list[dict[str, Any]]:
    """The pages of a crawl, when it waits with so many."""
    async with asyncio.timeout(60):
        while (waiting := (await get(visit, crawl["statusUrl"]))["waiting"] or {}).get(
            "reason"
        ) != RENDER_LIMIT:
            await asyncio.sleep(0.05)
    assert waiting["until"] > crawl["createdAt"]
    stand = await get(visit, crawl["statusUrl"])
    assert (stand["status"], stand["counts"]["pending"], stand["counts"]["failed"]) == ("running", left, 0)
    pages: list[dict[str, Any]] = (await get(visit, crawl["pagesUrl"]))["pages"]
    return pages
