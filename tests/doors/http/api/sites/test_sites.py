"""Sites over HTTP: registered, proven, used by renders, warmed and reported on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import OpenRendering, Rendering, open_rendering
from tests.doors.services import AS_ADMIN, bearer
from tests.site.dns import NameServer, Reply, name_server

from gossamer.flows.sites.site_keeper import RECHECK_MS, RETRY_MS
from gossamer.flows.sites.site_warmer import SiteWarmPayload
from gossamer.flows.tenants.keys import NewKey
from gossamer.state.schedules.schedules import read_clock
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.tenants import Tier

__all__ = ["open_rendering"]
GPTBOT = {"X-Gossamer-Robot": "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)"}


@dataclass
class Origin:
    """A web server of a site's owner."""

    port: int = 0
    pages: dict[str, tuple[str, str]] = field(default_factory=dict)  # status line and header lines; body

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        head, body = self.pages.get(path, ("404 Not Found", "nothing"))
        if "\r\n" not in head:
            head += "\r\nContent-Type: text/html"
        writer.write(
            f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()
        )
        await writer.drain()
        writer.close()


@asynccontextmanager
async def open_origin() -> AsyncIterator[Origin]:
    origin = Origin()
    server = await asyncio.start_server(origin.answer, "127.0.0.1", 0)
    origin.port = server.sockets[0].getsockname()[1]
    try:
        yield origin
    finally:
        server.close()


@dataclass
class Ground:
    rendering: Rendering
    origin: Origin
    names: NameServer
    key: dict[str, str]

    async def ask(self, method: str, path: str, body: Any = None, key: dict[str, str] | None = None) -> Any:
        response = await self.rendering.visit.client.request(
            method, f"/api/sites{path}", json=body, headers=key or self.key
        )
        assert response.status_code < 300, response.text
        return response.json()

    async def register(self, key: dict[str, str] | None = None, **settings: Any) -> dict[str, Any]:
        body = {"origin": self.origin.url, "settings": settings}
        made: dict[str, Any] = await self.ask("POST", "", body, key)
        return made

    async def render(self, path: str, sent: dict[str, str], **body: Any) -> Any:
        url = self.origin.url + path
        client = self.rendering.visit.client
        return await client.post("/api/render", json={"url": url, **body}, headers=sent)


@pytest.fixture
async def ground(open_rendering: OpenRendering) -> AsyncIterator[Ground]:
    async with (
        open_origin() as origin,
        name_server() as names,
        open_rendering(working=False, dns_servers=names.address, quota_sites="1,50,1000") as rendering,
    ):
        yield Ground(rendering, origin, names, bearer(await rendering.visit.key()))


async def test_a_site_is_proven_by_a_file_or_a_tag_and_not_by_another_site(ground: Ground) -> None:
    made = await ground.register()
    assert (made["state"], made["proof"], made["warmUpSchedule"]) == ("unproven", None, None)
    steps = {step["method"]: step for step in made["proofSteps"]}
    assert steps.keys() == {"file", "meta"}  # an address has no records in DNS
    token, path = steps["file"]["content"], steps["file"]["place"].removeprefix(ground.origin.url)
    proof = f"/{made['siteId']}/proof"
    found = await ground.ask("POST", proof, {})
    assert [check["finding"] for check in found["checks"]] == ["missing", "missing"]
    ground.origin.pages[path] = ("200 OK", "something else")
    async with open_origin() as other:
        other.pages["/"] = ("200 OK", steps["meta"]["content"])
        ground.origin.pages["/"] = (f"302 Found\r\nLocation: {other.url}/", "")
        found = await ground.ask("POST", proof, {})
        assert [check["finding"] for check in found["checks"]] == ["different", "different"]
    for hidden in ("<!-- {} -->", "<body>{}", "{}".replace("{}", "<meta name=gossamer-site content=other>")):
        ground.origin.pages["/"] = ("200 OK", f"<html><head>{hidden.format(steps['meta']['content'])}")
        assert (await ground.ask("POST", proof, {"method": "meta"}))["site"]["state"] == "unproven"
    ground.origin.pages["/"] = ("200 OK", f"<html><head>{steps['meta']['content']}</head>")
    found = await ground.ask("POST", proof, {})
    assert (found["site"]["state"], found["site"]["proof"]) == ("proven", "meta")
    ground.origin.pages[path] = ("200 OK", f"{token}\n")
    assert (await ground.ask("POST", proof, {"method": "file"}))["site"]["proof"] == "file"


