"""Audits of whole sites: crawled, checked, compared with the run before, and shown."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.doors.crawls import NOT_SAID, OPEN, ROBOTS, crawling
from tests.doors.http.api.audit.test_audits import working
from tests.doors.http.docs.test_pages import Reader
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.paths import HTML, head, not_found, path
from tests.site.server import Reply, Request, Site

from gossamer.state.tenants.tenants import Role

PROSE = "Orb weavers build a new web nearly every day, mostly at night, and eat the old one first. " * 20


@dataclass
class Ground:
    """An origin of its own, with pages below `/walk/` that a test can change."""

    origin: str
    pages: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    guide: str = ""

    @property
    def host(self) -> str:
        return self.origin.partition("://")[2]

    def url(self, name: str = "") -> str:
        return f"{self.origin}/walk/{name}"

    def put(self, name: str, title: str, *links: str, text: str = "", more: str = "") -> None:
        anchors = "".join(f'<p><a href="/walk/{link}">To the page about {link}</a></p>' for link in links)
        self.pages[name] = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{more}</head>'
            f"<body><main><h1>{title}</h1><p>{text or f'{title}: {title.lower()}.'} {PROSE}</p></main>"
            f"{anchors}</body></html>"
        )

    def names(self, told: dict[str, Any], identity: str) -> set[str]:
        """The pages that have a finding."""
        found = [page["url"] for page in told["pages"] if identity in page["findings"]]
        return {url.removeprefix(self.url()) for url in found}


GROUNDS: dict[str, Ground] = {}


@path("walk")
async def walk(site: Site, request: Request, reply: Reply) -> None:
    known, name = GROUNDS[request.origin], request.path.removeprefix("/walk/")
    if request.method == "HEAD":
        await reply.raw(head("Content-Length: 0", HTML))
    elif name in known.moved:
        await reply.send(b"", f"Location: {known.moved[name]}", status="301 Moved")
    elif name in known.pages:
        await reply.send(known.pages[name].encode(), HTML)
    else:
        await not_found(site, request, reply)


@path("sitemap.xml")
async def sitemap(site: Site, request: Request, reply: Reply) -> None:
    known = GROUNDS.get(request.origin)
    if known is None or not known.listed:
        await not_found(site, request, reply)
        return
    entries = "".join(f"<url><loc>{known.url(name)}</loc></url>" for name in known.listed)
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    await reply.send(body.encode(), "Content-Type: application/xml")


@path("llms.txt")
async def llms(site: Site, request: Request, reply: Reply) -> None:
    known = GROUNDS.get(request.origin)
    if known is None or not known.guide:
        await not_found(site, request, reply)
    else:
        await reply.send(known.guide.encode(), "Content-Type: text/plain")


@pytest.fixture
def ground(site: Site) -> Ground:
    """A site of many faults."""
    made = Ground(site.origins(1)[0])
    GROUNDS[made.host] = made
    made.put("", "Spiders", "orb", "funnel", "old", "gone", "private/x", "twin")
    made.put("orb", "Orb weavers", "", "funnel", "deep1")
    made.put("funnel", "Funnel weavers", "", "orb")
    made.put("twin", "Funnel weavers", "", text="Funnel weavers: funnel weavers.")
    made.put("lost", "Sheet weavers", "")
    made.put("hidden", "Tangle weavers", "", more='<meta name="robots" content="noindex">')
    for number in range(1, 7):
        following = () if number == 6 else (f"deep{number + 1}",)
        made.put(f"deep{number}", f"Silk, part {number}", "", *following, text="silk " * number)
    made.moved = {"old": "older", "older": "orb", "inside": "http://localhost/"}
    made.listed = ["", "orb", "funnel", "lost", "hidden", "old", "dead", "private/y"]
    made.guide = f"# Spiders\n\n- [Orb]({made.url('orb')})\n- [Dead](/walk/dead)\n"
    ROBOTS[made.host] = "User-agent: *\nDisallow: /walk/private/\n"
    return made


@asynccontextmanager
async def at_work(visit: Visit) -> AsyncIterator[None]:
    async with working(visit), crawling(visit):
        yield


async def ask(visit: Visit, url: str, sent: dict[str, str] = AS_ADMIN, **options: Any) -> dict[str, str]:
    body = {"url": url, "options": {"maxPages": 100, "maxLinks": 0, **options}}
    response = await visit.client.post("/audits", json=body, headers=sent)
    assert response.status_code == 202, response.text
    accepted: dict[str, str] = response.json()
    return accepted


async def over(visit: Visit, job_id: str) -> dict[str, Any]:
    async with asyncio.timeout(120):
        while True:
            job: dict[str, Any] = (await visit.client.get(f"/api/jobs/{job_id}", headers=AS_ADMIN)).json()
            if job["status"] not in ("queued", "running"):
                return job
            await asyncio.sleep(0.05)


async def audited(visit: Visit, url: str, **options: Any) -> dict[str, Any]:
    """The report, as JSON."""
    accepted = await ask(visit, url, **options)
    job = await over(visit, accepted["jobId"])
    assert job["status"] == "done", job
    told: dict[str, Any] = (await visit.client.get(accepted["reportUrl"], headers=AS_ADMIN)).json()
    assert (told["status"], told["score"]) == ("done", job["result"]["score"])
    return told


@pytest.fixture
async def visit(database_url: str, visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(database_url=database_url, **OPEN) as opened:
        yield opened


async def test_a_site_from_asking_to_report_and_to_the_next_run(visit: Visit, ground: Ground) -> None:
    async with at_work(visit):
        told = await audited(visit, ground.url())
        assert (told["kind"], told["url"], told["site"]["isComplete"]) == ("site", ground.url(), True)
        assert told["site"]["pages"] == told["site"]["checked"] == 12
        expected = {
            "site-links-broken": {""},
            "site-links-redirected": {""},
            "site-links-blocked": {""},
            "redirects-long": {"old"},
            "titles-shared": {"funnel", "twin"},
            "content-shared": {"funnel", "twin"},
            "pages-orphaned": {"lost"},
            "pages-deep": {"deep4", "deep5", "deep6"},
            "sitemap-dead": {"dead"},
            "sitemap-redirects": {"old"},
            "sitemap-noindex": {"hidden"},
            "sitemap-blocked": {"private/y"},
            "llms-txt-dead": {"dead"},
        }
        assert {identity: ground.names(told, identity) for identity in expected} == expected
        findings = {finding["id"]: finding for finding in told["findings"]}
        broken = findings["site-links-broken"]
        assert (broken["scope"], broken["pages"], broken["evidence"]) == ("site", 1, ["/walk/gone (404)"])
        assert broken["places"] == [{"evidence": "/walk/gone (404)", "urls": [ground.url()], "more": 0}]
        everywhere = findings["viewport-missing"]
        assert (everywhere["scope"], everywhere["pages"]) == ("page", 12)
        assert "https-missing" in {one["id"] for one in told["notChecked"]}  # nobody expects it at 127.0.0.1
        assert told["comparison"] is None
        crawl = await visit.service.crawls.get(told["crawlId"])
        assert crawl is not None
        assert (crawl.state, crawl.spec.seeds) == ("done", (ground.url(),))
        # Some of it is repaired, and something else breaks.
        ground.put("gone", "Here again", "", "orb")
        ground.put("twin", "Purse-web spiders", "", "orb")
        ground.listed = ["", "orb", "funnel", "lost", "hidden", "missing"]
        again = await audited(visit, ground.url())
    comparison = again["comparison"]
    assert (comparison["auditId"], comparison["beforeScore"]) == (told["auditId"], told["score"])
    assert told["createdAt"] < comparison["beforeAt"] < again["createdAt"]
    changes = {change["id"]: change for change in comparison["changes"]}
    assert changes["site-links-broken"]["fixed"] == 1
    assert changes["titles-shared"]["fixedUrls"] == [ground.url("funnel"), ground.url("twin")]
    assert changes["sitemap-dead"]["newUrls"] == [ground.url("missing")]
    assert changes["sitemap-dead"]["fixedUrls"] == [ground.url("dead")]
    assert changes["pages-orphaned"]["remaining"] == 1
    links = [next(one["score"] for one in run["themes"] if one["theme"] == "links") for run in (told, again)]
    assert links[0] < links[1]
    assert min(comparison["fixed"], comparison["new"], comparison["remaining"]) > 0
    path = f"/audits/{again['auditId']}"
    page = await visit.client.get(path, headers={**AS_ADMIN, "Accept": "text/html"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    words = Reader(page.text).words
    assert f"{again['score']} of 100" in words
    assert "Since the last audit" in words
    against = (await visit.client.get(f"{path}?against={again['auditId']}", headers=AS_ADMIN)).json()
    assert (against["comparison"]["new"], against["comparison"]["fixed"]) == (0, 0)
    listed = (await visit.client.get("/audits", headers=AS_ADMIN)).json()["audits"]
    assert [line["kind"] for line in listed] == ["site", "site"]


async def test_decision12_robots_txt_is_obeyed_and_so_many_pages_are_enough(
    visit: Visit, ground: Ground, site: Site
) -> None:
    async with at_work(visit):
        told = await audited(visit, ground.url("old"), maxPages=4)
    assert told["site"]["start"] == ground.url("orb")  # where the address leads
    assert told["site"]["isComplete"] is False
    assert told["site"]["checked"] <= 4
    reasons = {one["id"]: one["reason"] for one in told["notChecked"]}
    assert reasons["pages-orphaned"] == "The crawl ended before it had seen the whole site"
    asked = [request.target for request in list(site.requests) if request.origin == ground.host]
    assert not [target for target in asked if target.startswith("/walk/private/")]


async def test_a_page_has_one_line_however_its_address_is_spelt(visit: Visit, ground: Ground) -> None:
    ground.pages, ground.listed = {}, []
    ground.put("", "Spiders", "orb?b=1&amp;a=2")
    ground.put("orb", "Orb weavers", "")
    async with at_work(visit):
        report = await audited(visit, ground.url())
    lines = [line for line in report["pages"] if "orb" in line["url"]]
    assert len(lines) == 1
    assert lines[0]["score"] is not None
    assert lines[0]["findings"]


async def test_links_to_other_sites_are_tried(visit: Visit, ground: Ground, site: Site) -> None:
    other, dead = site.other_url("/ok?audited"), site.other_url("/status/404?audited")
    ground.pages = {}
    ground.put("", "Spiders", more=f'<base href="{ground.url()}">')
    ground.pages[""] = ground.pages[""].replace(
        "</main>", f'<a href="{other}">a</a><a href="{dead}">b</a><img src="{dead}" alt="c"></main>'
    )
    async with at_work(visit):
        told = await audited(visit, ground.url(), maxLinks=5)
    outside = next(one for one in told["findings"] if one["id"] == "site-links-broken-outside")
    assert outside["places"] == [{"evidence": f"{dead} (404)", "urls": [ground.url()], "more": 0}]
    images = next(one for one in told["findings"] if one["id"] == "site-images-broken")
    assert images["places"] == outside["places"]


async def test_a_site_that_keeps_robots_out_is_told_so_at_once(visiting: Visiting, ground: Ground) -> None:
    """Its crawl would try again in an hour."""
    ROBOTS[ground.host] = NOT_SAID
    async with visiting(**OPEN) as visit:
        async with at_work(visit):
            told = await audited(visit, ground.url())
        facts = told["site"]["pages"], told["findings"][0]["id"], told["score"] < 50
        assert facts == (0, "site-unread", True)
        crawl = await visit.service.crawls.get(told["crawlId"])
        assert crawl is not None
        assert crawl.state == "canceled"


async def test_an_audit_goes_on_with_its_crawl_and_ends_it_when_nobody_wants_it(
    visit: Visit, ground: Ground
) -> None:
    accepted = await ask(visit, ground.url())
    assert await ask(visit, ground.url()) == accepted
    async with working(visit):  # and nobody crawls
        crawl_id = await begun(visit, accepted)
    job = (await visit.client.get(accepted["statusUrl"], headers=AS_ADMIN)).json()
    assert job["status"] == "queued"  # the worker that stopped has given it back
    async with working(visit):
        await running(visit, accepted)
        shown = (await visit.client.get(accepted["reportUrl"], headers=AS_ADMIN)).json()
        assert (shown["crawlId"], shown["score"], shown["pages"]) == (crawl_id, None, [])
        await visit.client.delete(accepted["statusUrl"], headers=AS_ADMIN)
        assert (await over(visit, accepted["jobId"]))["status"] == "canceled"
    crawl = await visit.service.crawls.get(crawl_id)
    assert crawl is not None
    assert crawl.state == "canceled"


async def begun(visit: Visit, accepted: dict[str, str]) -> str:
    async with asyncio.timeout(30):
        while True:
            shown = (await visit.client.get(accepted["reportUrl"], headers=AS_ADMIN)).json()
            if shown["crawlId"]:
                return str(shown["crawlId"])
            await asyncio.sleep(0.02)


async def running(visit: Visit, accepted: dict[str, str]) -> None:
    async with asyncio.timeout(30):
        while (await visit.client.get(accepted["statusUrl"], headers=AS_ADMIN)).json()["status"] != "running":
            await asyncio.sleep(0.02)


async def test_what_cannot_be_compared_or_had_is_refused(visit: Visit, ground: Ground, site: Site) -> None:
    async with working(visit):
        inside = await ask(visit, ground.url("inside"))
        assert (await over(visit, inside["jobId"]))["error"].startswith("INVALID_URL")
    page = await ask(visit, ground.url(), maxPages=1)
    one = await ask(visit, ground.url())
    for audit_id, code in ((page["auditId"], "UNPROCESSABLE_ENTITY"), ("nothing", "NOT_FOUND")):
        refused = await visit.client.get(f"{one['reportUrl']}?against={audit_id}", headers=AS_ADMIN)
        assert_problem(refused, code)
    body = {"url": ground.url(), "options": {"maxPages": 1_000_000}}
    assert_problem(await visit.client.post("/audits", json=body, headers=AS_ADMIN), "VALIDATION_ERROR")
    user = bearer(await visit.key(Role.USER))
    theirs = await ask(visit, ground.url(), sent=user)
    refused = await visit.client.get(f"{theirs['reportUrl']}?against={one['auditId']}", headers=user)
    assert_problem(refused, "NOT_FOUND")
