"""The pages about people: add them, change them, let them in."""

import re
from html import unescape

import httpx
from tests.doors.http.dashboard.account.forms import ESCAPED, HOSTILE, send
from tests.doors.http.dashboard.signed_in import PASSWORD, sign_in
from tests.doors.services import Visit

from gossamer.flows.tenants.people import NewUser
from gossamer.state.tenants.activity import Actor


async def person_id(admin: httpx.AsyncClient, email: str) -> str:
    page = (await admin.get("/app/people")).text
    found = re.search(rf'href="/app/people/([0-9A-Z]+)">{re.escape(email)}<', page)
    assert found is not None, page
    return found[1]


def shown_link(page: str) -> str:
    found = re.search(r"<code>(https://gossamer\.example/app/link\?token=[\w-]+)</code>", page)
    assert found is not None, page
    return unescape(found[1])


async def test_people_are_listed_with_role_tenant_and_state(visit: Visit) -> None:
    admin = await sign_in(visit)
    await admin.post(
        "/app/people", data={"email": "new@example.com", "role": "user", "tenant": "team@example.com"}
    )
    page = (await admin.get("/app/people")).text
    row = page[page.index("new@example.com") :].partition("</tr>")[0]
    assert re.search(r'href="/app/tenants/[0-9A-Z]{26}">team@example\.com<', row)
    assert ">invited<" in row
    assert ">never<" in row
    assert "admin-1@example.com" in page


async def test_the_invitation_is_shown_once_and_lets_the_person_in(visit: Visit) -> None:
    form = {"email": "New@Example.com", "role": "user", "once": "0123456789abcdef"}
    admin = await sign_in(visit)
    added = await admin.post("/app/people", data=form)
    again = await admin.post("/app/people", data=form)
    link = shown_link(added.text)
    assert again.text == added.text  # a double click adds one person, and shows the same link
    page = await admin.get(f"/app/people/{await person_id(admin, 'new@example.com')}")
    assert link not in page.text
    token = link.partition("token=")[2]
    entered = await visit.client.post("/api/auth/link", json={"token": token, "password": PASSWORD})
    assert entered.json()["prefix"] == "new@example.com"


async def test_a_refused_form_keeps_what_was_typed_and_shows_the_problem(visit: Visit) -> None:
    admin = await sign_in(visit)
    refused = await admin.post("/app/people", data={"email": HOSTILE, "role": "admin", "tenant": "t@t.de"})
    assert refused.status_code == 422
    assert "<script>alert" not in refused.text
    assert f'value="{ESCAPED}"' in refused.text
    assert 'value="t@t.de"' in refused.text
    assert '<option value="admin" selected>' in refused.text
    assert "is not an email address" in refused.text
    assert refused.headers["x-request-id"] in refused.text


async def test_an_admin_changes_a_role(visit: Visit) -> None:
    admin = await sign_in(visit)
    await admin.post("/app/people", data={"email": "new@example.com"})
    path = f"/app/people/{await person_id(admin, 'new@example.com')}"
    changed = await send(admin, f"{path}/role", {"role": "admin"})
    assert "The role is changed." in changed.text
    assert "<dd>admin</dd>" in changed.text
    wrong = await admin.post(f"{path}/role", data={"role": "owner"})
    assert wrong.status_code == 400
    assert "Invalid enum value" in wrong.text


async def test_the_last_admin_stays(visit: Visit) -> None:
    admin = await sign_in(visit)
    path = f"/app/people/{await person_id(admin, 'admin-1@example.com')}"
    for other in (await visit.service.people.list_page()).users:
        if other.email != "admin-1@example.com":
            await admin.post(f"/app/people/{other.id}/disable")
    refused = await admin.post(f"{path}/role", data={"role": "user"})
    assert refused.status_code == 422
    assert "Make somebody else an admin first." in refused.text
    assert "<dd>admin</dd>" in refused.text


async def test_a_disabled_person_is_out_until_enabled(visit: Visit) -> None:
    admin = await sign_in(visit)
    user = await sign_in(visit, "user")
    path = f"/app/people/{(await visit.service.people.find('user-2@example.com')).id}"
    assert "All sessions of user-2@example.com end" in (await admin.get(path)).text
    disabled = await send(admin, f"{path}/disable")
    assert "The person is disabled." in disabled.text
    assert (await user.get("/api/me")).status_code == 401
    refused = await admin.post(f"{path}/link")
    assert refused.status_code == 422
    assert "Enable the person first." in refused.text
    enabled = await send(admin, f"{path}/enable")
    assert "may sign in again" in enabled.text


async def test_a_new_link_resets_the_password(visit: Visit) -> None:
    admin = await sign_in(visit)
    await sign_in(visit, "user")
    path = f"/app/people/{(await visit.service.people.find('user-2@example.com')).id}"
    made = await admin.post(f"{path}/link")
    assert "within 24 hours" in made.text
    shown_link(made.text)


async def test_people_are_the_admins_business(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    assert (await user.get("/app/people")).status_code == 403
    assert (await user.post("/app/people", data={"email": "new@example.com"})).status_code == 403


async def test_an_unknown_person_is_a_page_not_found(visit: Visit) -> None:
    admin = await sign_in(visit)
    missing = await admin.get("/app/people/01JGGR2Z3W8Q4T6V9X0Y1B2C3D")
    assert missing.status_code == 404
    assert "There is no such person." in missing.text


async def test_the_list_has_pages_and_a_tenant(visit: Visit) -> None:
    admin = await sign_in(visit)
    for number in range(55):
        new = NewUser(email=f"p{number}@example.com", tenant="team@example.com")
        await visit.service.people.add(new, Actor("test"))
    first = (await admin.get("/app/people")).text
    following = re.search(r'href="(/app/people\?cursor=[0-9A-Z]+)" rel="next"', first)
    assert following is not None
    rest = (await admin.get(following[1])).text
    assert "admin-1@example.com</a>" in rest
    tenant = (await visit.service.people.find("p1@example.com")).tenant_id
    team = (await admin.get("/app/people", params={"tenant": tenant})).text
    assert "Only people of" in team
    assert "admin-1@example.com</a>" not in team
