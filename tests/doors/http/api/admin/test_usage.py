"""What a tenant has used, and who may know."""

from typing import Any

import pytest
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import OpenRendering, Rendering, article, open_rendering
from tests.doors.services import bearer

from gossamer.state.tenants.tenants import Role, Tier

__all__ = ["open_rendering"]


async def usage(service: Rendering, sent: dict[str, str] | None = None, **query: str) -> dict[str, Any]:
    answer = await service.get("/api/usage", sent=sent, **query)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def test_seed2_5_usage_is_exact_and_survives_a_stop(open_rendering: OpenRendering) -> None:
    good, bad = say(article("Used")), say(article("Gone"), status="404 Not Found")
    async with open_rendering() as service:
        user = bearer(await service.visit.key(Role.USER, Tier.FREE))
        nothing = await usage(service, user)
        assert nothing["renders"] == {"today": 0, "thisMonth": 0, "allTime": 0, "failed": 0}
        assert nothing["cache"]["hitRate"] == 0
        assert "first page" in nothing["message"]
        assert (await service.ask(good, sent=user, wait=30)).status_code == 200
        assert (await service.ask(bad, sent=user, wait=30)).status_code == 502
        for _ in range(3):
            assert (await service.ask(good, sent=user)).status_code == 200
        picture = {"url": service.site.url(good)}
        assert (await service.visit.client.post("/screenshot", json=picture, headers=user)).status_code == 200
        tenant = await service.tenant(user)
    async with open_rendering(working=False, limit_renders_free="3/86400") as service:
        used = await usage(service, user)
        assert used["tenantId"] == tenant
        assert used["renders"] == {"today": 3, "thisMonth": 3, "allTime": 3, "failed": 1}
        assert used["cache"] == {"hits": 3, "hot": 3, "cold": 0, "misses": 2, "hitRate": 60.0}
        assert used["storage"]["pages"] == 1
        assert used["storage"]["bytes"] > len(article("Used"))
        assert used["topUrls"] == [{"url": (await service.key(good, user)).form, "renders": 1, "accesses": 4}]
        assert "message" not in used
        assert (await usage(service))["renders"]["allTime"] == 0  # the admin's own tenant
        assert (await usage(service, tenant=tenant))["renders"]["allTime"] == 3  # which admins may ask for
        key = (await service.get("/api/me", sent=user)).json()["keyId"]
        assert (await usage(service, user, key=key))["renders"]["allTime"] == 3
        assert (await usage(service, key=key))["tenantId"] == tenant
        second = bearer(await service.visit.key(Role.USER))
        other_key = (await service.get("/api/me", sent=second)).json()["keyId"]
        assert (await usage(service, second, key=other_key))["renders"]["allTime"] == 0
        assert (await usage(service, second))["renders"]["allTime"] == 3  # the same tenant
        refused: dict[str, Any] = assert_problem(await service.ask("/one-more", sent=user), "RATE_LIMITED")
        assert (refused["limit"], refused["used"]) == (3, 3)  # nor does a stop forget what counts
        assert refused["resetAt"].endswith("T00:00:00.000Z")


@pytest.mark.parametrize("query", [{"key": "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"}, {"key": "of the admin"}])
async def test_keys_of_others_are_not_found(open_rendering: OpenRendering, query: dict[str, str]) -> None:
    async with open_rendering(working=False) as service:
        user = bearer(await service.visit.key(Role.USER))
        if query["key"] == "of the admin":
            query = {"key": (await service.get("/api/me")).json()["keyId"]}
        assert_problem(await service.get("/api/usage", sent=user, **query), "NOT_FOUND")
        tenant = await service.tenant()
        assert_problem(await service.get("/api/usage", sent=user, tenant=tenant), "FORBIDDEN")
        assert_problem(await service.visit.client.get("/api/usage"), "UNAUTHORIZED")
