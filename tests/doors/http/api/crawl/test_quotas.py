"""Quotas over HTTP: what is refused, with what, and what a caller sees of them."""

from typing import Any

import pytest
from tests.doors.crawls import OPEN, begin, get, post
from tests.doors.services import Visit, Visiting, bearer

from gossamer.state.tenants.tenants import Tier

SEED = "http://127.0.0.1:9/"
CRAWL = {"seeds": [SEED], "sitemaps": False}
BATCH = {"urls": [SEED]}

# By quota: its setting, and a request that it refuses when it is used up.
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "crawls": ("/api/crawls", CRAWL),
    "pages": ("/api/crawls", CRAWL),
    "bytes": ("/api/crawls", CRAWL),
    "crawl_pages": ("/api/crawls", CRAWL),
    "batches": ("/batch/fetch", BATCH),
    "jobs": ("/audits", {"url": SEED}),
}


async def refusal(visit: Visit, path: str, body: Any, sent: dict[str, str]) -> dict[str, Any]:
    response = await post(visit, path, body, sent)
    assert response.status_code == 429, response.text
    problem: dict[str, Any] = response.json()
    assert problem["code"] == "QUOTA_EXCEEDED"
    return problem


@pytest.mark.parametrize("quota", REFUSED)
async def test_a_used_up_quota_refuses_with_its_limit_and_what_helps(visiting: Visiting, quota: str) -> None:
    path, body = REFUSED[quota]
    setting = {f"quota_{quota}": "0,1,unlimited"}
    async with visiting(**OPEN, **setting) as visit:
        sent = bearer(await visit.key(tier=Tier.FREE))
        problem = await refusal(visit, path, body, sent)
        assert problem["limit"] == 0
        assert problem["details"] == {
            "quota": quota,
            "reason": "quota_reached",
            "setting": f"GOSSAMER_QUOTA_{quota.upper()}",
        }
        assert "A higher tier allows more." in problem["hint"]
        assert ("resetAt" in problem and problem["retryAfter"] > 0) == (quota == "pages")
        assert (await post(visit, path, body)).status_code == 202  # an admin's


async def test_an_ended_crawl_makes_room_for_another(visiting: Visiting) -> None:
    async with visiting(**OPEN, quota_crawls="1,1,1") as visit:
        sent = bearer(await visit.key())
        first = await begin(visit, SEED, sent=sent)
        problem = await refusal(visit, "/api/crawls", CRAWL, sent)
        assert (problem["limit"], problem["used"]) == (1, 1)
        assert "stop one" in problem["hint"]
        stopped = await post(visit, f"/api/crawls/{first['crawlId']}/stop", sent=sent)
        assert stopped.status_code == 200
        await begin(visit, SEED, sent=sent)


async def test_usage_lists_quotas_of_users_and_none_of_admins(visiting: Visiting) -> None:
    async with visiting(**OPEN, quota_crawls="2,3,unlimited") as visit:
        sent = bearer(await visit.key())
        await begin(visit, SEED, sent=sent)
        quotas = (await get(visit, "/api/usage", sent=sent))["quotas"]
        assert {one["quota"]: one["used"] for one in quotas} == {
            "crawls": 1,
            "crawl_pages": None,
            "pages": 0,
            "bytes": 0,
            "jobs": 0,
            "batches": 0,
            "webhooks": 0,
            "schedules": 0,
            "memory_entries": 0,
            "memory_bytes": 0,
            "monitors": 0,
            "sites": 0,
        }
        assert next(one for one in quotas if one["quota"] == "crawls")["limit"] == 3
        assert (await get(visit, "/api/usage"))["quotas"] == []


async def test_an_admin_sees_the_quotas_of_a_tenant_by_tier(visiting: Visiting) -> None:
    async with visiting(**OPEN, quota_crawls="2,3,unlimited") as visit:
        sent = bearer(await visit.key())
        await begin(visit, SEED, sent=sent)
        (tenant,) = (await get(visit, "/api/admin/tenants", email="someone"))["tenants"]
        assert "quotas" not in tenant
        quotas = (await get(visit, f"/api/admin/tenants/{tenant['id']}"))["quotas"]
        assert list(quotas) == ["pro"]
        assert quotas["pro"][0] == {
            "quota": "crawls",
            "about": "crawls at a time",
            "limit": 3,
            "used": 1,
            "resetAt": None,
        }
