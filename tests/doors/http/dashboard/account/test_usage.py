"""The page about usage."""

import re

import httpx
from tests.doors.http.dashboard.account.forms import ESCAPED, HOSTILE
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit

from gossamer.flows.tenants.keys import NewKey
from gossamer.state.db.tables import past_usage
from gossamer.state.tenants.activity import Actor


def stat(page: str, label: str) -> str:
    found = re.search(rf'<dt>{label}</dt>\s*<dd><span class="value">([^<]*)<', page)
    assert found is not None, label
    return found[1]


async def come_by_link(visit: Visit, tenant: str) -> httpx.AsyncClient:
    """Somebody who followed a link that shows usage."""
    token = await visit.service.people.link_to_usage(tenant, Actor("test"))
    client = visit.client_from("127.0.0.1")
    entered = await client.post("/api/auth/link", json={"token": token})
    client.cookies.clear()
    client.headers["Cookie"] = entered.headers["set-cookie"].partition(";")[0]
    return client


async def test_counts_hit_rate_and_limits_are_shown(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    me = (await user.get("/api/me")).json()
    counted = ("render", "render", "hot", "hot", "hot", "cold", "miss", "miss", "failed")
    for what in counted:
        visit.service.usage.count(me["tenantId"], me["keyId"], what)
    page = (await user.get("/app/usage")).text
    assert [stat(page, label) for label in ("Today", "This month", "All time")] == ["2", "2", "2"]
    assert stat(page, "Without a page") == "1"
    assert stat(page, "Answered from the cache") == "66.7 %"
    assert [stat(page, f"Hits in the {tier} tier") for tier in ("hot", "cold")] == ["3", "1"]
    assert '<meter min="0" max="1000"' in page
    assert "0 of 1,000 renders" in page
    assert "Nothing yet" not in page


async def test_the_first_page_begins_with_a_request_to_copy(visit: Visit) -> None:
    page = (await (await sign_in(visit, "user")).get("/app/usage")).text
    assert "curl -s https://gossamer.example/api/render" in page
    assert stat(page, "Answered from the cache") == "not known"
    assert "No page was rendered yet." in page


async def test_the_top_pages_survive_a_cleared_cache_and_are_shown_as_text(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    tenant = (await user.get("/api/me")).json()["tenantId"]
    row = {
        "tenant_id": tenant,
        "name": "render:v1:gone",
        "url": f"https://example.com/{HOSTILE}",
        "renders": 7,
        "accesses": 30,
    }
    async with visit.service.database.write() as connection:
        await connection.execute(past_usage.insert().values(row))
    page = (await user.get("/app/usage")).text.replace("<wbr>", "")
    assert f"https://example.com/{ESCAPED}" in page
    assert "<script>alert" not in page


async def test_who_came_by_a_link_sees_the_usage_of_that_tenant_and_nothing_else(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    me = (await user.get("/api/me")).json()
    visit.service.usage.count(me["tenantId"], me["keyId"], "render")
    viewer = await come_by_link(visit, me["tenantId"])
    page = await viewer.get("/app/usage")
    assert stat(page.text, "Today") == "1"
    assert 'href="/app/usage"' in page.text
    for hidden in ("/app/keys", "/app/activity", "/app/people", "/app/account", "Your limits"):
        assert hidden not in page.text
    for path in ("/app/activity", "/app/account", "/api/activity", "/api/jobs"):
        assert (await viewer.get(path)).status_code == 403
    assert (await viewer.get("/api/usage")).json()["tenantId"] == me["tenantId"]


async def test_only_admins_see_another_tenant(visit: Visit) -> None:
    admin, user = await sign_in(visit), await sign_in(visit, "user")
    issued = await visit.service.keys.create(NewKey(email="team@example.com"), Actor("test"))
    tenant, key = issued.key.tenant_id, issued.key.id
    visit.service.usage.count(tenant, key, "render")
    page = (await admin.get("/app/usage", params={"tenant": tenant, "key": ""})).text
    assert "Of team@example.com." in page
    assert stat(page, "Today") == "1"
    assert stat((await admin.get("/app/usage", params={"key": key})).text, "Today") == "1"
    viewer = await come_by_link(visit, (await user.get("/api/me")).json()["tenantId"])
    for client in (user, viewer):
        for path in ("/app/usage", "/api/usage"):
            assert (await client.get(path, params={"tenant": tenant})).status_code == 403
            assert (await client.get(path, params={"key": key})).status_code == 404
