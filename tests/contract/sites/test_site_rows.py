"""Sites and the visits of robots, on both databases."""

from ulid import ULID

from gossamer.state.db.database import Database
from gossamer.state.sites import bot_rows, sites
from gossamer.state.sites.bot_rows import AskedCount, AskedScope, VisitScope
from gossamer.state.sites.sites import MAX_FAILURES, RegisteredSite
from gossamer.state.tenants import tenants
from gossamer.web.sites.site_settings import SiteSettings
from gossamer.web.sites.site_words import ProofMethod

NOW = 1_800_000_000_000
DAY = 86_400_000


async def add_site(database: Database, origin: str = "https://a.example") -> RegisteredSite:
    async with database.write() as connection:
        tenant = (await tenants.ensure_tenant(connection, f"{ULID()}@example.com".lower())).id
        site = await sites.add(
            connection,
            tenant_id=tenant,
            owner=tenant,
            origin=origin,
            name="",
            token="t",
            settings=SiteSettings(max_age=60),
            proof=None,
            now=NOW,
        )
    assert site is not None
    return site


async def test_an_origin_is_registered_once_by_an_owner(database: Database) -> None:
    site = await add_site(database)
    async with database.write() as connection:
        again = await sites.add(
            connection,
            tenant_id=site.tenant_id,
            owner=site.owner,
            origin=site.origin,
            name="",
            token="u",
            settings=SiteSettings(),
            proof=None,
        )
        assert again is None
        assert await sites.list_proven(connection, site.owner) == []
        await sites.prove(connection, site.id, ProofMethod.DNS, now=NOW)
        (proven,) = await sites.list_proven(connection, site.owner)
    assert (proven.proof, proven.proven_at, proven.settings.max_age) == (ProofMethod.DNS, NOW, 60)


async def test_a_proof_that_stays_away_is_lost_after_some_checks_by_one_process_each(
    database: Database,
) -> None:
    site = await add_site(database)
    async with database.write() as connection:
        await sites.prove(connection, site.id, ProofMethod.FILE, now=NOW)
        due = {"age_ms": 7 * DAY, "retry_ms": DAY}
        assert await sites.take_due(connection, **due, now=NOW + DAY) == []
        (taken,) = await sites.take_due(connection, **due, now=NOW + 7 * DAY)
        assert taken.id == site.id
        assert await sites.take_due(connection, **due, now=NOW + 7 * DAY) == []
        lost = [await sites.note_failure(connection, site.id, now=NOW + 7 * DAY) for _ in range(MAX_FAILURES)]
        assert lost == [False] * (MAX_FAILURES - 1) + [True]
        known = await sites.get(connection, site.id)
    assert known is not None
    assert known.proof is None


async def test_visits_are_added_up_and_forgotten_in_time(database: Database) -> None:
    site = await add_site(database)
    hour = NOW // bot_rows.HOUR_MS
    scope = VisitScope(site.id, hour, "GPTBot", "hit", 200, site.tenant_id)
    gone = scope._replace(site=str(ULID()))
    pages = {
        AskedScope(site.id, f"https://a.example/{n}", site.tenant_id): AskedCount(n, 1, NOW) for n in range(9)
    }
    async with database.write() as connection:
        for _ in range(2):
            await bot_rows.add_visits(connection, {scope: [2, 30], gone: [1, 1]})
            await bot_rows.add_asked(connection, pages)
        (row,) = await bot_rows.list_hours(connection, site.id, hour, hour)
        assert (row.bot, row.visits, row.milliseconds) == ("GPTBot", 4, 60)
        assert (await bot_rows.most_asked(connection, site.id))["https://a.example/8"] == 16
        assert [each.misses for each in await bot_rows.most_missed(connection, site.id, 2)] == [2, 2]
        spent = [await bot_rows.spend(connection, site.id, site.tenant_id, 1, 3, 5) for _ in range(3)]
        assert spent == [3, 2, 0]
        assert await bot_rows.count_old(connection, NOW + DAY) >= 1
        while await bot_rows.forget_old(connection, NOW + DAY):
            pass
        assert await bot_rows.list_hours(connection, site.id, 0, hour) == []
        assert await bot_rows.most_asked(connection, site.id) == {}


async def test_only_the_pages_that_are_asked_for_most_are_remembered(database: Database) -> None:
    site = await add_site(database)
    most = bot_rows.MAX_ASKED_PAGES
    pages = {
        AskedScope(site.id, f"https://a.example/{n}", site.tenant_id): AskedCount(1 + (n == 3), 0, NOW)
        for n in range(most + 50)
    }
    async with database.write() as connection:
        await bot_rows.add_asked(connection, pages)
        kept = await bot_rows.most_asked(connection, site.id)
        await sites.remove(connection, site.id)
        assert await bot_rows.most_asked(connection, site.id) == {}
    assert (len(kept), kept["https://a.example/3"]) == (most, 2)
