"""The pages about keys: admins manage all, everybody else those of their own tenant."""

import re
from html import unescape

import httpx
from tests.doors.http.dashboard.account.forms import ESCAPED, HOSTILE, send
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit, bearer

from gossamer.flows.tenants.keys import IssuedKey, NewKey
from gossamer.state.tenants.activity import Actor


def shown_secret(page: str) -> str:
    found = re.search(r"<code>(sk_(?:live|test)_[\w-]{32})</code>", page)
    assert found is not None, page
    return found[1]


async def create(visit: Visit, email: str = "team@example.com", **more: str) -> IssuedKey:
    return await visit.service.keys.create(NewKey(email=email, **more), Actor("test"))  # type: ignore[arg-type]


async def email_of(client: httpx.AsyncClient) -> str:
    email: str = (await client.get("/api/me")).json()["prefix"]
    return email


async def test_an_admin_creates_a_key_whose_secret_is_shown_once(visit: Visit) -> None:
    admin = await sign_in(visit)
    typed = {"email": "team@example.com", "label": "ci", "tier": "free", "role": "user", "lasting": "30"}
    form = {**typed, "once": "0123456789abcdef"}
    made = await send(admin, "/app/keys/new", form)
    secret = shown_secret(made.text)
    assert secret.startswith("sk_test_")
    assert f'Authorization: Bearer {secret}"' in unescape(made.text)
    assert (await send(admin, "/app/keys/new", form)).text == made.text  # a double click makes one key
    listed = (await admin.get("/app/keys", params={"email": "team@example.com"})).text
    assert listed.count('<a class="mono"') == 1
    row = listed.partition('<a class="mono"')[2].partition("</tr>")[0]
    assert [text in row for text in (">ci<", "team@example.com", ">free<", ">active<")] == [True] * 4
    assert row.count("<time ") == 2  # created, and expires
    assert secret not in listed
    me = (await visit.client.get("/api/me", headers=bearer(secret))).json()
    assert (me["role"], me["tier"]) == ("user", "free")


async def test_a_refused_form_keeps_what_was_typed(visit: Visit) -> None:
    admin = await sign_in(visit)
    form = {"email": HOSTILE, "label": HOSTILE, "tier": "enterprise", "role": "admin", "lasting": "90"}
    refused = await send(admin, "/app/keys/new", form)
    assert refused.status_code == 422
    assert "is not an email address" in refused.text
    assert refused.text.count(f'value="{ESCAPED}"') == 2
    assert "<script>alert" not in refused.text
    for chosen in ("enterprise", "admin", "90"):
        assert f'<option value="{chosen}" selected>' in refused.text
    forever = await send(admin, "/app/keys/new", {**form, "email": "a@example.com", "lasting": "100000000"})
    assert forever.status_code == 400


async def test_admins_see_all_keys_and_find_those_of_an_email(visit: Visit) -> None:
    admin = await sign_in(visit)
    team, other = await create(visit, label=HOSTILE), await create(visit, "other@example.com")
    page = (await admin.get("/app/keys")).text
    assert team.key.prefix in page
    assert other.key.prefix in page
    assert "<script>alert" not in page
    assert ESCAPED in page
    found = (await admin.get("/app/keys", params={"email": "team@example.com", "cursor": ""})).text
    assert team.key.prefix in found
    assert other.key.prefix not in found
    none = (await admin.get("/app/keys", params={"email": "nobody@example.com"})).text
    assert "No tenant with this email has a key." in none


async def test_a_rotated_key_shows_its_new_secret_and_the_old_one_is_refused(visit: Visit) -> None:
    admin = await sign_in(visit)
    old = await create(visit)
    rotated = await send(admin, f"/app/keys/{old.key.id}/rotate")
    secret = shown_secret(rotated.text)
    assert f"replaces {old.key.prefix}" in rotated.text
    assert (await visit.client.get("/api/me", headers=bearer(secret))).status_code == 200
    assert (await visit.client.get("/api/me", headers=bearer(old.secret))).status_code == 403
    again = await send(admin, f"/app/keys/{old.key.id}/rotate")
    assert again.status_code == 422
    assert "Create a new key instead." in again.text


async def test_a_key_is_disabled_in_a_second_step(visit: Visit) -> None:
    admin = await sign_in(visit)
    issued = await create(visit)
    path = f"/app/keys/{issued.key.id}"
    page = (await admin.get(path)).text
    assert "<summary>Disable this key</summary>" in page
    disabled = await send(admin, f"{path}/disable")
    assert "The key is disabled." in disabled.text
    assert ">disabled<" in disabled.text
    assert "<summary>" not in disabled.text.partition("<main")[2]
    assert (await visit.client.get("/api/me", headers=bearer(issued.secret))).status_code == 403


async def test_users_manage_the_keys_of_their_own_tenant(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    assert "No keys yet" in (await user.get("/app/keys")).text
    assert 'name="email"' not in (await user.get("/app/keys/new")).text
    form = {
        "label": "mine",
        "lasting": "",
        "email": "other@example.com",
        "role": "admin",
        "tier": "enterprise",
    }
    secret = shown_secret((await send(user, "/app/keys/new", form)).text)
    me = (await visit.client.get("/api/me", headers=bearer(secret))).json()
    assert (me["role"], me["tier"]) == ("user", "pro")  # what else was sent changes nothing
    assert me["tenantId"] == (await user.get("/api/me")).json()["tenantId"]
    assert ">mine<" in (await user.get("/app/keys")).text
    rotated = await send(user, f"/app/keys/{me['keyId']}/rotate")
    shown_secret(rotated.text)


async def test_users_do_not_see_or_touch_other_keys(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    other = await create(visit)
    page = (await user.get("/app/keys", params={"email": "team@example.com"})).text
    assert other.key.prefix not in page
    path = f"/app/keys/{other.key.id}"
    assert (await user.get(path)).status_code == 404
    for action in ("rotate", "disable"):
        assert (await send(user, f"{path}/{action}")).status_code == 404
    assert (await visit.client.get("/api/me", headers=bearer(other.secret))).status_code == 200


async def test_a_user_is_refused_a_key_with_more_rights(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    strong = await create(visit, await email_of(user), role="admin")
    path = f"/app/keys/{strong.key.id}"
    assert (await user.get(path)).status_code == 200
    refused = await send(user, f"{path}/rotate")
    assert refused.status_code == 403
    assert "has more rights than you have" in refused.text