async def test_a_site_is_proven_by_dns_and_lost_when_the_record_stays_away(ground: Ground) -> None:
    ground.names.say("shop.example", ("127.0.0.1",))
    body = {"origin": f"http://shop.example:{ground.origin.port}"}
    made = await ground.ask("POST", "", body)
    step = made["proofSteps"][0]
    assert (step["method"], step["place"]) == ("dns", "_gossamer.shop.example")
    ground.names.say(step["place"], Reply(texts=("v=other", step["content"])), Reply(texts=("v=other",)))
    proven = await ground.ask("POST", f"/{made['siteId']}/proof", {"method": "dns"})
    assert (proven["site"]["state"], proven["site"]["proof"]) == ("proven", "dns")
    keeper = ground.rendering.service.site_keeper
    async with ground.rendering.service.database.read() as connection:
        now = await read_clock(connection)
    assert await keeper.recheck_due(now=now + RECHECK_MS - 1_000) == 0
    for failed in range(3):
        shown = await ground.ask("GET", f"/{made['siteId']}")
        assert shown["state"] == "proven"
        assert await keeper.recheck_due(now=now + RECHECK_MS + 60_000 + failed * (RETRY_MS + 1)) == 1
    assert (await ground.ask("GET", f"/{made['siteId']}"))["state"] == "unproven"
    assert ground.rendering.visit.logged("site_unproven")


async def test_sites_are_kept_apart_and_bounded(ground: Ground) -> None:
    made = await ground.register()
    client, service = ground.rendering.visit.client, ground.rendering.service
    again = await client.post("/api/sites", json={"origin": ground.origin.url}, headers=ground.key)
    assert_problem(again, "UNPROCESSABLE_ENTITY")
    new = NewKey(email="other@example.com", role="user", tier=Tier.FREE)
    other = bearer((await service.keys.create(new, Actor("test"))).secret)
    assert_problem(await client.get(f"/api/sites/{made['siteId']}", headers=other), "NOT_FOUND")
    theirs = await ground.register(other)  # several may each prove an origin
    assert [site["siteId"] for site in (await ground.ask("GET", "", key=other))["sites"]] == [
        theirs["siteId"]
    ]
    more = await client.post("/api/sites", json={"origin": "http://127.0.0.1:1"}, headers=other)
    assert_problem(more, "QUOTA_EXCEEDED")
    assert (await ground.register(AS_ADMIN))["state"] == "proven"
    for wrong in ({"origin": f"{ground.origin.url}/path"}, {"origin": "ftp://a.example"}):
        assert (await client.post("/api/sites", json=wrong, headers=ground.key)).status_code == 400
    await ground.ask("DELETE", f"/{made['siteId']}")
    assert (await ground.ask("GET", ""))["sites"] == []


async def test_settings_are_used_once_the_site_is_proven(ground: Ground) -> None:
    settings: dict[str, Any] = {
        "maxAge": 60,
        "staleWhileRevalidate": 3_600,
        "excludedPaths": ["/cart", "/*.pdf"],
    }
    await ground.register(**settings)
    await ground.rendering.keep(f"{ground.origin.url}/", age=600, sent=ground.key)
    await ground.rendering.keep(f"{ground.origin.url}/", age=600)
    fresh = await ground.render("/", ground.key)
    assert (fresh.status_code, fresh.headers.get("x-cache-stale")) == (200, None)
    await ground.register(AS_ADMIN, **settings)
    stale = await ground.render("/", AS_ADMIN)
    assert stale.headers["x-cache-stale"] == "true"
    asked = await ground.render("/", AS_ADMIN, maxAge=1_000)  # what is asked for comes first
    assert "x-cache-stale" not in asked.headers
    left = await ground.render("/", AS_ADMIN, maxAge=1_000, siteFreshness=True)
    assert left.headers["x-cache-stale"] == "true"
    for path in ("/cart/1", "/a/b.pdf"):
        refused = await ground.render(path, AS_ADMIN)
        assert_problem(refused, "RENDER_EXCLUDED")
        assert refused.json()["details"]["reason"] == "excluded_path"
    assert (await ground.render("/a.pdf.html", AS_ADMIN)).status_code == 202


