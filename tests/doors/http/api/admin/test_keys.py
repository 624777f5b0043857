"""API keys over HTTP."""

import re

import pytest
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.servers.valkey import Valkey

from gossamer.state.tenants import tenants
from gossamer.state.tenants.activity import ActivityFilter, list_activity
from gossamer.state.tenants.tenants import Role


async def create(visit: Visit, **fields: str) -> dict[str, str]:
    response = await visit.client.post(
        "/api/admin/keys", json={"email": "team@example.com", **fields}, headers=AS_ADMIN
    )
    assert response.status_code == 201, response.text
    created: dict[str, str] = response.json()
    return created


async def test_story1_a_key_is_shown_once_and_works_at_once(visit: Visit) -> None:
    created = await create(visit, label="production")
    assert re.fullmatch(r"sk_live_[A-Za-z0-9_-]{32}", created["key"])
    assert created["prefix"] == created["key"][:15] + "..."
    me = await visit.client.get("/api/me", headers=bearer(created["key"]))
    assert me.json() == {
        "keyId": created["id"],
        "tenantId": created["tenantId"],
        "prefix": created["prefix"],
        "role": "user",
        "tier": "pro",
        "via": "key",
    }
    listed = await visit.client.get("/api/admin/keys", headers=AS_ADMIN)
    assert created["key"] not in listed.text
    assert [key["label"] for key in listed.json()["keys"]] == ["production", "first key"]


async def test_story1_only_a_hash_is_kept(visit: Visit) -> None:
    created = await create(visit)
    async with visit.service.database.read() as connection:
        row = (await connection.exec_driver_sql("SELECT * FROM api_keys ORDER BY id DESC LIMIT 1")).one()
    assert created["key"] not in repr(row)
    assert tenants.key_hash(created["key"]) == row.hash


async def test_decision10_the_free_tier_has_test_keys(visit: Visit) -> None:
    assert (await create(visit, tier="free"))["key"].startswith("sk_test_")
    assert (await create(visit, tier="enterprise"))["key"].startswith("sk_live_")


async def test_story1_one_email_may_have_several_keys(visit: Visit) -> None:
    first, second = await create(visit), await create(visit)
    assert first["tenantId"] == second["tenantId"]
    assert first["key"] != second["key"]
    listed = await visit.client.get("/api/admin/keys?email=TEAM@example.com", headers=AS_ADMIN)
    assert len(listed.json()["keys"]) == 2


@pytest.mark.parametrize(
    "email", ["", "nobody", "nobody@", "@example.com", "a b@example.com", "a@b", "a@b..c"]
)
async def test_story1_an_invalid_email_is_a_clear_error(visit: Visit, email: str) -> None:
    response = await visit.client.post("/api/admin/keys", json={"email": email}, headers=AS_ADMIN)
    document = assert_problem(response, "UNPROCESSABLE_ENTITY")
    assert "email" in str(document["detail"])
    assert document["hint"]


async def test_pages_of_a_listing(visit: Visit) -> None:
    made = [(await create(visit))["id"] for _ in range(5)]
    seen: list[str] = []
    cursor = ""
    while len(seen) < 6:
        query = f"limit=2{cursor}"
        page = (await visit.client.get(f"/api/admin/keys?{query}", headers=AS_ADMIN)).json()
        seen += [key["id"] for key in page["keys"]]
        cursor = f"&cursor={page['nextCursor']}"
    assert page["nextCursor"] is None
    assert seen[:5] == made[::-1]


async def test_a_disabled_key_is_refused_at_once(visit_on_each_hot: Visit) -> None:
    visit = visit_on_each_hot
    created = await create(visit)
    assert (await visit.client.get("/api/me", headers=bearer(created["key"]))).status_code == 200
    for _ in range(2):
        disabled = await visit.client.delete(f"/api/admin/keys/{created['id']}", headers=AS_ADMIN)
        assert disabled.json()["disabledAt"] is not None
    assert_problem(await visit.client.get("/api/me", headers=bearer(created["key"])), "KEY_DISABLED")


