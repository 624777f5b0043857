"""Rules, incoming webhooks and comparisons of sites, on both databases."""

from tests.contract.sites.test_site_rows import NOW, add_site
from ulid import ULID

from gossamer.state.db.database import Database
from gossamer.state.sites import comparisons, hooks, sites
from gossamer.state.sites.hooks import SiteHook
from gossamer.web.sites.page_facts import SeenVerdict
from gossamer.web.sites.site_comparison import MAX_KEPT, ComparedTemplate, SiteComparison
from gossamer.web.sites.site_rule import SiteRule
from gossamer.web.url.sent_headers import HIDDEN

RULES = (SiteRule(path="/a*", keep=("article",), headers={"cookie": "secret"}), SiteRule(delay=2.0))


async def test_rules_are_stored_without_the_values_of_their_headers(database: Database) -> None:
    site = await add_site(database)
    assert site.rules == ()
    async with database.write() as connection:
        await sites.set_rules(connection, site.id, RULES, b"sealed", now=NOW)
        changed = await sites.get(connection, site.id)
    assert changed is not None
    assert changed.rules_sealed == b"sealed"
    assert [rule.headers for rule in changed.rules] == [{"cookie": HIDDEN}, {}]
    assert changed.rules[1] == RULES[1]


async def test_a_webhook_that_is_replaced_goes_on_for_a_while(database: Database) -> None:
    site = await add_site(database)

    def hook(token: str, secret: bytes | None) -> SiteHook:
        return SiteHook(
            site_id=site.id,
            tenant_id=site.tenant_id,
            token_hash=token,
            secret_sealed=secret,
            maker_via="key",
            maker_id="k",
            maker_name="n",
        )

    async with database.write() as connection:
        await hooks.put(connection, hook("one", b"1"), old_seconds=60, now=NOW)
        first = await hooks.get(connection, site.id)
        assert first is not None
        assert (first.token_hash, first.old_token_hash, first.created_at) == ("one", None, NOW)
        await hooks.note_use(connection, site.id, now=NOW + 5)
        await hooks.put(connection, hook("two", None), old_seconds=60, now=NOW + 10)
        second = await hooks.get(connection, site.id)
        assert second is not None
        assert (second.token_hash, second.old_token_hash, second.old_until) == ("two", "one", NOW + 60_010)
        assert (second.secret_sealed, second.old_secret_sealed, second.last_at) == (None, b"1", None)
        await hooks.put(connection, hook("three", None), old_seconds=0, now=NOW + 20)
        third = await hooks.get(connection, site.id)
        assert third is not None
        assert (third.token_hash, third.old_token_hash, third.old_until) == ("three", None, None)
        assert await hooks.remove(connection, site.id)
        assert not await hooks.remove(connection, site.id)


async def test_only_the_newest_comparisons_of_a_site_are_kept_and_go_with_it(database: Database) -> None:
    site, other = await add_site(database), await add_site(database, "https://b.example")
    template = ComparedTemplate(pattern="/", known=1, visits=0, misses=0, verdict=SeenVerdict.SHELL, pages=[])
    ids = sorted(str(ULID()) for _ in range(MAX_KEPT + 2))
    async with database.write() as connection:
        await comparisons.add(
            connection, str(ULID()), other.id, other.tenant_id, SiteComparison(templates=[])
        )
        for number, id_ in enumerate(ids):
            made = SiteComparison(templates=[template], limited=number)
            await comparisons.add(connection, id_, site.id, site.tenant_id, made, now=NOW + number)
        kept = await comparisons.list_kept(connection, site.id)
        assert [one.id for one in kept] == ids[:1:-1]
        assert (kept[0].made_at, kept[0].result.limited) == (NOW + MAX_KEPT + 1, MAX_KEPT + 1)
        assert kept[0].result.count() == {SeenVerdict.SHELL: 1}
        await sites.remove(connection, site.id)
        await comparisons.add(connection, str(ULID()), site.id, site.tenant_id, SiteComparison(templates=[]))
        assert await comparisons.list_kept(connection, site.id) == []
        assert len(await comparisons.list_kept(connection, other.id)) == 1
