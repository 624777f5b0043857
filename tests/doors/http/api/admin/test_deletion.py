"""Deleting audits, batches, pages and tenants over HTTP and in the dashboard."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select
from tests.doors.crawls import OPEN, Web, begin, crawling, get, over, post
from tests.doors.http.api.crawl.test_crawl_deletion import ended, working
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.server import Site

from gossamer.state.db import tables
from gossamer.state.tenants.tenants import PUBLIC, Role


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


async def delete(visit: Visit, path: str, sent: dict[str, str] = AS_ADMIN, **query: Any) -> httpx.Response:
    return await visit.client.delete(path, headers=sent, params=query)


async def test_an_audit_and_a_batch_are_gone_at_once_and_their_jobs_with_them(visit: Visit) -> None:
    user = bearer(await visit.key(Role.USER))
    other = bearer(await visit.key(Role.USER))
    audit = (
        await post(visit, "/audits", {"url": "https://example.com/", "options": {"maxPages": 5}}, sent=user)
    ).json()
    batch = (await post(visit, "/batch/fetch", {"urls": ["https://example.com/"]}, sent=user)).json()
    for path, job_id in (
        (f"/audits/{audit['auditId']}", audit["jobId"]),
        (batch["statusUrl"], batch["jobId"]),
    ):
        assert_problem(await delete(visit, path + "x", other), "NOT_FOUND")
        accepted = await delete(visit, path, user)
        job = accepted.json()
        assert (accepted.status_code, job["kind"], job["subject"]) == (202, "delete", path.rpartition("/")[2])
        assert (await delete(visit, path, user)).json()["jobId"] == job["jobId"]
        assert_problem(await visit.client.get(path, headers=user), "NOT_FOUND")
        assert_problem(await visit.client.get(f"/api/jobs/{job_id}", headers=user), "NOT_FOUND")
        async with working(visit):
            assert (await ended(visit, job))["status"] == "done"
        assert_problem(await delete(visit, path, user), "NOT_FOUND")
    lines = (await get(visit, "/api/activity", sent=user, action="audit"))["activity"]
    assert [line["action"] for line in lines] == ["audit.deleted", "audit.started"]


async def test_pages_are_deleted_by_filter_after_a_look(visit: Visit, site: Site) -> None:
    one, other = (Web.on(origin) for origin in site.origins(2))
    kept, gone = await begin(visit, one.seed), await begin(visit, other.seed)
    async with crawling(visit):
        await over(visit, kept["crawlId"])
        await over(visit, gone["crawlId"])
    path, host = "/api/admin/pages", other.origin.partition("//")[2]
    assert_problem(await delete(visit, path), "VALIDATION_ERROR")
    assert_problem(await delete(visit, path, host="a b"), "VALIDATION_ERROR")
    assert_problem(await delete(visit, path, before="yesterday"), "VALIDATION_ERROR")
    assert_problem(await delete(visit, path, bearer(await visit.key()), host=host), "FORBIDDEN")
    look = await delete(visit, path, host=host, dryRun="true")
    assert (look.status_code, look.json()["pages"], look.json()["crawls"]) == (200, 3, 1)
    assert look.json()["bytes"] == (await get(visit, gone["statusUrl"]))["counts"]["bytes"]
    old = await delete(visit, path, host=host, before="2020-01-01T00:00:00Z", dryRun="true")
    assert old.json() == {"pages": 0, "bytes": 0, "crawls": 0}
    accepted = await delete(visit, path, host=host)
    async with working(visit):
        done = await ended(visit, accepted.json())
    assert done["result"] == {"deleted": "pages", "id": done["subject"], "pages": 3, "crawls": 1}
    after = (await get(visit, gone["statusUrl"]))["counts"]
    assert (after["pages"], after["bytes"], after["completed"]) == (0, 0, 0)
    assert (await get(visit, kept["statusUrl"]))["counts"]["pages"] == 3
    (line,) = (await get(visit, "/api/activity", action="pages.deleted"))["activity"]
    assert line["detail"] == f"host {host}"


async def test_a_tenant_is_deleted_and_its_keys_are_refused_at_once(visit: Visit, site: Site) -> None:
    secret = await visit.key(Role.USER)
    user, me = bearer(secret), await get(visit, "/api/me")
    theirs = await get(visit, "/api/me", sent=user)
    await begin(visit, Web.on(site.origins(1)[0]).seed, sent=user)
    path = "/api/admin/tenants"
    assert_problem(await delete(visit, f"{path}/{me['tenantId']}"), "UNPROCESSABLE_ENTITY")
    assert_problem(await delete(visit, f"{path}/{PUBLIC}"), "UNPROCESSABLE_ENTITY")
    assert_problem(await delete(visit, f"{path}/01JGGR2Z3W8Q4T6V9X0Y1B2C3D"), "NOT_FOUND")
    accepted = await delete(visit, f"{path}/{theirs['tenantId']}")
    assert accepted.status_code == 202
    refused = await visit.client.get("/api/me", headers=user)
    assert refused.status_code in (401, 403)
    assert_problem(await visit.client.get(f"{path}/{theirs['tenantId']}", headers=AS_ADMIN), "NOT_FOUND")
    fresh = bearer(await visit.key(Role.USER))  # the same address, and another tenant
    assert (await get(visit, "/api/me", sent=fresh))["tenantId"] != theirs["tenantId"]
    async with working(visit):
        done = await ended(visit, accepted.json())
    assert (done["status"], done["result"]["crawls"]) == ("done", 1)
    async with visit.service.database.read() as connection:
        gone = select(func.count()).where(tables.tenants.c.id == theirs["tenantId"])
        assert await connection.scalar(gone) == 0


async def test_people_delete_after_a_question(visit: Visit) -> None:
    admin, other = await sign_in(visit), await sign_in(visit, "user")
    audit = (await admin.post("/audits", json={"url": "https://example.com/"})).json()["auditId"]
    batch = (await admin.post("/batch/fetch", json={"urls": ["https://example.com/"]})).json()["batchId"]
    tenant = (await other.get("/api/me")).json()["tenantId"]
    for here, notice in (
        (f"/app/audits/{audit}", "The audit is deleted."),
        (f"/app/batches/{batch}", "The batch is being deleted"),
        (f"/app/tenants/{tenant}", "The tenant is being deleted"),
    ):
        assert f'href="{here}/delete"' in (await admin.get(here)).text
        assert (await other.post(f"{here}/delete")).status_code in (403, 404)
        assert "This cannot be undone." in (await admin.get(f"{here}/delete")).text
        deleted = await admin.post(f"{here}/delete")
        assert notice in (await admin.get(deleted.headers["location"])).text
        assert (await admin.get(here)).status_code == 404
    own = (await admin.get("/api/me")).json()["tenantId"]
    assert "your own tenant" in (await admin.post(f"/app/tenants/{own}/delete")).text
    assert (await other.get("/app")).status_code == 303, "the person's session has ended"
