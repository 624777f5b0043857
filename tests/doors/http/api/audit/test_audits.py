"""Audits and jobs over HTTP, with a real worker on real pages."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.http.server.test_server import serving
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.servers.postgres import PostgresServer
from tests.site.paths import head, path
from tests.site.server import Reply, Request, Site

from gossamer.doors.http.core import streaming
from gossamer.flows.audit.audits import idempotency_key
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.tenants.tenants import Role
from gossamer.web.audit.report import AuditOptions
from gossamer.web.url.url import Url

OPEN = {"egress_allow": "127.0.0.0/8", "egress_ports": "*"}
QUIET = {"options": {"maxLinks": 0}}
ARTICLE = say(
    f"<html lang=en><title>An article</title><h1>An article</h1><p>{'Some words about it. ' * 80}</p>"
)
IMAGE = say(b"\x89PNG\r\n\x1a\n" + bytes(100), "Content-Type: image/png")


@pytest.fixture
async def visit(database_url: str, visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(database_url=database_url, **OPEN) as opened:
        yield opened


@asynccontextmanager
async def working(visit: Visit) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(visit.service.worker().run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def ask(visit: Visit, url: str, **more: Any) -> dict[str, str]:
    response = await visit.client.post("/audits", json={"url": url, **QUIET, **more}, headers=AS_ADMIN)
    assert response.status_code == 202, response.text
    accepted: dict[str, str] = response.json()
    return accepted


async def over(visit: Visit, job_id: str) -> dict[str, Any]:
    async with asyncio.timeout(30):
        while True:
            job: dict[str, Any] = (await visit.client.get(f"/api/jobs/{job_id}", headers=AS_ADMIN)).json()
            if job["status"] not in ("queued", "running"):
                return job
            await asyncio.sleep(0.02)


async def test_an_audit_that_ends_while_it_is_looked_up_has_its_report(
    visit: Visit, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted = await ask(visit, site.url(ARTICLE))
    get = job_table.get

    async def end_first(connection: AsyncConnection, job_id: str) -> Job | None:
        monkeypatch.setattr(job_table, "get", get)
        async with working(visit):
            await over(visit, job_id)
        return await get(connection, job_id)

    monkeypatch.setattr(job_table, "get", end_first)
    report = (await visit.client.get(f"/audits/{accepted['auditId']}", headers=AS_ADMIN)).json()
    assert (report["status"], report["score"] is None) == ("done", False)


async def test_an_audit_from_asking_to_report(visit: Visit, site: Site) -> None:
    async with working(visit):
        accepted = await ask(visit, site.url(ARTICLE))
        assert accepted["statusUrl"] == f"/api/jobs/{accepted['jobId']}"
        job = await over(visit, accepted["jobId"])
    assert (job["status"], job["progress"], job["kind"]) == ("done", 100, "audit")
    assert job["result"]["auditId"] == accepted["auditId"]
    report = (await visit.client.get(f"/audits/{accepted['auditId']}", headers=AS_ADMIN)).json()
    assert report["status"] == "done"
    assert report["score"] == job["result"]["score"]
    assert 0 <= report["score"] <= 100
    assert {"id", "severity", "title", "why", "fix", "evidence"} <= set(report["findings"][0])
    assert report["themes"]
    page = await visit.client.get(
        f"/audits/{accepted['auditId']}", headers={**AS_ADMIN, "Accept": "text/html"}
    )
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert str(report["score"]) in page.text
    listed = (await visit.client.get("/audits", headers=AS_ADMIN)).json()
    (line,) = listed["audits"]
    assert (line["auditId"], line["status"]) == (accepted["auditId"], "done")
    assert sum(line["severities"].values()) == len(report["findings"])


async def test_the_same_audit_is_one_while_it_is_active_and_new_afterwards(visit: Visit, site: Site) -> None:
    first = await ask(visit, site.url(ARTICLE))
    assert await ask(visit, site.url(ARTICLE)) == first
    assert (await ask(visit, site.url(f"{ARTICLE}?page=2")))["jobId"] != first["jobId"]
    assert (await ask(visit, site.url(ARTICLE), options={"maxLinks": 1}))["jobId"] != first["jobId"]
    async with working(visit):
        await over(visit, first["jobId"])
    assert (await ask(visit, site.url(ARTICLE)))["jobId"] != first["jobId"]


def test_decision7_the_key_is_deterministic_and_keeps_the_query() -> None:
    def key(url: str, tenant: str = "t", links: int = 20) -> str:
        return idempotency_key(tenant, Url.parse(url), AuditOptions(max_links=links))

    assert key("https://Example.com:443/a/#x") == key("https://example.com/a")
    assert (
        len({key("https://a.example/"), key("https://a.example/?b=1"), key("https://a.example/", "u")}) == 3
    )
    assert key("https://a.example/", links=1) != key("https://a.example/")


async def test_what_cannot_be_had_fails_with_its_reason(visit: Visit, site: Site) -> None:
    async with working(visit):
        accepted = await ask(visit, site.url(IMAGE))
        job = await over(visit, accepted["jobId"])
    assert job["status"] == "failed"
    assert job["error"].startswith("CONTENT_UNREADABLE")
    assert job["subject"] == site.url(IMAGE)
    assert (job["problem"]["code"], job["problem"]["docsUrl"]) == (
        "CONTENT_UNREADABLE",
        "/problems/content-unreadable",
    )
    assert job["problem"]["hint"]
    (line,) = (await visit.client.get("/audits", headers=AS_ADMIN)).json()["audits"]
    assert (line["status"], line["score"], line["severities"]) == ("failed", None, None)
    shown = (await visit.client.get(f"/audits/{accepted['auditId']}", headers=AS_ADMIN)).json()
    assert (shown["status"], shown["score"], shown["findings"]) == ("failed", None, [])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "ftp://example.com/"}, "INVALID_URL"),
        ({"url": "http://169.254.169.254/"}, "INVALID_URL"),
        ({"url": "http://localhost/"}, "INVALID_URL"),
        ({"url": "http://127.0.0.1/", "options": {"maxLinks": 1000}}, "VALIDATION_ERROR"),
        ({"url": "http://127.0.0.1/", "options": {"other": 1}}, "VALIDATION_ERROR"),
        ({}, "VALIDATION_ERROR"),
    ],
)
async def test_bad_input_is_refused_before_it_is_queued(visit: Visit, body: object, code: str) -> None:
    assert_problem(await visit.client.post("/audits", json=body, headers=AS_ADMIN), code)
    assert (await visit.client.get("/api/jobs", headers=AS_ADMIN)).json()["jobs"] == []


async def test_decision10_a_tenant_sees_only_its_own(visit: Visit, site: Site) -> None:
    theirs = await ask(visit, site.url(ARTICLE))
    user = bearer(await visit.key(Role.USER))
    for theirs_too in (theirs["statusUrl"], theirs["eventsUrl"], f"/audits/{theirs['auditId']}"):
        assert_problem(await visit.client.get(theirs_too, headers=user), "NOT_FOUND")
    assert_problem(await visit.client.delete(theirs["statusUrl"], headers=user), "NOT_FOUND")
    assert (await visit.client.get("/api/jobs", headers=user)).json()["jobs"] == []
    assert (await visit.client.get("/audits", headers=user)).json()["audits"] == []
    mine = (await visit.client.post("/audits", json={"url": site.url(ARTICLE)}, headers=user)).json()
    seen = (await visit.client.get("/api/jobs", headers=user)).json()["jobs"]
    assert [job["jobId"] for job in seen] == [mine["jobId"]]


async def test_a_queued_job_is_canceled_at_once(visit: Visit, site: Site) -> None:
    accepted = await ask(visit, site.url(ARTICLE))
    for _ in range(2):
        canceled = await visit.client.delete(accepted["statusUrl"], headers=AS_ADMIN)
        assert canceled.json()["status"] == "canceled"


async def test_jobs_are_listed_by_kind_state_and_page(visit: Visit) -> None:
    me = (await visit.client.get("/api/me", headers=AS_ADMIN)).json()
    made = await visit.service.jobs.put_many(
        [NewJob(kind="audit", tenant_id=me["tenantId"], payload={}) for _ in range(5)]
    )
    first = (await visit.client.get("/api/jobs?limit=3&kind=audit&status=queued", headers=AS_ADMIN)).json()
    rest = (await visit.client.get(f"/api/jobs?cursor={first['nextCursor']}", headers=AS_ADMIN)).json()
    assert [job["jobId"] for job in first["jobs"] + rest["jobs"]] == sorted(made, reverse=True)
    assert rest["nextCursor"] is None
    assert (await visit.client.get("/api/jobs?status=done", headers=AS_ADMIN)).json()["jobs"] == []


async def test_an_undecodable_payload_ends_as_failed(visit: Visit) -> None:
    me = (await visit.client.get("/api/me", headers=AS_ADMIN)).json()
    job = await visit.service.jobs.put(NewJob(kind="audit", tenant_id=me["tenantId"], payload=[1, 2]))
    async with working(visit):
        assert "VALIDATION_ERROR" in (await over(visit, job.job_id))["error"]


async def test_an_idempotency_key_gets_the_same_job(visit: Visit, site: Site) -> None:
    headers = {**AS_ADMIN, "Idempotency-Key": "one"}
    body = {"url": site.url(ARTICLE), **QUIET}
    first = await visit.client.post("/audits", json=body, headers=headers)
    async with working(visit):
        await over(visit, first.json()["jobId"])
    again = await visit.client.post("/audits", json=body, headers=headers)
    assert again.json() == first.json()
    assert again.headers["x-idempotent-replayed"] == "true"


async def test_health_and_metrics_tell_of_the_queue(visit: Visit, site: Site) -> None:
    await ask(visit, site.url(ARTICLE))
    services = (await visit.client.get("/health")).json()["services"]
    assert services["queue"]["details"]["queued"] == 1
    assert services["workers"]["status"] == "unhealthy"  # nobody works, and something waits
    text = (await visit.client.get("/metrics", headers=AS_ADMIN)).text
    assert 'gossamer_queue_jobs{kind="audit",status="queued"} 1.0' in text
    for name in ("jobs", "oldest_seconds"):  # an alarm needs a number, also where there is nothing
        assert f'gossamer_queue_{name}{{kind="render",status="queued"}} 0.0' in text
        assert f'gossamer_queue_{name}{{kind="audit",status="running"}} 0.0' in text


class Stream:
    """A reader of server-sent events."""

    def __init__(self, response: httpx.Response) -> None:
        self.lines = response.aiter_lines()

    async def event(self) -> dict[str, Any] | None:
        fields: dict[str, str] = {}
        async for line in self.lines:
            if not line and fields:
                return {**json.loads(fields["data"]), "sent": (fields["id"], fields["event"])}
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
        return None


async def test_events_are_streamed_live_and_resumed(visit: Visit, site: Site) -> None:
    async with serving(visit) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        accepted = await ask(visit, site.url(ARTICLE))
        headers = {**AS_ADMIN, "Accept": "text/event-stream"}
        async with client.stream("GET", accepted["eventsUrl"], headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            stream = Stream(response)
            first = await stream.event()  # before anybody works on it
            assert first
            assert (first["type"], first["message"]) == ("status_changed", "queued")
        # The reader has gone away; the job is done meanwhile, and the reader comes back.
        async with working(visit):
            await over(visit, accepted["jobId"])
        resumed = {**headers, "Last-Event-ID": first["sent"][0]}
        async with client.stream("GET", accepted["eventsUrl"], headers=resumed) as response:
            stream = Stream(response)
            rest = []
            while event := await stream.event():
                rest.append(event)
        assert [event["id"] for event in rest] == list(range(2, len(rest) + 2))
        assert rest[-1]["message"] == "done"
        assert rest[-1]["progress"] == 100
        told = (await client.get(f"{accepted['eventsUrl']}?after=1", headers=AS_ADMIN)).json()
        assert [event["id"] for event in told["events"]] == [event["id"] for event in rest]
        bad = await client.get(accepted["eventsUrl"], headers={**AS_ADMIN, "Last-Event-ID": "x"})
        assert bad.json()["code"] == "VALIDATION_ERROR"
        for after in (2**31 - 1, 2**31, 2**63, 10**30):
            answer = await client.get(f"{accepted['eventsUrl']}?after={after}", headers=AS_ADMIN)
            assert answer.status_code == (200 if after < 2**31 else 400)


async def test_a_key_may_have_so_many_streams_at_a_time(
    visit: Visit, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "MAX_STREAMS", 2)
    user = {**bearer(await visit.key(Role.ADMIN)), "Accept": "text/event-stream"}
    headers = {**AS_ADMIN, "Accept": "text/event-stream"}
    async with serving(visit) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        url = (await ask(visit, site.url(ARTICLE)))["eventsUrl"]
        async with (
            client.stream("GET", url, headers=headers) as first,
            client.stream("GET", url, headers=user) as theirs,
        ):
            streams = [Stream(first), Stream(theirs)]  # who reads no more lets go
            assert [await stream.event() for stream in streams]
            async with client.stream("GET", url, headers=headers):
                problem = assert_problem(await client.get(url, headers=headers), "RATE_LIMITED")
                assert (problem["details"], problem["limit"]) == ({"reason": "too_many_streams"}, 2)
                assert (await client.get(url, headers=AS_ADMIN)).status_code == 200  # as JSON
            async with asyncio.timeout(30):  # until it is noticed that one has gone
                status = 0
                while status != 200:
                    async with client.stream("GET", url, headers=headers) as again:
                        status = again.status_code


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_stream_outlives_a_restart_of_the_database(
    visit: Visit, site: Site, postgres: PostgresServer
) -> None:
    headers = {**AS_ADMIN, "Accept": "text/event-stream"}
    async with serving(visit) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        accepted = await ask(visit, site.url(ARTICLE))
        async with client.stream("GET", accepted["eventsUrl"], headers=headers, timeout=60) as response:
            stream = Stream(response)
            assert await stream.event()
            postgres.stop()
            away = await client.get(accepted["statusUrl"], headers=AS_ADMIN)
            assert away.status_code == 503
            postgres.start()
            async with working(visit):
                last = None
                while event := await stream.event():
                    last = event["message"]
    assert last == "done"
    assert not visit.logged("internal_error")


@path("get-only")
async def get_only(site: Site, request: Request, reply: Reply) -> None:
    """/get-only/{code}: a large file, of a server that does not know HEAD."""
    if request.method == "HEAD":
        await reply.send(status="405 No")
    else:
        await reply.raw(head("Content-Length: 20000000", status=f"{request.path.split('/')[2]} Status"))
        await reply.hang()


async def test_what_a_link_leads_to_may_be_large(visit: Visit, site: Site) -> None:
    links = "".join(
        f"<a href='{href}'>{href}</a>" for href in ("/get-only/200", "/get-only/404", "/drop", "/ok")
    )
    async with working(visit):
        accepted = await ask(visit, site.url(say(f"<title>Links</title>{links}")), options={"maxLinks": 9})
        await over(visit, accepted["jobId"])
    report = (await visit.client.get(f"/audits/{accepted['auditId']}", headers=AS_ADMIN)).json()
    broken = next(finding for finding in report["findings"] if finding["id"] == "links-broken")
    assert sorted(broken["evidence"]) == [
        f"{site.url('/drop')} (the target closed the connection without an answer)",
        f"{site.url('/get-only/404')} (404)",
    ]


async def test_what_a_page_loads_is_tried(visit: Visit, site: Site) -> None:
    loaded = (
        "<img src=/get-only/404 alt=a><img src=/get-only/200 alt=b>"
        "<script src=/drop></script><link rel=stylesheet href=/ok>"
    )
    async with working(visit):
        accepted = await ask(visit, site.url(say(f"<title>Files</title>{loaded}")), options={"maxLinks": 9})
        await over(visit, accepted["jobId"])
    report = (await visit.client.get(f"/audits/{accepted['auditId']}", headers=AS_ADMIN)).json()
    found = {finding["id"]: finding["evidence"] for finding in report["findings"]}
    assert found["images-broken"] == [f"{site.url('/get-only/404')} (404)"]
    assert found["resources-broken"] == [
        f"{site.url('/drop')} (the target closed the connection without an answer)",
        f"{site.url('/ok')} (a page, not a style)",
    ]


async def test_a_page_waits_for_its_report(visit: Visit, site: Site) -> None:
    page = {**AS_ADMIN, "Accept": "text/html"}
    accepted = await ask(visit, site.url(IMAGE))
    waiting = await visit.client.get(f"/audits/{accepted['auditId']}", headers=page)
    assert waiting.headers["content-type"] == "text/html; charset=utf-8"
    assert '<meta http-equiv="refresh"' in waiting.text
    assert "has not begun yet" in waiting.text
    assert "default-src 'none'" in waiting.headers["content-security-policy"]
    async with working(visit):
        await over(visit, accepted["jobId"])
    failed = (await visit.client.get(f"/audits/{accepted['auditId']}", headers=page)).text
    assert "could not be made" in failed
    assert "CONTENT_UNREADABLE" in failed
    assert 'http-equiv="refresh"' not in failed
    shown = await visit.client.get(f"/audits/{accepted['auditId']}", headers=AS_ADMIN)
    assert shown.json()["status"] == "failed"
