"""The list of tenants over HTTP."""

from typing import Any

from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, bearer

from gossamer.state.tenants.tenants import Role


async def listed(visit: Visit, **query: Any) -> dict[str, Any]:
    answer = await visit.client.get("/api/admin/tenants", params=query, headers=AS_ADMIN)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def test_admins_list_and_find_tenants(visit: Visit) -> None:
    await visit.key(Role.USER)
    await visit.key(Role.USER)
    shown = await listed(visit)
    assert [(one["email"], one["keys"]) for one in shown["tenants"]] == [
        ("someone@example.com", 2),
        ("admin@localhost", 1),
    ]
    assert shown["tenants"][0]["lastUsedAt"] is None
    assert shown["nextCursor"] is None
    assert [one["email"] for one in (await listed(visit, email="ADMIN"))["tenants"]] == ["admin@localhost"]
    first = await listed(visit, limit=1)
    rest = await listed(visit, limit=1, cursor=first["nextCursor"])
    assert [*first["tenants"], *rest["tenants"]] == shown["tenants"]


async def test_tenants_are_the_admins_business(visit: Visit) -> None:
    user = bearer(await visit.key(Role.USER))
    assert_problem(await visit.client.get("/api/admin/tenants", headers=user), "FORBIDDEN")
    assert_problem(await visit.client.get("/api/admin/tenants"), "UNAUTHORIZED")


async def test_admins_get_one_tenant(visit: Visit) -> None:
    await visit.key(Role.USER)
    shown = (await listed(visit))["tenants"][0]
    one = await visit.client.get(f"/api/admin/tenants/{shown['id']}", headers=AS_ADMIN)
    quotas = one.json().pop("quotas")
    assert list(quotas) == [tier["tier"] for tier in shown["tiers"]]
    assert one.json() == {**shown, "quotas": quotas}
    unknown = await visit.client.get("/api/admin/tenants/01JGGR2Z3W8Q4T6V9X0Y1B2C3D", headers=AS_ADMIN)
    assert_problem(unknown, "NOT_FOUND")
