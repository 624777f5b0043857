"""Decision 11: whoever asks cannot tell a name of the internal network from one that does not exist.

Every way in is walked with one name of each kind, and everything that it answers is compared.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import zip_longest
from typing import Any

import pytest
from tests.doors.crawls import crawling, over
from tests.doors.fetches import Fetching, opened, say
from tests.doors.renders import PROSE, at_work
from tests.doors.services import AS_ADMIN
from tests.site.canary import canary
from tests.site.server import Site

INSIDE, NOWHERE = "inside.example", "absent.example"  # of one length: sizes are told too
SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}
NOT_ALIKE = re.compile(  # between any two requests
    r"wl_[0-9a-z]+_[0-9a-z]{6}|[0-9A-HJKMNP-TV-Z]{26}|\d{4}-\d\d-\d\dT[0-9:.]+Z|/said/\d+"
    r'|"[A-Za-z]*(?:Ms|Seconds|At|Time|[dD]uration)": [0-9.]+|[0-9.,]+ (?:ms|s|seconds)\b|[0-9a-f]{64}'
)
PASSING = {
    "content-length",
    "x-request-id",
    "x-processing-time",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit",
}

# What the scripts of a page can see of a request that goes wrong: they write it into the page.
WATCHING = """<!doctype html><title>Watching</title><h1>Watching</h1><p>{prose}</p><ul id=seen></ul><script>
const seen = [];
function tried(what) {{ return made => new Promise(done => {{
  made.onload = () => done(what + " loaded"); made.onerror = () => done(what + " failed");
  document.body.append(made); }}); }}
