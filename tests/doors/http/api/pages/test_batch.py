"""Batches over HTTP, with a real worker on real pages."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from sqlalchemy import func, select
from tests.doors.fetches import say
from tests.doors.http.api.audit.test_audits import over
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.http.server.test_server import serving
from tests.doors.renders import app_page, at_work
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.paths import path
from tests.site.server import Reply, Request, Site

from gossamer.flows.batch import batch
from gossamer.flows.upkeep import upkeep
from gossamer.state.db import tables
from gossamer.state.jobs import batches, job_table
from gossamer.state.jobs.job import LeaseLost
from gossamer.state.tenants.tenants import Role, Tier

OPEN = {"egress_allow": "127.0.0.1/32", "egress_ports": "*", "limit_admin": "1000000/60"}
PROSE = "Orb weavers build a new web nearly every day, mostly at night. " * 10
LARGE = "<title>Large</title>" + "".join(
    f"<p>{number * 7919 % 1_000_003} {number:x} words</p>" for number in range(40_000)
)
numbers = itertools.count()


@pytest.fixture
async def visit(database_url: str, visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(database_url=database_url, **OPEN) as opened:
        yield opened


@pytest.fixture
async def embedded(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


def article(title: str = "An article", **options: Any) -> str:
    return say(f"<html lang=en><title>{title}</title><h1>{title}</h1><p>{PROSE}</p>", **options)


class Gate:
    """Pages that are not answered before they are told to, and how many are asked for at the same time."""

    def __init__(self, site: Site) -> None:
        self.name = str(next(numbers))
        self.waiting = 0
        self.most = 0
        self.site = site
        self._opened: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_open = False
        GATES[self.name] = self

    def url(self, page: int) -> str:
        return self.site.url(f"/gate/{self.name}/{page}")

    async def answer(self, reply: Reply) -> None:
        """In the site's own thread."""
        self._loop = asyncio.get_running_loop()
        self._opened = self._opened or asyncio.Event()
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        if not self._is_open:
            await self._opened.wait()
        self.waiting -= 1
        await reply.send(f"<title>A page</title><p>{PROSE}".encode(), "Content-Type: text/html")

    def open(self) -> None:
        self._is_open = True
        if self._loop is not None and self._opened is not None:
            self._loop.call_soon_threadsafe(self._opened.set)


GATES: dict[str, Gate] = {}


@path("gate")
async def gate(site: Site, request: Request, reply: Reply) -> None:
    """/gate/{name}/{page}: a page that waits until its gate is opened."""
    await GATES[request.path.split("/")[2]].answer(reply)


async def ask(visit: Visit, *urls: str, sent: dict[str, str] | None = None, **body: Any) -> dict[str, Any]:
    response = await visit.client.post(
        "/batch/fetch", json={"urls": urls, **body}, headers={**AS_ADMIN, **(sent or {})}
    )
    assert response.status_code == 202, response.text
    accepted: dict[str, Any] = response.json()
    return accepted


async def get(visit: Visit, path: str) -> dict[str, Any]:
    response = await visit.client.get(path, headers=AS_ADMIN)
    assert response.status_code == 200, response.text
    shown: dict[str, Any] = response.json()
    return shown


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def until_pending(visit: Visit, accepted: dict[str, Any], count: int) -> dict[str, Any]:
    async with asyncio.timeout(30):
        while (shown := await get(visit, accepted["statusUrl"]))["pending"] != count:
            await asyncio.sleep(0.02)
        return shown