async def test_a_key_disabled_in_one_process_is_refused_in_another(
    visiting: Visiting, own_valkey: Valkey
) -> None:
    async with visiting(redis_url=own_valkey.url) as one, visiting(redis_url=own_valkey.url) as other:
        created = await create(one)
        assert (await other.client.get("/api/me", headers=bearer(created["key"]))).status_code == 200
        await one.client.delete(f"/api/admin/keys/{created['id']}", headers=AS_ADMIN)
        assert_problem(await other.client.get("/api/me", headers=bearer(created["key"])), "KEY_DISABLED")


async def test_rotation_replaces_a_key(visit: Visit) -> None:
    old = await create(visit, label="production", tier="enterprise")
    assert (await visit.client.get("/api/me", headers=bearer(old["key"]))).status_code == 200
    rotated = await visit.client.post(f"/api/admin/keys/{old['id']}/rotate", headers=AS_ADMIN)
    assert rotated.status_code == 201
    new = rotated.json()
    assert (new["tenantId"], new["label"], new["tier"]) == (old["tenantId"], "production", "enterprise")
    assert (await visit.client.get("/api/me", headers=bearer(new["key"]))).status_code == 200
    assert_problem(await visit.client.get("/api/me", headers=bearer(old["key"])), "KEY_DISABLED")
    again = await visit.client.post(f"/api/admin/keys/{old['id']}/rotate", headers=AS_ADMIN)
    assert_problem(again, "UNPROCESSABLE_ENTITY")


