"""The graph of a crawl, its files, and web archives out and in, over HTTP."""

import asyncio
import io
import subprocess
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.clients import clients_python
from tests.doors.crawls import OPEN, PROSE, begin, crawling, get, over
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.server import Site
from tests.web.documents.warc.test_warc import NOISE, page_of, written
from warcio.archiveiterator import ArchiveIterator

from gossamer.state.tenants.tenants import Role


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


def html(title: str, body: str = "") -> str:
    return say(f"<title>{title}</title><h1>{title}</h1><p>{PROSE}</p>{body}")


async def crawled(visit: Visit, site: Site) -> tuple[str, str, str]:
    """A crawl that is over: its address, its seed, and a leaf of it."""
    (origin,) = site.origins(1)
    leaf, twin = html("A leaf"), html("A leaf")
    menu = f"<nav><a href='{leaf}' rel=help>The leaf</a></nav>"
    links = f"{menu}<a href='{twin}'>Its twin</a><a href=/gone>?</a>"
    middle = html("The middle", links)
    seed = origin + html("Seed", f"<a href='{middle}'>In</a><a href='https://other.test/'>Out</a>")
    begun = await begin(visit, seed, delay=0, headers={"Authorization": "Bearer hidden"})
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    return f"/api/crawls/{begun['crawlId']}", seed, origin + leaf


async def download(visit: Visit, path: str) -> bytes:
    response = await visit.client.get(path, headers=AS_ADMIN)
    assert response.status_code == 200, response.text
    return bytes(response.content)


async def test_a_crawl_has_a_graph_and_goes_out_and_in_as_a_web_archive(
    visit: Visit, site: Site, tmp_path: Path
) -> None:
    crawl, seed, leaf = await crawled(visit, site)
    graph = await get(visit, f"{crawl}/graph")
    told = graph["summary"]
    assert (told["pages"], told["broken"], told["outsideLinks"], told["isWhole"]) == (5, 1, 1, True)
    assert told["depths"] == [1, 1, 3]
    assert {one["url"] for one in graph["pages"]} >= {seed, leaf}
    [broken] = (await get(visit, f"{crawl}/graph", section="broken"))["pages"]
    assert (broken["url"].endswith("/gone"), len(broken["linkedFrom"])) == (True, 1)
    [orphan] = (await get(visit, f"{crawl}/graph", section="orphans"))["pages"]
    assert (orphan["url"], orphan["knownFrom"]) == (seed, "seed")
    table = (await download(visit, f"{crawl}/graph/export?format=csv")).decode()
    assert f"{leaf},The leaf,help,nav" in table
    assert b"<edge" in await download(visit, f"{crawl}/graph/export?format=graphml")
    assert (await download(visit, f"{crawl}/graph/export?format=parquet&part=pages")).startswith(b"PAR1")

    warc = await download(visit, f"{crawl}/export?format=warc")
    kinds = [record.rec_type for record in ArchiveIterator(io.BytesIO(warc))]
    assert (kinds.count("response"), kinds.count("revisit"), kinds.count("request")) == (4, 1, 5)
    assert b"hidden" not in b"".join(
        record.raw_stream.read() + str(record.http_headers).encode()
        for record in ArchiveIterator(io.BytesIO(warc))
    )
    wacz = tmp_path / "crawl.wacz"
    wacz.write_bytes(await download(visit, f"{crawl}/export"))
    validate = [str(clients_python().with_name("wacz")), "validate", "-f", str(wacz)]
    checked = subprocess.run(validate, capture_output=True, text=True, check=False)
    assert "Validation succeeded" in checked.stdout, checked.stdout + checked.stderr

    for file in (wacz.read_bytes(), warc):
        imported = await imported_from(visit, file)
        assert (imported["pages"], imported["reason"]) == (5, None)
        again = f"/api/crawls/{imported['crawlId']}"
        assert (await get(visit, again))["status"] == "done"
        assert (await get(visit, f"{again}/graph"))["summary"]["links"] == told["links"]
        pages = (await get(visit, f"{again}/pages", content="text"))["pages"]
        assert any(PROSE[:40] in page.get("content", "") for page in pages)

    stranger = bearer(await visit.key(Role.USER))
    for path in ("graph", "graph/export", "export"):
        assert_problem(await visit.client.get(f"{crawl}/{path}", headers=stranger), "NOT_FOUND")
    bad = await visit.client.get(f"{crawl}/graph?cursor=x", headers=AS_ADMIN)
    assert_problem(bad, "VALIDATION_ERROR")


async def upload(visit: Visit, file: bytes, query: str = "?name=file") -> httpx.Response:
    headers = {**AS_ADMIN, "Content-Type": "application/octet-stream"}
    return await visit.client.post(f"/api/crawls/import{query}", headers=headers, content=file)


async def job_over(visit: Visit, accepted: httpx.Response) -> dict[str, Any]:
    """The job of an upload, after it has run."""
    assert accepted.status_code == 202, accepted.text
    path = accepted.json()["statusUrl"]
    stop = asyncio.Event()
    working = asyncio.create_task(visit.service.worker().run(stop))
    try:
        async with asyncio.timeout(60):
            while (job := await get(visit, path))["finishedAt"] is None:
                await asyncio.sleep(0.05)
    finally:
        stop.set()
        await working
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
    rules = page_of(
        "https://a.test/robots.txt", b"User-agent: *\nDisallow: /2", **{"content-type": "text/plain"}
    )
    other = page_of("https://b.test/", b"<title>Other</title><p>Another host")
    whole, _ = written(first, second, moved, gone, rules, other)
    async with visiting(egress_ports="1") as visit:
        imported = await imported_from(visit, whole)
        site = await audited(visit, "https://a.test/old", crawlId=imported["crawlId"], maxPages=50)
        assert site["report"]["site"]["pages"] == 2, site["report"]["site"]
        told = {one["id"]: one for one in site["report"]["findings"]}
        assert told["site-broken-links"]["places"][0]["evidence"], told.keys()
        page = await audited(visit, "https://a.test/2", crawlId=imported["crawlId"])
        assert (page["report"]["page"]["status"], page["report"]["page"]["words"]) == (200, 81)
        unknown = {one["id"] for one in page["report"]["notChecked"]}
        assert {"sitemap-missing"} <= unknown
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