async def test_every_url_gets_its_result_in_the_order_of_the_request(visit: Visit, site: Site) -> None:
    good, gone = site.url(article()), site.url(say("Not here", status="404 Not Found"))
    urls = [
        good,
        "non\x01sense \u202e\U0001f577",
        gone,
        "http://127.0.0.1:1/",
        good,
        "http://127.0.0.9:8080/",
        site.url("/204"),
    ]
    async with at_work(visit):
        accepted = await ask(visit, *urls)
        assert accepted["batchId"] == accepted["jobId"]
        assert accepted["total"] == 7
        job = await over(visit, accepted["jobId"])
    counts = {"total": 7, "done": 4, "ok": 2, "notOk": 2, "failed": 3}
    assert (job["status"], job["progress"], job["attempt"]) == ("done", 100, 1)
    assert job["result"] == {**counts, "resultsUrl": accepted["resultsUrl"]}
    shown = await get(visit, accepted["statusUrl"])
    assert {name: shown[name] for name in counts} == counts
    assert (shown["status"], shown["pending"], shown["progress"], shown["error"]) == ("done", 0, 100, None)
    assert shown["createdAt"] <= shown["startedAt"] <= shown["finishedAt"]
    page = await get(visit, accepted["resultsUrl"])
    assert (page["pending"], page["nextCursor"]) == (0, None)
    results = page["results"]
    assert [(result["index"], result["url"]) for result in results] == list(enumerate(urls))
    assert [result["status"] for result in results] == [
        "done",
        "failed",
        "done",
        "failed",
        "done",
        "failed",
        "done",
    ]
    assert results[0]["result"]["outcome"] == "ok"
    assert results[0]["result"]["content"].startswith("# An article")
    assert results[0]["result"]["tier"] == "basic"
    assert results[0]["result"]["requestId"] == job["requestId"]
    assert (results[2]["result"]["statusCode"], results[2]["result"]["outcome"]) == (404, "error")
    problems = {result["index"]: result["problem"] for result in results if "problem" in result}
    assert (problems[1]["code"], problems[1]["reason"]) == ("INVALID_URL", "invalid_url_format")
    assert problems[3]["code"] == "FETCH_FAILED"
    assert (problems[5]["code"], problems[5]["reason"]) == ("INVALID_URL", "hostname_blocked")
    assert len(site.seen(good.removeprefix(site.url("")))) == 1  # listed twice, read once
    assert site.seen("/204")


async def test_pages_of_results_are_stable_and_there_as_soon_as_they_are_done(
    embedded: Visit, site: Site
) -> None:
    held = Gate(site)
    urls = [held.url(0), *(site.url(article(f"Page {number}")) for number in range(1, 6))]
    async with at_work(embedded):
        accepted = await ask(embedded, *urls, formats=["metadata"])
        shown = await until_pending(embedded, accepted, 1)
        assert (shown["status"], shown["ok"]) == ("running", 5)
        first = await get(embedded, f"{accepted['resultsUrl']}?limit=2")
        assert [result["index"] for result in first["results"]] == [1]
        assert (first["pending"], first["nextCursor"]) == (1, 2)
        rest = await get(embedded, f"{accepted['resultsUrl']}?cursor=2&limit=100")
        assert [result["result"]["title"] for result in rest["results"]] == [
            f"Page {number}" for number in range(2, 6)
        ]
        held.open()
        await over(embedded, accepted["jobId"])
    again = await get(embedded, f"{accepted['resultsUrl']}?limit=2")
    assert [result["index"] for result in again["results"]] == [0, 1]
    assert (again["pending"], again["nextCursor"]) == (0, 2)
    assert await get(embedded, f"{accepted['resultsUrl']}?cursor=2&limit=100") == rest
    beyond = await get(embedded, f"{accepted['resultsUrl']}?cursor=6")
    assert beyond == {"results": [], "pending": 0, "nextCursor": None}


