"""The list of tenants with their counts, on both databases."""

from dataclasses import replace

from sqlalchemy import insert
from tests.contract.crawl.crawl_ground import Ground
from tests.contract.tenants.test_tenants import NOW, given_key, given_tenant, key_of
from ulid import ULID

from gossamer.flows.tenants.tenant_list import TenantList
from gossamer.state.db.database import Database
from gossamer.state.db.tables import users
from gossamer.state.tenants import tenant_rows, tenants, usage_rows
from gossamer.state.tenants.tenant_rows import TenantCounts
from gossamer.state.tenants.usage_rows import UsageScope

TODAY = 20_000


async def test_tenants_are_listed_newest_first_in_pages_and_found_by_the_start_of_their_email(
    database: Database,
) -> None:
    made = [await given_tenant(database, email) for email in ("a@x.com", "b@x.com", "a_b@x.com")]
    async with database.read() as connection:
        assert await tenant_rows.list_tenants(connection) == made[::-1]
        first = await tenant_rows.list_tenants(connection, limit=2)
        assert await tenant_rows.list_tenants(connection, before=first[-1].id) == made[:1]
        assert await tenant_rows.list_tenants(connection, prefix="a") == [made[2], made[0]]
        assert await tenant_rows.list_tenants(connection, prefix="a_") == [made[2]]  # no wildcard
        assert await tenant_rows.list_tenants(connection, prefix="%") == []
    listing = TenantList(database, lambda: 0.0)
    page = await listing.list_page(email=" A", cursor=None, limit=1)
    assert [one.tenant for one in page.tenants] == [made[2]]
    page = await listing.list_page(email="a", cursor=page.cursor, limit=1)
    assert ([one.tenant for one in page.tenants], page.cursor) == ([made[0]], None)


async def test_each_tenant_is_counted_by_itself(database: Database) -> None:
    ground = await Ground.on(database)  # whose tenant is a@example.com
    await ground.crawl()
    busy, idle = await given_tenant(database), await given_tenant(database, "b@example.com")
    assert busy.id == ground.tenant
    used = await given_key(database, busy, "used")
    disabled = await given_key(database, busy, "disabled")
    async with database.write() as connection:
        expired = replace(key_of(busy, "expired"), expires_at=NOW)
        await tenants.add_key(connection, expired)
        await tenants.disable_key(connection, disabled.id, "lost")
        await tenants.touch_keys(connection, [used.id], now=NOW + 5)
        for number, disabled_at in enumerate((None, NOW)):
            await connection.execute(
                insert(users).values(
                    id=str(ULID()),
                    tenant_id=busy.id,
                    email=f"{number}@example.com",
                    password_hash="",
                    role="user",
                    created_at=NOW,
                    disabled_at=disabled_at,
                )
            )
        counts = {
            UsageScope(busy.id, key, day): [7, 0, 0, 0, 0] for key in "kl" for day in (TODAY, TODAY - 1)
        }
        await usage_rows.add(connection, counts)
        found = await tenant_rows.count(connection, [busy, idle], TODAY, now=NOW)
    assert [one.tenant for one in found] == [busy, idle]
    assert found[0].counts == TenantCounts(
        keys=1, users=1, crawls=1, renders_today=14, last_used_at=NOW + 5, tiers={"pro": 1}
    )
    assert found[1].counts == TenantCounts(keys=0, users=0, crawls=0, renders_today=0, last_used_at=None)
