"""Admins add, change and disable people; somebody always stays an admin."""

from typing import Any

import pytest
from tests.doors.services import AS_ADMIN, Visit, bearer

from gossamer.state.tenants.tenants import Role


async def add(visit: Visit, email: str = "you@example.com", **more: str) -> dict[str, Any]:
    answer = await visit.client.post("/api/admin/users", headers=AS_ADMIN, json={"email": email, **more})
    assert answer.status_code == 201, answer.text
    added: dict[str, Any] = answer.json()
    return added


async def test_a_person_is_added_with_a_link(visit: Visit) -> None:
    added = await add(visit, " You@Example.com ")
    assert added["email"] == "you@example.com"
    assert added["link"].startswith("https://gossamer.example/app/link?token=")
    assert added["hasPassword"] is False


async def test_people_can_share_a_tenant(visit: Visit) -> None:
    one = await add(visit, "one@example.com")
    other = await add(visit, "other@example.com", tenant="one@example.com")
    assert one["tenantId"] == other["tenantId"]


async def test_an_email_is_one_person(visit: Visit) -> None:
    await add(visit)
    answer = await visit.client.post("/api/admin/users", headers=AS_ADMIN, json={"email": "you@example.com"})
    assert answer.status_code == 422


async def test_people_are_listed_in_pages(visit: Visit) -> None:
    for number in range(3):
        await add(visit, f"p{number}@example.com")
    first = (await visit.client.get("/api/admin/users?limit=2", headers=AS_ADMIN)).json()
    assert [user["email"] for user in first["users"]] == ["p2@example.com", "p1@example.com"]
    address = f"/api/admin/users?limit=2&cursor={first['nextCursor']}"
    second = (await visit.client.get(address, headers=AS_ADMIN)).json()
    # The first start has added an admin.
    assert [user["email"] for user in second["users"]] == ["p0@example.com", "admin@localhost"]
    assert second["nextCursor"] is None


async def test_the_last_admin_stays(visit: Visit) -> None:
    (admin,) = (await visit.client.get("/api/admin/users", headers=AS_ADMIN)).json()["users"]
    path = f"/api/admin/users/{admin['id']}"
    assert (await visit.client.delete(path, headers=AS_ADMIN)).status_code == 422
    answer = await visit.client.post(path, headers=AS_ADMIN, json={"role": "user"})
    assert answer.status_code == 422
    await add(visit, role="admin")
    assert (await visit.client.delete(path, headers=AS_ADMIN)).status_code == 200


async def test_disabling_and_enabling(visit: Visit) -> None:
    path = f"/api/admin/users/{(await add(visit))['id']}"
    disabled = (await visit.client.delete(path, headers=AS_ADMIN)).json()
    assert disabled["disabledAt"] is not None
    answer = await visit.client.post(f"{path}/link", headers=AS_ADMIN)
    assert answer.status_code == 422
    enabled = (await visit.client.post(path, headers=AS_ADMIN, json={"disabled": False})).json()
    assert enabled["disabledAt"] is None
    assert (await visit.client.post(f"{path}/link", headers=AS_ADMIN)).status_code == 201


@pytest.mark.parametrize("user_id", ["none", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"])
async def test_an_unknown_person(visit: Visit, user_id: str) -> None:
    answer = await visit.client.delete(f"/api/admin/users/{user_id}", headers=AS_ADMIN)
    assert answer.status_code == 404


async def test_people_are_an_admins_matter(visit: Visit) -> None:
    headers = bearer(await visit.key(Role.USER))
    assert (await visit.client.get("/api/admin/users", headers=headers)).status_code == 403
    assert (await visit.client.get("/api/admin/users")).status_code == 401