async def test_a_stream_has_all_of_them_in_order_and_waits_for_those_to_come(
    embedded: Visit, site: Site
) -> None:
    held = Gate(site)
    urls = [site.url(article("First")), held.url(1), site.url(article("Third"))]
    headers = {**AS_ADMIN, "Accept": "application/x-ndjson"}
    async with (
        at_work(embedded),
        serving(embedded) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        accepted = await ask(embedded, *urls)
        async with client.stream("GET", accepted["resultsUrl"], headers=headers) as response:
            assert response.headers["content-type"].startswith("application/x-ndjson")
            lines = response.aiter_lines()
            assert json.loads(await anext(lines))["result"]["title"] == "First"
            held.open()
            rest = [json.loads(line) async for line in lines]
        assert [line["index"] for line in rest] == [1, 2]
        resumed = await client.get(f"{accepted['resultsUrl']}?cursor=2", headers=headers)
        assert [json.loads(line) for line in resumed.text.splitlines()] == rest[1:]


async def test_few_pages_at_a_time_and_fewer_of_one_host(embedded: Visit, site: Site) -> None:
    held = Gate(site)
    others = [f"http://127.0.0.{number}:8080/" for number in range(2, 8)]  # which are forbidden
    async with at_work(embedded):
        accepted = await ask(embedded, *(held.url(page) for page in range(5)))
        second = await ask(embedded, *(held.url(page) for page in range(5, 10)), *others)
        # Pages of other hosts are not kept waiting by those of one, nor does a second batch double its load.
        await until_pending(embedded, second, 5)
        await until(lambda: held.waiting == batch.MAX_PAGES_AT_ONCE_PER_HOST)
        held.open()
        for each in (accepted, second):
            await over(embedded, each["jobId"])
    assert held.most == batch.MAX_PAGES_AT_ONCE_PER_HOST
    assert (await get(embedded, accepted["statusUrl"]))["ok"] == 5
    assert (await get(embedded, second["statusUrl"]))["failed"] == len(others)


async def test_decision8_what_may_pass_is_tried_again_at_the_end(embedded: Visit, site: Site) -> None:
    name = next(numbers)
    urls = [site.url(f"/503-then-ok?key=b{name}"), site.url(f"/drop-then-ok?key=b{name}"), site.url("/drop")]
    before = len(site.seen("/drop"))
    async with at_work(embedded):
        accepted = await ask(embedded, *urls, site.url(article()))
        await over(embedded, accepted["jobId"])
    results = (await get(embedded, accepted["resultsUrl"]))["results"]
    assert [result["status"] for result in results] == ["done", "done", "failed", "done"]
    assert [result["result"]["statusCode"] for result in results[:2]] == [200, 200]
    assert results[2]["problem"]["code"] == "FETCH_FAILED"
    # A connection that was used before and is closed at once says nothing of the page, and is tried anew.
    assert before + 2 <= len(site.seen("/drop")) <= before + 4


async def test_an_attempt_goes_on_where_the_one_before_has_ended(embedded: Visit, site: Site) -> None:
    held = Gate(site)
    pages = [article(f"Page {number}") for number in range(4)]
    async with at_work(embedded):  # stopped in the middle
        accepted = await ask(embedded, *(site.url(page) for page in pages), held.url(0))
        await until_pending(embedded, accepted, 1)
    assert (await get(embedded, f"/api/jobs/{accepted['jobId']}"))["status"] == "queued"
    held.open()
    async with at_work(embedded):
        await over(embedded, accepted["jobId"])
    shown = await get(embedded, accepted["statusUrl"])
    assert (shown["status"], shown["ok"]) == ("done", 5)
    assert [len(site.seen(page)) for page in pages] == [1, 1, 1, 1]


async def test_what_a_worker_has_read_before_it_died_is_not_read_again(visit: Visit, site: Site) -> None:
    pages = [article(f"Page {number}") for number in range(3)]
    accepted = await ask(visit, *(site.url(page) for page in pages))
    (lease,) = await visit.service.jobs.lease({"batch": 1}, worker="dies", seconds=0.2)
    kept = batches.Line(1, "done", ok=True, text=b'{"index":1}')
    await visit.service.batch_lines.put(lease.job_id, [kept], visit.service.jobs.holding(lease))
    async with at_work(visit):
        job = await over(visit, accepted["jobId"])
    assert (job["status"], job["attempt"]) == ("done", 2)
    assert [len(site.seen(page)) for page in pages] == [1, 0, 1]
    results = (await get(visit, accepted["resultsUrl"]))["results"]
    assert [result["index"] for result in results] == [0, 1, 2]
    with pytest.raises(LeaseLost):
        await visit.service.batch_lines.put(lease.job_id, [kept], visit.service.jobs.holding(lease))


async def test_canceled_it_stops_soon_and_what_was_read_stays(visit: Visit, site: Site) -> None:
    held = Gate(site)
    async with at_work(visit):
        accepted = await ask(visit, site.url(article()), held.url(0), held.url(1))
        await until_pending(visit, accepted, 2)
        await visit.client.delete(f"/api/jobs/{accepted['jobId']}", headers=AS_ADMIN)
        job = await over(visit, accepted["jobId"])
    assert job["status"] == "canceled"
    shown = await get(visit, accepted["statusUrl"])
    assert (shown["status"], shown["ok"], shown["pending"]) == ("canceled", 1, 2)
    assert [line["index"] for line in (await get(visit, accepted["resultsUrl"]))["results"]] == [0]
    stream = {**AS_ADMIN, "Accept": "application/x-ndjson"}
    streamed = await visit.client.get(accepted["resultsUrl"], headers=stream)
    assert [json.loads(line)["index"] for line in streamed.text.splitlines()] == [0]
    held.open()


async def test_progress_is_told_in_a_few_steps(embedded: Visit, site: Site) -> None:
    page = article()
    urls = [site.url(f"{page}?{number}") for number in range(60)]
    async with at_work(embedded):
        accepted = await ask(embedded, *urls, formats=["metadata"])
        await over(embedded, accepted["jobId"])
    events = (await get(embedded, f"{accepted['eventsUrl']}?limit=1000"))["events"]
    steps = [event for event in events if event["type"] == "step_started"]
    assert 2 <= len(steps) <= 27
    told = [event["progress"] for event in steps]
    assert told == sorted(told)
    assert steps[0]["message"] == "0 of 60 pages"
    assert steps[-1]["message"] == "60 of 60 pages"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "VALIDATION_ERROR"),
    "an empty list": ({"urls": []}, "VALIDATION_ERROR"),
    "too many": ({"urls": ["https://example.com/"] * 1_001}, "VALIDATION_ERROR"),
    "no texts": ({"urls": [1]}, "VALIDATION_ERROR"),
    "another tier": ({"urls": ["https://example.com/"], "tier": "gold"}, "VALIDATION_ERROR"),
    "a tier that does not render": (
        {"urls": ["https://example.com/"], "render": "always"},
        "VALIDATION_ERROR",
    ),
    "auto that always renders": (
        {"urls": ["https://example.com/"], "tier": "auto", "render": "always"},
        "VALIDATION_ERROR",
    ),
    "a header that is not sent": (
        {"urls": ["https://example.com/"], "headers": {"Host": "a"}},
        "VALIDATION_ERROR",
    ),
    "a selector": ({"urls": ["https://example.com/"], "include": ["p["]}, "INVALID_SELECTOR"),
    "a time to live": ({"urls": ["https://example.com/"], "cacheTtl": "long"}, "INVALID_TTL"),
}