async function asked(where, how) {{
  try {{
    const answer = await fetch(where, how);
    return [answer.type, answer.status, answer.statusText, [...answer.headers], await answer.text()].join();
  }} catch (error) {{ return String(error); }}
}}
async function look(where) {{
  const [image, frame, code] = ["img", "iframe", "script"].map(name => document.createElement(name));
  image.src = where + "a.png"; frame.src = where + "frame"; code.src = where + "a.js";
  return Promise.all([tried("image")(image), tried("frame")(frame), tried("script")(code),
    asked(where, {{mode: "no-cors"}}), asked(where, {{mode: "cors"}})]);
}}
Promise.all(["http", "https"].map(scheme => look(`${{scheme}}://{host}:{port}/`))).then(found => {{
  document.getElementById("seen").innerHTML = found.flat().map(each => `<li>${{each}}</li>`).join("");
  document.body.append(Object.assign(document.createElement("b"), {{id: "done"}}));
}});
</script>"""


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, site: Site) -> AsyncIterator[Fetching]:
    folder = tmp_path_factory.mktemp("service")
    async with (
        opened(folder, site, crawl_delay="0", browser_places="2") as service,
        at_work(service.visit),
        crawling(service.visit),
    ):
        yield service


class Asking:
    """One name, asked for in every way; `heard` is all that was answered."""

    def __init__(self, service: Fetching, host: str, port: int) -> None:
        self.service = service
        self.host = host
        self.url = f"http://{host}:{port}/page"
        self.port = port
        self.heard: list[Any] = []

    async def post(self, path: str, **body: Any) -> Any:
        answer = await self.service.visit.client.post(path, json=body, headers=AS_ADMIN)
        headers = {name: value for name, value in answer.headers.items() if name not in PASSING}
        self.heard.append([answer.status_code, headers, answer.json()])
        return answer.json()

    async def get(self, path: str) -> Any:
        answer = await self.service.visit.client.get(
            path.removeprefix("https://gossamer.example"), headers={**AS_ADMIN, "Accept": "application/json"}
        )
        self.heard.append([answer.status_code, answer.json()])
        return answer.json()

    async def job(self, job_id: str) -> None:
        """Its end, and every event on the way there."""
        client = self.service.visit.client
        async with asyncio.timeout(60):
            while True:
                job = (await client.get(f"/api/jobs/{job_id}", headers=AS_ADMIN)).json()
                if job["finishedAt"]:
                    break
                await asyncio.sleep(0.02)
        events = await client.get(f"/api/jobs/{job_id}/events", headers=AS_ADMIN)
        # How often it told of its progress depends on the moment.
        steps = ("step_started", "step_done", "metric")
        told = [event for event in events.json()["events"] if event["type"] not in steps]
        self.heard += [job, json.dumps([{**event, "id": 0} for event in told])]

    def leading(self) -> str:
        """A page of the site that redirects to the name."""
        return self.service.site.url(say("", f"Location: {self.url}", status="302 Found"))

    def linking(self) -> str:
        return self.service.site.url(
            say(f"<title>Links</title><h1>Links</h1><p>{PROSE}</p><a href={self.url}>x</a>")
        )

    def watching(self) -> str:
        return self.service.site.url(say(WATCHING.format(prose=PROSE, host=self.host, port=self.port)))

    def told(self) -> list[str]:
        """All of it, line by line, without what differs between any two requests."""
        heard = json.dumps(self.heard, indent=1, sort_keys=True)
        return NOT_ALIKE.sub("…", heard).replace(self.host, "HOST").splitlines()


async def fetch(ask: Asking) -> None:
    for path in ("/fetch", "/fetch/basic", "/fetch/pro"):
        for url in (ask.url, ask.url.replace("http:", "https:"), ask.leading()):
            for cache in (True, True, False):
                await ask.post(path, url=url, cache=cache)
    await ask.post("/fetch", url=ask.url, render="auto")


async def extract(ask: Asking) -> None:
    for url in (ask.url, ask.leading()):
        await ask.post("/extract", url=url, schema=SCHEMA)


async def shoot(ask: Asking) -> None:
    for path in ("/screenshot", "/pdf"):
        for url in (ask.url, ask.leading()):
            await ask.post(path, url=url)


async def render(ask: Asking) -> None:
    for url in (ask.url, ask.leading()):
        answer = await ask.post("/api/render", url=url, wait=30)
        await ask.job(answer["details"]["jobId"])
        await ask.get(f"/api/status/{answer['details']['jobId']}")
        await ask.post("/api/render", url=url, wait=30)  # what failed is remembered


async def scripts(ask: Asking) -> None:
    page = await ask.post("/fetch/pro", url=ask.watching(), waitForSelector="#done", formats=["rawHtml"])
    assert "frame" in page["rawHtml"].partition('id="seen"')[2], page


async def batch(ask: Asking) -> None:
    for tier in ("basic", "auto", "pro"):
        begun = await ask.post("/batch/fetch", urls=[ask.url, ask.leading()], tier=tier)
        await ask.job(begun["jobId"])
        await ask.get(begun["statusUrl"])
        await ask.get(begun["resultsUrl"])


async def warm(ask: Asking) -> None:
    for sitemap in (ask.url, ask.leading()):
        begun = await ask.post("/api/cache/warm", sitemap=sitemap)
        await ask.job(begun["jobId"])


async def audit(ask: Asking) -> None:
    for url, options in (
        (ask.url, {}),
        (ask.leading(), {}),
        (ask.linking(), {"maxLinks": 5}),
        (ask.url, {"maxPages": 3}),
    ):
        begun = await ask.post("/audits", url=url, options=options)
        await ask.job(begun["jobId"])
        await ask.get(begun["reportUrl"])


async def crawl(ask: Asking) -> None:
    for seed in (ask.url, ask.leading(), ask.linking()):
        body = {"seeds": [seed], "sitemaps": True, "scope": "any"}
        begun = await ask.post("/api/crawls", **body)
        crawl = await over(ask.service.visit, begun["crawlId"])
        ask.heard.append(crawl)
        await ask.get(f"/api/crawls/{begun['crawlId']}/pages")
    await ask.get(f"/api/domains/{ask.host}:{ask.port}/robots")


WAYS: tuple[Callable[[Asking], Awaitable[None]], ...] = (
    fetch, extract, shoot, render, scripts, batch, warm, audit, crawl,
)  # fmt: skip


@pytest.mark.parametrize("walk", WAYS, ids=lambda walk: walk.__name__)
async def test_decision11_an_internal_name_is_answered_like_an_unknown_one(
    service: Fetching, walk: Callable[[Asking], Awaitable[None]]
) -> None:
    service.names.say(INSIDE, ("127.0.0.2",))
    async with canary("127.0.0.2") as bird:
        asked = [Asking(service, host, bird.port) for host in (INSIDE, NOWHERE)]
        for each in asked:
            await walk(each)
        inside, nowhere = (each.told() for each in asked)
        differ = [lines for lines in zip_longest(inside, nowhere) if lines[0] != lines[1]]
        assert not differ
        assert not [line for line in inside if "loopback" in line]
        assert bird.connections == 0
    lines = service.visit.logged("address_refused")
    assert {(line["host"], line["rule"]) for line in lines} == {(INSIDE, "loopback")}
    if walk is not crawl:  # crawls are nobody's request
        assert re.fullmatch(r"wl_[0-9a-z]+_[0-9a-z]{6}", lines[-1]["requestId"])
