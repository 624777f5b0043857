"""Archives, replays and storage over HTTP."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.contract.archive.shelf import LATER, Shelf
from tests.contract.crawl.crawl_ground import Ground
from tests.doors.crawls import get
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit


@pytest.fixture
async def shelf(visit: Visit, tmp_path: Path) -> Shelf:
    service = visit.service
    ground = await Ground.on(service.database)
    return Shelf(ground, service.blobs, tmp_path / "blobs", service.parsers, service.jobs)


async def post(visit: Visit, path: str, **body: Any) -> dict[str, Any]:
    """The job, when a worker has done it."""
    answer = await visit.client.post(path, json=body, headers=AS_ADMIN)
    assert answer.status_code == 202, answer.text
    stop = asyncio.Event()
    work = asyncio.create_task(visit.service.worker(["restore", "replay"]).run(stop))
    async with asyncio.timeout(30):
        while not (job := await get(visit, answer.json()["statusUrl"]))["finishedAt"]:
            await asyncio.sleep(0.02)
    stop.set()
    await work
    assert (job["status"], job["progress"]) == ("done", 100)
    result: dict[str, Any] = job
    return result


async def test_an_admin_lists_and_restores_archives(visit: Visit, shelf: Shelf) -> None:
    crawl = await shelf.crawl("1", "2")
    await shelf.retention().enforce(now=LATER)
    (archive,) = (await get(visit, "/api/admin/archives", crawl=crawl.id))["archives"]
    assert (archive["pages"], archive["from"], archive["restoredAt"]) == (
        2,
        "2023-11-14T22:13:20.000Z",
        None,
    )
    use = await get(visit, "/api/admin/storage")
    assert use["totalBytes"] == archive["bytes"]
    assert [(one["kind"], one["email"]) for one in use["use"]] == [("archives", "a@example.com")]
    job = await post(visit, f"/api/admin/archives/{archive['id']}/restore")
    assert (job["kind"], job["subject"]) == ("restore", archive["id"])
    assert job["result"] == {
        "archive": archive["id"],
        "crawl": crawl.id,
        "pages": 2,
        "bodies": 2,
        "skipped": 0,
    }
    assert (await get(visit, "/api/admin/archives"))["archives"][0]["restoredAt"] is not None
    unknown = await visit.client.post(f"/api/admin/archives/{crawl.id}/restore", headers=AS_ADMIN)
    assert_problem(unknown, "NOT_FOUND")
    actions = [one["action"] for one in (await get(visit, "/api/activity"))["activity"]]
    assert "archive.restored" in actions


async def test_an_admin_replays_pages(visit: Visit, shelf: Shelf) -> None:
    crawl = await shelf.crawl("1", "2")
    job = await post(visit, "/api/admin/pages/replay", crawl=crawl.id)
    assert (job["kind"], job["result"]["pages"], job["result"]["changed"]) == ("replay", 2, 0)
    again = await post(visit, "/api/admin/pages/replay", crawl=crawl.id, refetch=True)
    assert again["result"]["refetched"] == 2
    bad = await visit.client.post("/api/admin/pages/replay", json={"host": "a/b"}, headers=AS_ADMIN)
    assert_problem(bad, "VALIDATION_ERROR")