async def test_bad_input_is_refused_before_it_is_queued(embedded: Visit) -> None:
    for about, (body, code) in REFUSED.items():
        response = await embedded.client.post("/batch/fetch", json=body, headers=AS_ADMIN)
        assert response.json()["code"] == code, about
    for query in ("cursor=-1", "limit=0", "limit=101", "cursor=x"):
        response = await embedded.client.get(f"/batch/fetch/none/results?{query}", headers=AS_ADMIN)
        assert_problem(response, "VALIDATION_ERROR")
    assert (await get(embedded, "/api/jobs"))["jobs"] == []


async def test_decision10_a_tenant_sees_only_its_own(embedded: Visit, site: Site) -> None:
    theirs = await ask(embedded, site.url(article()))
    user = bearer(await embedded.key(Role.USER))
    for name in ("statusUrl", "resultsUrl", "eventsUrl"):
        assert_problem(await embedded.client.get(theirs[name], headers=user), "NOT_FOUND")
    assert_problem(await embedded.client.get("/batch/fetch/none", headers=user), "NOT_FOUND")
    assert_problem(await embedded.client.get(theirs["statusUrl"]), "UNAUTHORIZED")


async def test_an_idempotency_key_gets_the_same_batch(visit: Visit, site: Site) -> None:
    sent = {"Idempotency-Key": "one"}
    first = await ask(visit, site.url(article()), sent=sent)
    urls = msgspec.json.decode(await _urls_of(visit, first["jobId"]))
    assert await ask(visit, *urls, sent=sent) == first
    assert (await ask(visit, *urls))["jobId"] != first["jobId"]
    assert len((await get(visit, "/api/jobs?kind=batch"))["jobs"]) == 2


async def _urls_of(visit: Visit, job_id: str) -> str:
    async with visit.service.database.read() as connection:
        task = await batches.task_of(connection, job_id)
    assert task is not None
    return task.urls_json


