"""The page about activity."""

import re

from tests.doors.http.dashboard.account.forms import ESCAPED, HOSTILE
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit

from gossamer.flows.tenants.keys import NewKey
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor, Via, record


async def test_admins_see_who_did_what_with_links_to_what_was_changed(visit: Visit) -> None:
    admin = await sign_in(visit)
    person = (await visit.service.people.find("admin-1@example.com")).id
    page = (await admin.get("/app/activity")).text
    assert ">session opened<" in page
    assert f'href="/app/people/{person}"' in page
    assert f'href="/app/activity?actor={person}"' in page
    assert re.search(r'href="/app/tenants/[0-9A-Z]{26}">admin-1@example\.com<', page)
    assert "127.0.0.1" in page
    assert re.search(r">wl_\w+_\w{6}<", page)


async def test_users_see_their_own_tenant_and_no_links_that_they_may_not_follow(visit: Visit) -> None:
    await sign_in(visit)
    user = await sign_in(visit, "user")
    page = (await user.get("/app/activity")).text
    assert "user-2@example.com" in page
    assert "admin-1@example.com" not in page
    assert "/app/people/" not in page
    assert "/app/tenants/" not in page
    tenant = (await visit.service.people.find("admin-1@example.com")).tenant_id
    assert (await user.get("/app/activity", params={"tenant": tenant})).status_code == 403


async def test_filters_narrow_the_list_and_keep_their_values(visit: Visit) -> None:
    admin = await sign_in(visit)
    key = (await visit.service.keys.create(NewKey(email="someone@example.com"), Actor("test"))).key
    params = {"action": "key", "actor": "", "subject": key.id, "cursor": ""}
    page = (await admin.get("/app/activity", params=params)).text
    assert '<option value="key" selected>' in page
    assert f'name="subject" value="{key.id}"' in page
    assert f'href="/app/keys/{key.id}"' in page
    assert page.count("<td><time") == 1
    none = (await admin.get("/app/activity", params={"action": "crawl.deleted"})).text
    assert "No line of the log fits these filters." in none


async def test_hostile_texts_are_shown_as_text(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    tenant = (await user.get("/api/me")).json()["tenantId"]
    actor = Actor(HOSTILE, HOSTILE, Via.KEY, HOSTILE, HOSTILE)
    async with visit.service.database.write() as connection:
        await record(connection, ActivityEntry(tenant, Action.CRAWL_STARTED, HOSTILE, actor, HOSTILE))
    page = (await user.get("/app/activity", params={"actor": HOSTILE})).text
    assert "<script>alert" not in page
    assert page.count(ESCAPED) >= 5
    assert "/app/crawls/&lt;" not in page


async def test_the_list_has_pages(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    tenant = (await user.get("/api/me")).json()["tenantId"]
    async with visit.service.database.write() as connection:
        for number in range(60):
            entry = ActivityEntry(tenant, Action.CRAWL_STARTED, f"crawl-{number}", Actor("test"))
            await record(connection, entry)
    first = (await user.get("/app/activity", params={"action": "crawl.started"})).text
    following = re.search(
        r'href="(/app/activity\?action=crawl\.started&amp;cursor=[0-9A-Z]+)" rel="next"', first
    )
    assert following is not None
    rest = (await user.get(following[1].replace("&amp;", "&"))).text
    assert "crawl-0<" in rest
    assert "Back to the beginning" in rest
    assert "crawl-59<" not in rest
