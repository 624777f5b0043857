"""Web archives that become crawls, over HTTP: as a job, which resumes, and leaves nothing half-kept."""

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from tests.doors.crawls import OPEN, PROSE, get
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.web.documents.warc.test_warc import NOISE, page_of, written

from gossamer.flows.data.warc.page_gatherer import PAGES_AT_ONCE
from gossamer.state.tenants.tenants import Role


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN, drain_seconds="0.1") as opened:
        yield opened


@asynccontextmanager
async def working(visit: Visit) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(visit.service.worker().run(stop))
    try:
        async with asyncio.timeout(60):
            yield
    finally:
        stop.set()
        await task


async def upload(visit: Visit, file: bytes, query: str = "?name=file") -> httpx.Response:
    headers = {**AS_ADMIN, "Content-Type": "application/octet-stream"}
    return await visit.client.post(f"/api/crawls/import{query}", headers=headers, content=file)


async def job_over(visit: Visit, accepted: httpx.Response) -> dict[str, Any]:
    """The job of an upload, after it has run."""
    assert accepted.status_code == 202, accepted.text
    path = accepted.json()["statusUrl"]
    async with working(visit):
        while (job := await get(visit, path))["finishedAt"] is None:
            await asyncio.sleep(0.05)
    return dict(job)


async def imported_from(visit: Visit, file: bytes) -> dict[str, Any]:
    job = await job_over(visit, await upload(visit, file))
    assert job["status"] == "done", job["error"]
    return dict(job["result"])


async def left_behind(visit: Visit) -> tuple[int, list[str]]:
    """How many crawls there are, and which uploads."""
    crawls = len((await get(visit, "/api/crawls"))["crawls"])
    return crawls, [name async for name, _ in visit.service.blobs.listing("uploads")]


async def test_a_bad_file_leaves_nothing_behind(visit: Visit) -> None:
    before = await left_behind(visit)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("/archive/x.warc", b"")
    whole, _ = written(page_of("https://a.test/1"), page_of("https://a.test/2", NOISE))
    refused = await upload(visit, b"x" * 5_000)
    assert_problem(refused, "UNPROCESSABLE_ENTITY")
    assert refused.json()["details"]["reason"] == "not_an_archive"
    for body, reason in ((file.getvalue(), "unsafe_names"), (whole[:-3_000], "damaged")):
        accepted = await upload(visit, body)
        job = await job_over(visit, accepted)
        assert (job["status"], job["problem"]["reason"]) == ("failed", reason)
        assert (await visit.client.get(accepted.json()["crawlUrl"], headers=AS_ADMIN)).status_code == 404
    assert await left_behind(visit) == before
    job = await job_over(visit, await upload(visit, whole[:-3_000], "?partial=true"))
    assert (job["status"], job["result"]["pages"], job["result"]["reason"]) == ("done", 1, "damaged")


async def test_an_imported_crawl_is_audited_without_the_network(visiting: Visiting) -> None:
    links = b"<a href=/2>two</a><a href=/gone>gone</a><a href=/unknown>?</a><a href=https://b.test/>b</a>"
    first = page_of("https://a.test/", f"<title>First</title><h1>First</h1><p>{PROSE}</p>".encode() + links)
    second = page_of("https://a.test/2", f"<title>Second</title><h1>Second</h1><p>{PROSE}".encode())
    moved = page_of("https://a.test/old", b"", 301, location="https://a.test/")
    gone = page_of("https://a.test/gone", b"<title>Gone</title><p>Gone", 404)
    plain = {"content-type": "text/plain"}
    rules = page_of("https://a.test/robots.txt", b"User-agent: *\nDisallow: /2", 200, **plain)
    other = page_of("https://b.test/", b"<title>Other</title><p>Another host")
    whole, _ = written(first, second, moved, gone, rules, other)
    async with visiting(egress_ports="1") as visit:
        imported = await imported_from(visit, whole)
        site = await audited(visit, "https://a.test/old", crawlId=imported["crawlId"], maxPages=50)
        assert (site["site"]["pages"], site["site"]["isComplete"]) == (2, False)
        told = {one["id"]: one for one in site["findings"]}
        assert "/gone" in told["site-links-broken"]["places"][0]["evidence"], told.keys()
        page = await audited(visit, "https://a.test/2", crawlId=imported["crawlId"])
        assert (page["page"]["status"], page["page"]["finalUrl"]) == (200, "https://a.test/2")
        assert {"sitemap-missing", "llms-txt-missing"} <= {one["id"] for one in page["notChecked"]}
        assert "robots-blocked" in {one["id"] for one in page["findings"]}
        body = {"url": "https://a.test/", "options": {"crawlId": "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"}}
        assert_problem(await visit.client.post("/audits", json=body, headers=AS_ADMIN), "NOT_FOUND")
        stranger = bearer(await visit.key(Role.USER))
        body["options"] = {"crawlId": imported["crawlId"]}
        assert_problem(await visit.client.post("/audits", json=body, headers=stranger), "NOT_FOUND")


async def audited(visit: Visit, url: str, **options: Any) -> dict[str, Any]:
    response = await visit.client.post("/audits", json={"url": url, "options": options}, headers=AS_ADMIN)
    job = await job_over(visit, response)
    assert job["status"] == "done", job["error"]
    return dict(await get(visit, response.json()["reportUrl"]))


async def test_an_import_can_be_stopped_and_not_paused(visit: Visit) -> None:
    whole, _ = written(page_of("https://a.test/1"))
    accepted = (await upload(visit, whole)).json()
    crawl = accepted["crawlUrl"]
    assert (await get(visit, crawl))["status"] == "running"
    assert await visit.service.crawls.finish() == []
    paused = await visit.client.post(f"{crawl}/pause", headers=AS_ADMIN)
    assert paused.json()["status"] == "running"
    job = await visit.client.delete(accepted["statusUrl"], headers=AS_ADMIN)
    assert job.status_code < 300, job.text
    await visit.service.crawl_importer.clean_up()
    assert (await visit.client.get(crawl, headers=AS_ADMIN)).status_code == 404


async def test_an_import_that_is_interrupted_goes_on_and_doubles_nothing(visit: Visit) -> None:
    total = 2 * PAGES_AT_ONCE + 30
    pages = [
        page_of(f"https://a.test/{number}", b"<title>%d</title><p>%d" % (number, number))
        for number in range(total)
    ]
    whole, _ = written(*pages, page_of("https://a.test/0"))
    accepted = await upload(visit, whole)
    crawl = accepted.json()["crawlUrl"]
    async with working(visit):
        while (first := await get(visit, crawl))["counts"]["pages"] < PAGES_AT_ONCE:
            await asyncio.sleep(0.005)
    between = await get(visit, accepted.json()["statusUrl"])
    assert (first["status"], between["status"]) == ("running", "queued"), between
    job = await job_over(visit, accepted)
    assert (job["result"]["pages"], job["result"]["known"]) == (total, 1)
    done = await get(visit, crawl)
    assert (done["status"], done["counts"]["pages"], done["counts"]["inProgress"]) == ("done", total, 0)
    found = (await get(visit, f"{crawl}/graph"))["summary"]
    assert found["pages"] == total
    assert await left_behind(visit) == (1, [])