async def test_the_cache_and_headers_take_part_as_with_fetch(embedded: Visit, site: Site) -> None:
    page = article()
    body: dict[str, Any] = {"cache": True, "headers": {"Cookie": "a=b"}}
    async with at_work(embedded):
        for hit in (False, True):
            accepted = await ask(embedded, site.url(page), **body)
            await over(embedded, accepted["jobId"])
            result = (await get(embedded, accepted["resultsUrl"]))["results"][0]["result"]
            assert result["cache"]["hit"] is hit
    assert [request.header("cookie") for request in site.seen(page)] == ["a=b"]


async def test_auto_uses_a_browser_where_a_page_needs_one(embedded: Visit, site: Site) -> None:
    async with at_work(embedded):
        accepted = await ask(
            embedded, site.url(article()), site.url(app_page()), tier="auto", formats=["llm"]
        )
        await over(embedded, accepted["jobId"])
    results = [line["result"] for line in (await get(embedded, accepted["resultsUrl"]))["results"]]
    assert [(result["tier"], result["via"]) for result in results] == [("basic", "fetch"), ("pro", "render")]
    assert "Rendered by a script" in results[1]["content"]
    assert all(result["untrusted"] for result in results)
    assert (await get(embedded, accepted["statusUrl"]))["tier"] == "auto"


async def test_what_is_sent_along_is_forgotten_with_the_work_and_all_the_rest_with_the_job(
    visit: Visit, site: Site
) -> None:
    async def count(table: Any, *where: Any) -> int:
        async with visit.service.database.read() as connection:
            return await connection.scalar(select(func.count()).select_from(table).where(*where)) or 0

    async with at_work(visit):
        accepted = await ask(visit, site.url(say(LARGE)), site.url(article()), headers={"Cookie": "a"})
        await over(visit, accepted["jobId"])
    assert await count(tables.batches, tables.batches.c.headers_json.is_not(None)) == 1
    await upkeep.clean_up(visit.service.database, visit.service.admission)
    assert await count(tables.batches, tables.batches.c.headers_json.is_not(None)) == 0
    assert await count(tables.batch_results, tables.batch_results.c.blob.is_not(None)) == 1
    results = (await get(visit, accepted["resultsUrl"]))["results"]
    assert len(results[0]["result"]["content"]) > 500_000
    async with visit.service.database.write() as connection:
        assert await job_table.forget_old(connection, days=-1) == 1
    await visit.service.retention.enforce()
    assert [await count(table) for table in (tables.batches, tables.batch_results)] == [0, 0]
    assert_problem(await visit.client.get(accepted["statusUrl"], headers=AS_ADMIN), "NOT_FOUND")


async def test_a_store_that_is_away_is_the_jobs_trouble_and_no_pages(
    visiting: Visiting, site: Site, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    store.write_text("not a folder")
    async with visiting(blobs_url=f"file://{store}", **OPEN) as visit, at_work(visit):
        accepted = await ask(visit, site.url(say(LARGE)), site.url(article()))
        async with asyncio.timeout(30):
            while not (shown := await get(visit, accepted["statusUrl"]))["error"]:
                await asyncio.sleep(0.02)
        assert shown["error"].startswith("SERVICE_UNAVAILABLE")
        assert (shown["status"], shown["failed"]) == ("queued", 0)
        store.unlink()
        job = await over(visit, accepted["jobId"])
        assert (job["status"], job["result"]["ok"]) == ("done", 2)
        assert len((await get(visit, accepted["resultsUrl"]))["results"]) == 2


async def test_over_the_limit_of_renders_a_page_fails_by_itself(visiting: Visiting, site: Site) -> None:
    async with visiting(limit_renders_free="1/86400", **OPEN) as visit, at_work(visit):
        sent = bearer(await visit.key(tier=Tier.FREE))
        tenant = (await visit.client.get("/api/me", headers=sent)).json()["tenantId"]
        await visit.service.limits.take([("renders-free", tenant)])
        accepted = await ask(visit, site.url(article()), "nonsense", sent=sent, tier="pro")
        await over(visit, accepted["jobId"])
        results = (await get(visit, accepted["resultsUrl"]))["results"]
    assert [result["problem"]["code"] for result in results] == ["RATE_LIMITED", "INVALID_URL"]
