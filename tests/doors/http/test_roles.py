"""Every route, asked by everybody: nobody, keys, sessions, links, what is disabled, and other tenants.

What is asked for is whether the caller is let in: a refusal is 401 or 403, and everything else is not. Bodies
are empty, so a caller that is let in changes nothing.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest
from tests.doors.http.docs.roles import all_routes
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer

from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import SIGN_IN
from gossamer.flows.tenants.people import NewUser
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.tenants import Role

PASSWORD = "several words in a row"
SAFE = ("GET", "HEAD")
SIGNING_IN = ("/api/auth/login", SIGN_IN)  # where a wrong password is refused too
SIGNING_OUT = ("/api/auth/logout", "/app/sign-out")
ONES_OWN = "/app/account"


@dataclass
class Asker:
    """Somebody who asks, and what they are expected to be."""

    headers: dict[str, str]
    role: Role
    has_token: bool = True  # a CSRF token, if they need one


async def session(visit: Visit, email: str, role: str) -> dict[str, str]:
    new = NewUser(email=email, role="admin" if role == "admin" else "user")
    invited = await visit.service.people.add(new, Actor("test"))
    body = {"token": invited.token, "password": PASSWORD}
    async with visit.client_from("127.0.0.2") as client:
        answer = await client.post("/api/auth/link", json=body)
    cookie = answer.headers["set-cookie"].partition(";")[0]
    return {"Cookie": cookie, "X-CSRF-Token": answer.json()["csrfToken"]}


async def askers(visit: Visit) -> dict[str, Asker]:
    user_key, other_key = await visit.key(Role.USER), await visit.key(Role.USER)
    user, admin = (
        await session(visit, "u@example.com", "user"),
        await session(visit, "a@example.com", "admin"),
    )
    gone = await session(visit, "gone@example.com", "admin")
    await visit.service.people.set_disabled(
        (await visit.service.people.find("gone@example.com")).id, Actor("test"), disabled=True
    )
    async with visit.client_from("127.0.0.3") as client:
        me = (await client.get("/api/me", headers=bearer(other_key))).json()
    await visit.service.keys.disable(me["keyId"], Actor("test"))
    link = await visit.service.people.link_to_usage(me["tenantId"], Actor("test"))
    async with visit.client_from("127.0.0.4") as client:
        viewing = await client.post("/api/auth/link", json={"token": link})
    viewer = {
        "Cookie": viewing.headers["set-cookie"].partition(";")[0],
        "X-CSRF-Token": viewing.json()["csrfToken"],
    }
    return {
        "nobody": Asker({}, Role.NOBODY),
        "an unknown key": Asker(bearer("sk_live_unknown-unknown-unknown"), Role.NOBODY),
        "a planted cookie": Asker({"Cookie": f"{SessionCookie(https=True).name}=planted"}, Role.NOBODY),
        "a user's key": Asker(bearer(user_key), Role.USER),
        "an admin's key": Asker(AS_ADMIN, Role.ADMIN),
        "a disabled key": Asker(bearer(other_key), Role.NOBODY),
        "a user's session": Asker(user, Role.USER),
        "an admin's session": Asker(admin, Role.ADMIN),
        "an admin's session without its token": Asker(
            {"Cookie": admin["Cookie"]}, Role.ADMIN, has_token=False
        ),
        "a disabled person's session": Asker(gone, Role.NOBODY),
        "a usage link": Asker(viewer, Role.VIEWER),
    }


@pytest.fixture
async def quiet(visiting: Visiting) -> AsyncIterator[Visit]:
    """No limits stand in the way, and nothing is fetched."""
    wide = {f"limit_{name}": "1000000/60" for name in ("user", "admin", "seed_injection", "sign_in")}
    async with visiting(**wide, egress_allow="127.0.0.0/8", egress_ports="*") as visit:
        yield visit


def address(route: Route) -> str:
    return re.sub(r"\{\w+\}", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D", route.path)


def is_let_in(asker: Asker, route: Route) -> bool:
    if not asker.role.may(route.needs):
        return False
    if route.path.startswith(ONES_OWN) and "Cookie" not in asker.headers:
        return False  # a key is nobody who has a password
    return asker.has_token or route.method in SAFE


async def is_refused(client: httpx.AsyncClient, route: Route, asker: Asker) -> bool:
    """A page leads to the sign-in page instead. A stream is left as soon as it has begun."""
    client.cookies.clear()
    headers = {**asker.headers, "Accept": "text/html" if route.page else "application/json"}
    async with client.stream(route.method, address(route), headers=headers) as answer:
        leads_away = answer.headers.get("location", "").startswith(f"{SIGN_IN}?next=")
        return answer.status_code in (401, 403) or leads_away


async def test_every_route_lets_in_whom_it_declares_and_nobody_else(quiet: Visit) -> None:
    wrong: list[str] = []
    everybody = await askers(quiet)
    shown = [route for route in all_routes(quiet.service) if route.path not in SIGNING_IN]
    for name, asker in everybody.items():
        # Signing out ends the session, so only those ask who have none.
        asked = [route for route in shown if route.path not in SIGNING_OUT or "Cookie" not in asker.headers]
        for route in asked:
            refused = await is_refused(quiet.client, route, asker)
            if refused == is_let_in(asker, route):
                wrong.append(f"{route.method} {route.path} asked by {name}: {refused=}")
    assert wrong == []
    assert len(shown) * len(everybody) > 1_500


async def test_what_another_tenant_has_is_not_there(quiet: Visit) -> None:
    """A user asks for an admin's crawl, audit, batch and job by their ids: 404, as if there were none."""
    mine = await session(quiet, "me@example.com", "user")
    started = await quiet.client.post("/audits", headers=AS_ADMIN, json={"url": "http://127.0.0.1:9/"})
    assert started.status_code in (201, 202), started.text
    made = started.json()
    job = f"/api/jobs/{made['jobId']}"
    owner = {**AS_ADMIN, "Accept": "application/json"}
    for path in (f"/audits/{made['auditId']}", job, f"{job}/events"):
        assert (await quiet.client.get(path, headers=owner)).status_code == 200, path
        assert (await quiet.client.get(path, headers=mine)).status_code == 404, path