async def test_visits_of_robots_are_counted_by_what_they_got(ground: Ground) -> None:
    made = await ground.register(AS_ADMIN, excludedPaths=["/cart"], bots=["GPTBot", "Googlebot"])
    await ground.rendering.keep(f"{ground.origin.url}/")
    robot = {**AS_ADMIN, **GPTBOT}
    for _ in range(3):
        assert (await ground.render("/", robot)).status_code == 200
    assert (await ground.render("/new", robot)).status_code == 202
    assert (await ground.render("/cart", robot)).status_code == 409
    assert (await ground.render("/", {**AS_ADMIN, "X-Gossamer-Robot": "ClaudeBot"})).status_code == 409
    await ground.render("/", AS_ADMIN)  # nobody is counted who does not say who asks
    visits = [
        {"bot": "Googlebot/2.1", "outcome": "shell", "url": "/new", "status": 200, "count": 2},
        {"bot": "who knows", "outcome": "hit", "url": "https://elsewhere.example/", "status": 418},
    ]
    path = f"/{made['siteId']}"
    assert await ground.ask("POST", f"{path}/reports", {"visits": visits}, AS_ADMIN) == {"counted": 3}
    shown = await ground.ask("GET", f"{path}/bots?by=hour", key=AS_ADMIN)
    assert shown["total"]["visits"] == 9
    assert shown["total"]["byOutcome"] == {"hit": 4, "shell": 3, "excluded": 2}
    assert {line["bot"]: line["figures"]["visits"] for line in shown["bots"]} == {
        "GPTBot": 5,
        "Googlebot": 2,
        "ClaudeBot": 1,
        "other": 1,
    }
    assert shown["bots"][-1]["figures"]["byStatus"] == {"400": 1} or shown["bots"][-2]["bot"] == "other"
    assert [(page["url"], page["misses"]) for page in shown["mostMissed"]] == [
        (f"{ground.origin.url}/new", 3)
    ]
    assert sum(moment["visits"] for moment in shown["overTime"]) == 9


async def test_pages_are_rendered_again_by_request_and_by_schedule(ground: Ground) -> None:
    listed = "".join(
        f"<url><loc>{ground.origin.url}{path}</loc></url>" for path in ("/a", "/b", "/cart", "/c")
    )
    ground.origin.pages["/sitemap.xml"] = (
        "200 OK\r\nContent-Type: application/xml",
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>',
    )
    warm_up = {"timing": {"every": "1h"}, "pagesPerDay": 2, "perMinute": 600}
    made = await ground.register(AS_ADMIN, excludedPaths=["/cart"], maxAge=60, warmUp=warm_up)
    await ground.rendering.keep(f"{ground.origin.url}/a")
    visits = [{"bot": "GPTBot", "outcome": "shell", "url": "/c", "count": 5}]
    path = f"/{made['siteId']}"
    await ground.ask("POST", f"{path}/reports", {"visits": visits}, AS_ADMIN)
    service = ground.rendering.service
    await service.bot_reports.flush()
    site = await service.site_keeper.get(
        await service.admission.identify(AS_ADMIN["Authorization"][7:]), made["siteId"]
    )
    async with service.database.read() as connection:
        now = await read_clock(connection)
    await service.scheduler.fire_due(now=now + 3_600_001)
    schedule = await service.site_keeper.warm_up_of(site)
    assert schedule is not None
    assert schedule.id == made["warmUpSchedule"]
    job = await service.jobs.get(schedule.work_id)
    assert job is not None
    assert job.kind == "recache"
    payload = msgspec.json.decode(job.payload_json, type=SiteWarmPayload)
    result = await service.site_warmer.run(payload, "", _quietly)
    assert (result.found, result.cached, result.queued, result.limited, result.refused) == (3, 1, 2, 0, 1)
    first = await service.jobs.get(result.job_ids[0])
    assert first is not None
    assert f"{ground.origin.url}/c" in first.payload_json
    again = await service.site_warmer.run(payload, "", _quietly)
    assert (again.queued, again.limited) == (0, 2)  # the budget of the day is spent
    for wanted, found in (
        ({"urls": ["/a", "/cart"]}, 1),
        ({"prefix": "/a"}, 1),
        ({"sitemap": "/sitemap.xml"}, 3),
    ):
        accepted = await ground.ask("POST", f"{path}/recache", wanted, AS_ADMIN)
        queued = await service.jobs.get(accepted["jobId"])
        assert queued is not None
        payload = msgspec.json.decode(queued.payload_json, type=SiteWarmPayload)
        assert (await service.site_warmer.run(payload, "", _quietly)).found == found
    client = ground.rendering.visit.client
    for wrong in ({}, {"urls": ["/a"], "prefix": "/"}, {"urls": ["https://elsewhere.example/"]}):
        refused = await client.post(f"/api/sites{path}/recache", json=wrong, headers=AS_ADMIN)
        assert refused.status_code == 400, refused.text


async def _quietly(message: str, percent: int) -> None:
    pass
