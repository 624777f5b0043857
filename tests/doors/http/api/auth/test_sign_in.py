"""People sign in with a password or a link; what they send by cookie needs the session's CSRF token."""

import httpx
import pytest
from sqlalchemy import update
from tests.doors.services import AS_ADMIN, Visit, Visiting

from gossamer.flows.tenants.passwords import Passwords
from gossamer.flows.tenants.people import NewUser
from gossamer.state.db.tables import sessions, sign_in_links
from gossamer.state.tenants.activity import ActivityFilter, Actor, list_activity

PASSWORD = "several words in a row"
OTHER = "quite other words here"
EMAIL = "person@example.com"
COOKIE = "__Host-gossamer-session"


async def invited(visit: Visit, email: str = EMAIL, role: str = "user") -> str:
    new = NewUser(email=email, role="admin" if role == "admin" else "user")
    return (await visit.service.people.add(new, Actor("test"))).token


async def enter(visit: Visit, role: str = "user", email: str = EMAIL) -> dict[str, str]:
    """The headers of a person's session: cookie and CSRF token."""
    body = {"token": await invited(visit, email, role), "password": PASSWORD}
    return session_headers(await visit.client.post("/api/auth/link", json=body))


def session_headers(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 200, answer.text
    cookie = answer.headers["set-cookie"].partition(";")[0]
    answer.request.extensions.clear()
    return {"Cookie": cookie, "X-CSRF-Token": answer.json()["csrfToken"]}


async def login(visit: Visit, email: str = EMAIL, password: str = PASSWORD) -> httpx.Response:
    visit.client.cookies.clear()
    answer = await visit.client.post("/api/auth/login", json={"email": email, "password": password})
    visit.client.cookies.clear()
    return answer


async def whoami(visit: Visit, headers: dict[str, str]) -> httpx.Response:
    visit.client.cookies.clear()
    return await visit.client.get("/api/me", headers=headers)


async def test_an_invitation_sets_a_password_and_opens_a_session(visit: Visit) -> None:
    headers = await enter(visit)
    me = (await whoami(visit, headers)).json()
    assert (me["prefix"], me["role"], me["via"]) == (EMAIL, "user", "session")
    assert (await login(visit)).status_code == 200


async def test_a_key_is_told_that_it_came_by_key(visit: Visit) -> None:
    me = (await whoami(visit, AS_ADMIN)).json()
    assert me["via"] == "key"
    assert "csrfToken" not in me


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(visit: Visit) -> None:
    answer = await visit.client.post(
        "/api/auth/link", json={"token": await invited(visit), "password": PASSWORD}
    )
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name == COOKIE
    attributes = {part.strip() for part in rest.split(";")[1:]}
    assert attributes == {"Path=/", "Max-Age=86400", "HttpOnly", "SameSite=Strict", "Secure"}
    assert answer.headers["cache-control"] == "no-store"


async def test_without_tls_the_cookie_has_a_plain_name(visiting: Visiting) -> None:
    async with visiting(public_url="http://localhost:8080") as visit:
        answer = await visit.client.post(
            "/api/auth/link", json={"token": await invited(visit), "password": PASSWORD}
        )
        assert answer.headers["set-cookie"].startswith("gossamer-session=")
        assert "Secure" not in answer.headers["set-cookie"]


async def test_unknown_wrong_and_disabled_are_answered_alike(visit: Visit) -> None:
    await enter(visit)
    await enter(visit, email="gone@example.com")
    gone = await visit.service.people.find("gone@example.com")
    await visit.service.people.set_disabled(gone.id, Actor("test"), disabled=True)
    attempts = [
        await login(visit, EMAIL, "not the password"),
        await login(visit, "nobody@example.com", PASSWORD),
        await login(visit, "gone@example.com", PASSWORD),
        await login(visit, "not an email at all", PASSWORD),
    ]
    assert {answer.status_code for answer in attempts} == {401}
    shown = [{k: v for k, v in answer.json().items() if k != "requestId"} for answer in attempts]
    assert all(one == shown[0] for one in shown)


async def test_an_unknown_account_costs_as_much_work_as_a_known_one(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is counted is the hashes that are computed, not the time."""
    await enter(visit)
    counted: list[str] = []
    passwords = type(visit.service.sign_in.passwords)
    verify = passwords._matches

    def count(self: object, password: str, password_hash: str) -> bool:
        counted.append(password_hash.split("$")[3])
        return verify(self, password, password_hash)  # type: ignore[arg-type]

    monkeypatch.setattr(passwords, "_matches", count)
    await login(visit, EMAIL, "wrong")
    await login(visit, "nobody@example.com", "wrong")
    assert len(counted) == 2
    assert len(set(counted)) == 1  # the same cost parameters


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/api/auth/logout"), ("POST", "/api/crawls"), ("DELETE", "/api/cache")]
)
async def test_a_cookie_without_its_csrf_token_changes_nothing(visit: Visit, method: str, path: str) -> None:
    headers = await enter(visit, "admin")
    for token in ("", "wrong", None):
        sent = {**headers, "X-CSRF-Token": token} if token is not None else {"Cookie": headers["Cookie"]}
        answer = await visit.client.request(method, path, headers=sent, json={"urls": ["http://a.example/"]})
        assert answer.status_code == 403, answer.text
        assert answer.json()["details"]["reason"] == "csrf_token"
    assert (await whoami(visit, headers)).status_code == 200


async def test_csrf_is_required_also_of_origins_that_cors_allows(visiting: Visiting) -> None:
    async with visiting(cors_origins="https://other.example") as visit:
        headers = await enter(visit)
        sent = {"Cookie": headers["Cookie"], "Origin": "https://other.example"}
        answer = await visit.client.post("/api/auth/logout", headers=sent)
        assert answer.status_code == 403
        assert "access-control-allow-credentials" not in answer.headers


async def test_reading_needs_no_token(visit: Visit) -> None:
    headers = await enter(visit)
    assert (await whoami(visit, {"Cookie": headers["Cookie"]})).status_code == 200


async def test_the_csrf_token_of_another_session_does_not_count(visit: Visit) -> None:
    one, other = await enter(visit), await enter(visit, email="other@example.com")
    mixed = {"Cookie": one["Cookie"], "X-CSRF-Token": other["X-CSRF-Token"]}
    assert (await visit.client.post("/api/auth/logout", headers=mixed)).status_code == 403


async def test_a_key_beside_a_cookie_needs_no_token(visit: Visit) -> None:
    headers = await enter(visit)
    sent = {"Cookie": headers["Cookie"], **AS_ADMIN}
    answer = await visit.client.post("/api/admin/keys", headers=sent, json={"email": "customer@example.com"})
    assert answer.status_code == 201


async def test_signing_out_ends_the_session(visit: Visit) -> None:
    headers = await enter(visit)
    answer = await visit.client.post("/api/auth/logout", headers=headers)
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert (await whoami(visit, headers)).status_code == 401


async def test_a_session_ends_after_a_day(visit: Visit) -> None:
    headers = await enter(visit)
    async with visit.service.database.write() as connection:
        await connection.execute(update(sessions).values(expires_at=sessions.c.created_at))
    assert (await whoami(visit, headers)).status_code == 401


async def test_a_changed_password_ends_the_other_sessions_and_links(visit: Visit) -> None:
    mine = await enter(visit)
    elsewhere = session_headers(await login(visit))
    user = await visit.service.people.find(EMAIL)
    reset = (await visit.service.people.invite(user.id, Actor("test"))).token
    body = {"old": PASSWORD, "new": OTHER}
    visit.client.cookies.clear()
    assert (await visit.client.post("/api/auth/password", headers=mine, json=body)).status_code == 200
    assert (await whoami(visit, mine)).status_code == 200
    assert (await whoami(visit, elsewhere)).status_code == 401
    assert (
        await visit.client.post("/api/auth/link", json={"token": reset, "password": PASSWORD})
    ).status_code == 404
    assert (await login(visit)).status_code == 401
    assert (await login(visit, password=OTHER)).status_code == 200


@pytest.mark.parametrize("new", ["short", "aaaaaaaaaaaa", EMAIL, "x" * 201])
async def test_a_password_that_is_easy_to_guess_is_refused(visit: Visit, new: str) -> None:
    headers = await enter(visit)
    answer = await visit.client.post(
        "/api/auth/password", headers=headers, json={"old": PASSWORD, "new": new}
    )
    assert answer.status_code == 422
    assert new not in answer.text.replace(EMAIL, "") or new == EMAIL


async def test_the_old_password_is_asked_for(visit: Visit) -> None:
    headers = await enter(visit)
    body = {"old": "not the password", "new": OTHER}
    assert (await visit.client.post("/api/auth/password", headers=headers, json=body)).status_code == 422


async def test_a_link_works_once_also_when_used_twice_at_the_same_time(visit: Visit) -> None:
    import asyncio

    body = {"token": await invited(visit), "password": PASSWORD}
    answers = await asyncio.gather(*(visit.client.post("/api/auth/link", json=body) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 404, 404, 404, 404]


async def test_a_link_expires(visit: Visit) -> None:
    token = await invited(visit)
    async with visit.service.database.write() as connection:
        await connection.execute(update(sign_in_links).values(expires_at=sign_in_links.c.created_at))
    answer = await visit.client.post("/api/auth/link", json={"token": token, "password": PASSWORD})
    assert answer.status_code == 404


async def test_a_disabled_person_is_out_at_once(visit: Visit) -> None:
    headers = await enter(visit)
    user = await visit.service.people.find(EMAIL)
    await visit.service.people.set_disabled(user.id, Actor("test"), disabled=True)
    assert (await whoami(visit, headers)).status_code == 401


async def test_attempts_are_limited_by_account_and_given_back_on_success(visiting: Visiting) -> None:
    async with visiting(limit_sign_in_account="3/900") as visit:
        await enter(visit)
        for _ in range(5):
            assert (await login(visit)).status_code == 200
        for _ in range(3):
            assert (await login(visit, password="wrong")).status_code == 401
        answer = await login(visit)
        assert answer.status_code == 429
        assert answer.json()["details"]["policy"] == "sign-in-account"
        assert (await login(visit, "other@example.com", "wrong")).status_code == 401


async def test_attempts_are_limited_by_address(visiting: Visiting) -> None:
    async with visiting(limit_sign_in="2/300") as visit:
        for _ in range(2):
            assert (await login(visit, password="wrong")).status_code == 401
        answer = await login(visit, password="wrong")
        assert (answer.status_code, answer.json()["details"]["policy"]) == (429, "sign-in")


async def test_fixation_a_cookie_that_somebody_planted_opens_nothing(visit: Visit) -> None:
    planted = {"Cookie": f"{COOKIE}=chosen-by-somebody-else"}
    answer = await visit.client.post(
        "/api/auth/link", json={"token": await invited(visit), "password": PASSWORD}, headers=planted
    )
    assert "chosen-by-somebody-else" not in answer.headers["set-cookie"]
    assert (await whoami(visit, planted)).status_code == 401


async def test_a_link_to_usage_shows_usage_and_nothing_else(visit: Visit) -> None:
    headers = await enter(visit)
    made = await visit.client.post("/api/usage/link", headers=headers)
    token = made.json()["link"].partition("token=")[2]
    visit.client.cookies.clear()
    viewer = session_headers(await visit.client.post("/api/auth/link", json={"token": token}))
    me = (await whoami(visit, viewer)).json()
    assert (me["role"], me["via"]) == ("viewer", "link")
    assert (await visit.client.get("/api/crawls", headers=viewer)).status_code == 403
    answer = await visit.client.post("/fetch", headers=viewer, json={"url": "http://a.example/"})
    assert answer.status_code == 403
    visit.client.cookies.clear()
    again = await visit.client.post("/api/auth/link", json={"token": token})
    assert again.status_code == 200  # it works until it expires


async def test_what_people_do_is_in_the_log_and_their_secrets_are_not(visit: Visit) -> None:
    headers = await enter(visit)
    await visit.client.post("/api/auth/logout", headers=headers)
    async with visit.service.database.read() as connection:
        lines = await list_activity(connection, ActivityFilter())
    actions = [line.action.value for line in lines]
    assert actions[:3] == ["session.closed", "session.opened", "password.changed"]
    assert lines[0].actor.client == "127.0.0.1"
    told = repr(lines) + visit.stream.getvalue()
    assert PASSWORD not in told
    assert headers["X-CSRF-Token"] not in told
    assert headers["Cookie"].partition("=")[2] not in told


async def test_only_hashes_are_stored(visit: Visit) -> None:
    headers = await enter(visit)
    secret = headers["Cookie"].partition("=")[2]
    async with visit.service.database.read() as connection:
        row = (await connection.execute(sessions.select())).one()
    assert secret not in repr(row)
    user = await visit.service.people.find(EMAIL)
    assert user.password_hash.startswith("$argon2id$")


async def test_a_hash_costs_who_guesses_64_mib_each_time() -> None:
    """RFC 9106, 4: the second recommended option. Services of tests have a cheaper one."""
    hashed = await Passwords().hash(PASSWORD)
    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert await Passwords().check(PASSWORD, hashed)
