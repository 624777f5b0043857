"""The log of activity over HTTP: what is recorded, and who may see it."""

from typing import Any

from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import Rendering, idle, open_rendering
from tests.doors.services import AS_ADMIN, Visit, bearer

from gossamer.state.tenants.tenants import Role

__all__ = ["idle", "open_rendering"]


async def listed(visit: Visit, sent: dict[str, str] | None = None, **query: Any) -> list[dict[str, Any]]:
    answer = await visit.client.get("/api/activity", params=query, headers=sent or AS_ADMIN)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["activity"]
    return found


async def test_every_kind_of_work_is_recorded_with_its_author_and_request(idle: Rendering) -> None:
    user = bearer(await idle.visit.key(Role.USER))
    key = (await idle.get("/api/me", sent=user)).json()["keyId"]
    post, url = idle.visit.client.post, idle.site.url("/page")
    audit = await post("/audits", json={"url": url}, headers=user)
    batch = await post("/batch/fetch", json={"urls": [url, url]}, headers=user)
    warm = await post("/api/cache/warm", json={"urls": [url]}, headers=user)
    await idle.delete(sent=user, url=url)
    await idle.delete(sent=user, prefix=f"{url}*")
    await idle.delete(sent=user, all="true")
    job = batch.json()["jobId"]
    canceled = await idle.visit.client.delete(f"/api/jobs/{job}", headers=user)
    lines = await listed(idle.visit, user, actor=key)
    form = (await idle.key("/page")).form
    assert [(line["action"], line["subject"], line["detail"]) for line in lines] == [
        ("job.canceled", job, "batch"),
        ("cache.cleared", "cache", "all"),
        ("cache.cleared", "cache", f"{form}*"),
        ("cache.cleared", "cache", form),
        ("cache.warmed", warm.json()["jobId"], "1 URLs"),
        ("batch.started", job, "2 URLs"),
        ("audit.started", audit.json()["auditId"], url),
    ]
    last = lines[0]
    assert last["requestId"] == canceled.headers["x-request-id"]
    assert (last["via"], last["client"]) == ("key", "127.0.0.1")
    assert (last["actor"]["id"], last["actor"]["name"][:8]) == (key, "sk_live_")
    assert last["at"].endswith("Z")


async def test_what_changes_nothing_is_not_recorded(idle: Rendering) -> None:
    post, url = idle.visit.client.post, idle.site.url("/page")
    for _ in range(2):  # the second request shares the job of the first
        await post("/audits", json={"url": url}, headers=AS_ADMIN)
        job = (await post("/api/cache/warm", json={"urls": [url]}, headers=AS_ADMIN)).json()["jobId"]
    for _ in range(2):
        await idle.visit.client.delete(f"/api/jobs/{job}", headers=AS_ADMIN)
    actions = [line["action"] for line in await listed(idle.visit) if not line["action"].startswith("key")]
    assert actions == ["job.canceled", "cache.warmed", "audit.started"]


async def test_users_see_their_own_tenant_and_admins_all(visit: Visit) -> None:
    user = bearer(await visit.key(Role.USER))
    mine = (await visit.client.get("/api/me", headers=user)).json()
    own = await listed(visit, user)
    assert [line["tenantId"] for line in own] == [mine["tenantId"]]
    assert [line["action"] for line in await listed(visit, action="key")] == ["key.created", "key.registered"]
    assert await listed(visit, tenant=mine["tenantId"]) == own == await listed(visit, subject=mine["keyId"])
    assert await listed(visit, user, tenant=mine["tenantId"]) == own
    refused = await visit.client.get("/api/activity?tenant=other", headers=user)
    assert_problem(refused, "FORBIDDEN")
    assert_problem(await visit.client.get("/api/activity"), "UNAUTHORIZED")


async def test_pages_follow_each_other(visit: Visit) -> None:
    for _ in range(3):
        await visit.key()
    everything = await listed(visit)
    seen: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    for _ in range(4):
        answer = await visit.client.get("/api/activity", params={"limit": 1, **cursor}, headers=AS_ADMIN)
        seen += answer.json()["activity"]
        cursor = {"cursor": answer.json()["nextCursor"]}
    assert seen == everything
    assert cursor == {"cursor": None}
