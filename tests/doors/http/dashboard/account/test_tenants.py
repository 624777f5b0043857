"""The pages about tenants."""

import re

from tests.doors.http.dashboard.account.forms import ESCAPED, HOSTILE
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit

from gossamer.flows.tenants.keys import NewKey
from gossamer.flows.tenants.people import NewUser
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.tenants import Tier
from gossamer.web.crawl.spec import CrawlSpec


async def test_tenants_are_listed_and_found_by_their_email(visit: Visit) -> None:
    admin = await sign_in(visit)
    await visit.service.keys.create(NewKey(email="team@example.com"), Actor("test"))
    page = (await admin.get("/app/tenants")).text
    row = page[page.index("team@example.com") :].partition("</tr>")[0]
    assert re.findall(r'data-value="(\d+)"', row) == ["0", "0", "0", "1"]
    assert ">never<" in row
    assert "1 pro " in row
    assert "0 of 1,000 in a day" in row
    found = (await admin.get("/app/tenants", params={"email": "TEAM@"})).text
    assert 'value="TEAM@"' in found
    assert ">admin@localhost<" not in found
    assert "team@example.com" in found
    none = (await admin.get("/app/tenants", params={"email": HOSTILE})).text
    assert "No tenant has an email that begins like this." in none
    assert "<script>alert" not in none
    assert f'value="{ESCAPED}"' in none


async def test_a_tenant_shows_its_keys_people_crawls_and_usage(visit: Visit) -> None:
    admin = await sign_in(visit)
    service = visit.service
    key = (await service.keys.create(NewKey(email="team@example.com", label=HOSTILE), Actor("test"))).key
    new = NewUser(email="person@example.com", tenant="team@example.com")
    person = (await service.people.add(new, Actor("test"))).user
    crawl = await service.crawls.create(key.tenant_id, CrawlSpec(seeds=("https://example.com/",)))
    service.usage.count(key.tenant_id, key.id, "render")
    page = (await admin.get(f"/app/tenants/{key.tenant_id}")).text
    assert f'href="/app/keys/{key.id}">{key.prefix}<' in page
    assert f'href="/app/people/{person.id}">person@example.com<' in page
    assert f'href="/app/crawls/{crawl.id}"' in page
    assert "<script>alert" not in page
    assert ESCAPED in page
    assert re.search(r'Renders today</dt>\s*<dd><span class="value">1<', page)


async def test_the_limits_in_force_of_a_tenant_are_those_of_its_tiers(visit: Visit) -> None:
    admin = await sign_in(visit)
    service = visit.service
    made = [
        (await service.keys.create(NewKey(email="team@example.com", tier=tier), Actor("test"))).key
        for tier in (Tier.PRO, Tier.FREE, Tier.PRO)
    ]
    tenant = made[0].tenant_id
    for name, cost in (
        ("renders-pro", 12),
        ("renders-enterprise", 1),
    ):  # the last one by a person
        await service.limits.take([(name, tenant)], cost=cost)
    tiers = (await admin.get(f"/api/admin/tenants/{tenant}")).json()["tiers"]
    assert [(tier["tier"], tier["keys"]) for tier in tiers] == [("free", 1), ("pro", 2), ("enterprise", 0)]
    assert tiers[1]["limits"] == [
        {"policy": "renders-pro", "subject": "tenant", "limit": 1_000, "window": 86_400, "used": 12},
        {"policy": "user", "subject": "API key", "limit": 100, "window": 60, "used": None},
        {"policy": "hits-pro", "subject": "API key", "limit": 6_000, "window": 60, "used": None},
        {"policy": "control-pro", "subject": "API key", "limit": 6_000, "window": 60, "used": None},
    ]
    listed = (await admin.get("/api/admin/tenants", params={"email": "team@"})).json()["tenants"]
    assert [one["tiers"] for one in listed] == [tiers]
    assert (await admin.get("/api/admin/tenants", params={"email": "nobody"})).json()["tenants"] == []
    page = (await admin.get(f"/app/tenants/{tenant}")).text
    assert "1 free, 2 pro</dd>" in page
    assert 'max="1000" low="800" high="950" optimum="0" value="12"' in page


async def test_what_a_tenant_does_not_have_is_said(visit: Visit) -> None:
    admin = await sign_in(visit)
    tenant = (await admin.get("/api/me")).json()["tenantId"]
    page = (await admin.get(f"/app/tenants/{tenant}")).text
    assert "No keys." in page
    assert "No limits apply" in page
    assert "No crawls." in page
    assert "not known" in page  # a share of nothing


async def test_tenants_are_the_admins_business(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    own = (await user.get("/api/me")).json()["tenantId"]
    for path in ("/app/tenants", f"/app/tenants/{own}", "/app/settings"):
        assert (await user.get(path)).status_code == 403


async def test_an_unknown_tenant_is_a_page_not_found(visit: Visit) -> None:
    missing = await (await sign_in(visit)).get("/app/tenants/01JGGR2Z3W8Q4T6V9X0Y1B2C3D")
    assert missing.status_code == 404
    assert "There is no tenant with this id." in missing.text