@pytest.mark.parametrize("key_id", ["none", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"])
async def test_an_unknown_id(visit: Visit, key_id: str) -> None:
    assert_problem(await visit.client.delete(f"/api/admin/keys/{key_id}", headers=AS_ADMIN), "NOT_FOUND")
    assert_problem(await visit.client.post(f"/api/admin/keys/{key_id}/rotate", headers=AS_ADMIN), "NOT_FOUND")


async def test_every_key_event_is_in_the_audit_log(visit: Visit) -> None:
    created = await create(visit)
    response = await visit.client.delete(f"/api/admin/keys/{created['id']}", headers=AS_ADMIN)
    async with visit.service.database.read() as connection:
        events = await list_activity(connection, ActivityFilter(subject=created["id"]))
    assert [event.action.value for event in events] == ["key.disabled", "key.created"]
    assert events[0].actor.request_id == response.headers["x-request-id"]
    me = (await visit.client.get("/api/me", headers=AS_ADMIN)).json()
    assert {event.actor.id for event in events} == {me["keyId"]}
    assert created["key"] not in repr(events)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("caller", ["nobody", "user"])
async def test_decision10_keys_are_the_admins(visit: Visit, method: str, caller: str) -> None:
    headers = bearer(await visit.key(Role.USER)) if caller == "user" else {}
    response = await visit.client.request(method, "/api/admin/keys", headers=headers)
    assert_problem(response, "FORBIDDEN" if caller == "user" else "UNAUTHORIZED")


async def test_every_route_declares_who_may_call_it(visit: Visit) -> None:
    """Nobody gets into a route that was not declared open; the list of open ones is short and known."""
    from gossamer.assembly.api import routes

    open_routes = {route.path for route in routes(visit.service) if route.needs is Role.NOBODY}
    assert open_routes == {
        "/api/auth/link",
        "/api/auth/login",
        "/api/prices",
        "/api/stats",
        "/health",
        "/health/live",
        "/health/ready",
        "/hooks/sites/{id}/{token}",  # the address has a secret
    }


async def test_the_last_use_is_written_down(visit: Visit) -> None:
    from gossamer.flows.upkeep import upkeep

    secret = await visit.key()
    await visit.client.get("/api/me", headers=bearer(secret))
    await upkeep.clean_up(visit.service.database, visit.service.admission)
    listed = (await visit.client.get("/api/admin/keys", headers=AS_ADMIN)).json()["keys"]
    assert listed[0]["lastUsedAt"] is not None


FUTURE = "2100-01-01T00:00:00.000Z"


async def test_a_key_is_created_with_an_end_and_refused_after_it(
    visit_on_each_hot: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = visit_on_each_hot
    created = await create(visit, expiresAt=FUTURE)
    assert created["expiresAt"] == FUTURE
    assert (await visit.client.get("/api/me", headers=bearer(created["key"]))).status_code == 200
    end = 4_102_444_800.0
    monkeypatch.setattr(visit.service.admission, "_clock", lambda: end - 0.001)
    assert (await visit.client.get("/api/me", headers=bearer(created["key"]))).status_code == 200
    monkeypatch.setattr(visit.service.admission, "_clock", lambda: end)
    refused = await visit.client.get("/api/me", headers=bearer(created["key"]))
    problem = assert_problem(refused, "KEY_DISABLED")
    assert problem["details"] == {"reason": "expired"}


@pytest.mark.parametrize(
    ("expires", "code"),
    [
        ("2020-01-01T00:00:00Z", "UNPROCESSABLE_ENTITY"),
        ("2100-01-01T00:00:00", "VALIDATION_ERROR"),  # of which zone?
        ("tomorrow", "VALIDATION_ERROR"),
    ],
)
async def test_the_end_of_a_key_must_be_a_time_in_the_future(visit: Visit, expires: str, code: str) -> None:
    body = {"email": "team@example.com", "expiresAt": expires}
    assert_problem(await visit.client.post("/api/admin/keys", json=body, headers=AS_ADMIN), code)


async def test_admins_list_the_keys_of_a_tenant(visit: Visit) -> None:
    created = await create(visit)
    listed = await visit.client.get(f"/api/admin/keys?tenant={created['tenantId']}", headers=AS_ADMIN)
    assert [key["id"] for key in listed.json()["keys"]] == [created["id"]]
    assert (await visit.client.get("/api/admin/keys?tenant=none", headers=AS_ADMIN)).json()["keys"] == []


async def test_users_manage_the_keys_of_their_own_tenant(visit: Visit) -> None:
    own = await create(visit, tier="enterprise")
    user = bearer(own["key"])
    body = {"label": "ci", "expiresAt": FUTURE}
    retry = {**user, "Idempotency-Key": "once"}
    made = await visit.client.post("/api/keys", json=body, headers=retry)
    assert made.status_code == 201, made.text
    assert (await visit.client.post("/api/keys", json=body, headers=retry)).json() == made.json()
    key = made.json()
    assert (key["tenantId"], key["role"], key["tier"]) == (own["tenantId"], "user", "enterprise")
    assert (key["label"], key["expiresAt"]) == ("ci", FUTURE)
    listed = (await visit.client.get("/api/keys", headers=user)).json()
    assert [each["id"] for each in listed["keys"]] == [key["id"], own["id"]]
    assert "key" not in listed["keys"][0]
    rotated = await visit.client.post(f"/api/keys/{key['id']}/rotate", headers=user)
    assert rotated.json()["expiresAt"] == FUTURE
    assert_problem(await visit.client.get("/api/me", headers=bearer(key["key"])), "KEY_DISABLED")
    disabled = await visit.client.delete(f"/api/keys/{rotated.json()['id']}", headers=user)
    assert disabled.json()["disabledAt"] is not None
    admins = (await visit.client.get("/api/me", headers=AS_ADMIN)).json()["keyId"]
    assert_problem(await visit.client.delete(f"/api/keys/{admins}", headers=user), "NOT_FOUND")
    assert_problem(await visit.client.post(f"/api/keys/{admins}/rotate", headers=user), "NOT_FOUND")
    refused = await visit.client.post("/api/keys", json={"role": "admin"}, headers=user)
    assert_problem(refused, "VALIDATION_ERROR")
    assert_problem(await visit.client.get("/api/keys"), "UNAUTHORIZED")
