"""The page about oneself."""

import re

from tests.doors.http.dashboard.account.forms import send
from tests.doors.http.dashboard.signed_in import PASSWORD, sign_in
from tests.doors.services import Visit, bearer

NEW = "other words in a row"


async def test_people_see_who_they_are_and_how_they_came_in(visit: Visit) -> None:
    page = (await (await sign_in(visit, "user")).get("/app/account")).text
    assert "<dd>user-1@example.com</dd>" in page
    assert "from 127.0.0.1" in page
    assert page.count("<time ") == 2


async def test_a_changed_password_is_the_one_that_signs_in(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    changed = await send(user, "/app/account/password", {"old": PASSWORD, "new": NEW})
    assert "Your password is changed" in changed.text
    login = {"email": "user-1@example.com"}
    assert (await visit.client.post("/api/auth/login", json={**login, "password": NEW})).status_code == 200
    old = await visit.client.post("/api/auth/login", json={**login, "password": PASSWORD})
    assert old.status_code == 401


async def test_a_refused_password_is_explained_and_never_shown(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    wrong = await send(user, "/app/account/password", {"old": "not the password", "new": NEW})
    assert wrong.status_code == 422
    assert "The present password is not right." in wrong.text
    assert NEW not in wrong.text
    assert "not the password" not in wrong.text
    short = await send(user, "/app/account/password", {"old": PASSWORD, "new": "short"})
    assert short.status_code == 422
    assert "this one has 5" in short.text
    empty = await send(user, "/app/account/password", {"old": PASSWORD})
    assert empty.status_code == 400


async def test_a_usage_link_is_shown_once_and_opens_a_viewers_session(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    made = await send(user, "/app/account/usage-link")
    found = re.search(r"<code>https://gossamer\.example/app/link\?token=([\w-]+)</code>", made.text)
    assert found is not None
    assert found[1] not in (await user.get("/app/account")).text
    viewer = (await visit.client.post("/api/auth/link", json={"token": found[1]})).json()
    assert viewer["role"] == "viewer"
    assert viewer["tenantId"] == (await user.get("/api/me")).json()["tenantId"]


async def test_a_key_has_no_account(visit: Visit) -> None:
    key = bearer(await visit.key())
    refused = await visit.client.get("/app/account", headers=key)
    assert refused.status_code == 403
    assert "Only people who have signed in" in refused.text
    assert (await visit.client.post("/app/account/usage-link", headers=key)).status_code == 403
