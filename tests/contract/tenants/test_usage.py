"""What a tenant has used: counted in memory, written behind, exact."""

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from sqlalchemy import select
from tests.servers.postgres import PostgresServer
from tests.servers.tiers import Tiers, page_of

from gossamer.flows.tenants import keys
from gossamer.flows.tenants.keys import NewKey
from gossamer.problems import Unavailable
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database, open_database
from gossamer.state.db.tables import usage_days
from gossamer.state.pages.page_key import PageKey
from gossamer.state.tenants import past_usage
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.usage import Usage, UsageReport, What
from gossamer.state.tenants.usage_rows import KeyUsage, UsageTotals, UsedUrl

NOTHING = UsageTotals(0, 0, 0, 0, 0, 0, 0)
NOBODYS = UsageReport(NOTHING, 0, 0, (), ())


class Clock:
    def __init__(self, text: str) -> None:
        self.set(text)

    def set(self, text: str) -> None:
        self.now = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock("2026-03-01T12:00")


class Uncertain:
    """A transaction that is committed, and then the connection is lost before anybody is told."""

    def __init__(self, transaction: AbstractAsyncContextManager[AsyncConnection]) -> None:
        self._transaction = transaction

    async def __aenter__(self) -> AsyncConnection:
        return await self._transaction.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._transaction.__aexit__(*error)
        raise Unavailable("database", "the connection was lost")


async def rows(database: Database) -> list[tuple[object, ...]]:
    async with database.read() as connection:
        found = await connection.execute(select(usage_days).order_by(*usage_days.primary_key.columns))
        return [tuple(row) for row in found]


async def test_who_has_used_nothing(database: Database, clock: Clock) -> None:
    report = await Usage(database, clock).report("t")
    assert report == NOBODYS
    assert report.totals.hit_rate == 0.0


async def test_today_this_month_and_all_time(database: Database, clock: Clock) -> None:
    usage = Usage(database, clock)
    times = (
        "2025-12-31T23:59",
        "2026-02-28T23:59:59",
        "2026-03-01T00:00",
        "2026-03-14T23:59",
        "2026-03-15T00:00",
    )
    for renders, text in enumerate(times, 1):
        clock.set(text)
        for _ in range(renders):
            usage.count("t", "k", "render")
    clock.set("2026-03-15T23:59:59")
    report = await usage.report("t")
    assert (report.totals.renders_today, report.totals.renders_month, report.totals.renders) == (5, 12, 15)
    clock.set("2026-04-01T00:00")
    report = await usage.report("t")
    assert (report.totals.renders_today, report.totals.renders_month, report.totals.renders) == (0, 0, 15)
    assert (await usage.report("t", now=Clock("2026-02-28T12:00")())).totals.renders_today == 2


async def test_tenants_and_keys_are_counted_apart(database: Database, clock: Clock) -> None:
    usage = Usage(database, clock)
    what: tuple[What, ...] = ("render", "hot", "hot", "cold", "miss", "failed")
    for number, (tenant, key) in enumerate(product("tu", "kl"), 1):
        for counted in what * number:
            usage.count(tenant, key, counted)
    report = await usage.report("t")
    assert report.totals == UsageTotals(3, 3, 3, hot=6, cold=3, misses=3, failures=3)
    assert report.by_key == (
        KeyUsage("l", "", "", UsageTotals(2, 2, 2, hot=4, cold=2, misses=2, failures=2)),
        KeyUsage("k", "", "", UsageTotals(1, 1, 1, hot=2, cold=1, misses=1, failures=1)),
    )
    assert (await usage.report("t", "l")).by_key == ()
    assert (await usage.report("t", "l")).totals.hits == 6
    assert (await usage.report("u", "k")).totals.hits == 9
    assert (await usage.report("t")).totals.hit_rate == 0.75
    assert await usage.report("t", "m") == NOBODYS


async def test_the_usage_of_a_key_is_listed_with_its_name(database: Database, clock: Clock) -> None:
    async with database.write() as connection:
        issued = await keys.create(connection, NewKey(email="a@example.com", label="shop"), Actor("test"))
    usage, key = Usage(database, clock), issued.key
    usage.count(key.tenant_id, key.id, "render")
    usage.count(key.tenant_id, "somebody", "hot")
    found = (await usage.report(key.tenant_id)).by_key
    assert [one[:3] for one in found] == [(key.id, key.prefix, "shop"), ("somebody", "", "")]


async def test_many_processes_add_up(database_url: str, clock: Clock) -> None:
    databases = [open_database(database_url) for _ in range(4)]
    await databases[0].migrate()
    processes = [Usage(database, clock) for database in databases]
    for _ in range(5):
        for usage in processes:
            for key in "abc":
                usage.count("t", key, "hot")
        await asyncio.gather(*(usage.flush() for usage in processes for _ in range(2)))
    assert (await processes[0].report("t")).totals.hits == 60
    assert [row[:2] for row in await rows(databases[0])] == [("t", "a"), ("t", "b"), ("t", "c")]
    for database in databases:
        await database.close()


async def test_more_than_a_batch(database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.state.tenants.usage.BATCH", 3)
    usage = Usage(database, clock)
    for number in range(10):
        usage.count("t", str(number), "render")
    await usage.flush()
    assert len(await rows(database)) == 10


async def test_memory_is_bounded(database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.state.tenants.usage.MAX_SCOPES", 3)
    usage = Usage(database, clock)
    for number in range(10):
        usage.count("t", str(number), "render")
        usage.count("t", "0", "render")
    assert (await usage.report("t")).totals.renders == 13


async def test_what_a_database_that_is_away_cannot_take_is_kept(
    postgres: PostgresServer, clock: Clock
) -> None:
    database = open_database(postgres.url, deadline=2.0)
    usage = Usage(database, clock)
    usage.count("t", "k", "render")
    postgres.stop()
    for _ in range(3):
        with pytest.raises(Unavailable):
            await usage.flush()
        usage.count("t", "k", "render")
    postgres.start()
    assert (await usage.report("t")).totals.renders == 4
    await database.close()


async def test_a_flush_of_which_nobody_knows_whether_it_was_made_is_made_once(
    postgres: PostgresServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_database(postgres.url, deadline=2.0)
    usage = Usage(database, clock)
    usage.count("t", "k", "render")
    await usage.flush()
    usage.count("t", "k", "render")
    write = database.write

    def committed_but_not_known(*, seconds: float | None = None) -> Uncertain:
        return Uncertain(write(seconds=seconds))

    monkeypatch.setattr(database, "write", committed_but_not_known)
    with pytest.raises(Unavailable):
        await usage.flush()
    monkeypatch.undo()
    usage.count("t", "k", "render")
    assert (await usage.report("t")).totals.renders == 3
    await database.close()


async def test_a_flush_that_is_cancelled_loses_and_doubles_nothing(database: Database, clock: Clock) -> None:
    usage = Usage(database, clock)
    for number in range(1, 21):
        usage.count("t", "k", "render")
        flushing = asyncio.create_task(usage.flush())
        for _ in range(number):
            await asyncio.sleep(0)
        flushing.cancel()
        await asyncio.gather(flushing, return_exceptions=True)
    assert (await usage.report("t")).totals.renders == 20


async def test_storage_and_the_urls_that_were_rendered_most(tiers: Tiers, clock: Clock) -> None:
    cache, usage = tiers.cache(), Usage(tiers.database, clock)
    for number in range(12):
        for _ in range(number + 1):
            await cache.put(tiers.key(f"/{number}"), page_of(b"x" * number))
    await cache.put(tiers.key("/11", "claude"), page_of(b"x"))
    await cache.put(PageKey(tiers.other_tenant, "https://example.com/"), page_of(b"theirs"))
    await cache.get(tiers.key("/11"))
    await cache.drop(tiers.key("/10"))
    await cache.flush()
    report = await usage.report(tiers.tenant)
    assert (report.pages, report.storage_bytes) == (12, 66 - 10 + 1)
    assert report.top_urls[0] == UsedUrl("https://example.com/11", 13, 1)
    assert [(top.url, top.renders) for top in report.top_urls[1:]] == [
        (f"https://example.com/{number}", number + 1) for number in (10, 9, 8, 7, 6, 5, 4, 3, 2)
    ]


async def test_the_urls_that_were_rendered_most_survive_a_cleared_cache(tiers: Tiers, clock: Clock) -> None:
    cache, usage = tiers.cache(), Usage(tiers.database, clock)
    for number in range(3):
        for _ in range(number + 1):
            await cache.put(tiers.key(f"/{number}"), page_of(b"x"))
    await cache.put(tiers.key("/2", "claude"), page_of(b"x"))
    await cache.put(tiers.key("/2/"), page_of(b"x"))
    await cache.get(tiers.key("/1"))
    await cache.flush()
    before = await usage.report(tiers.tenant)
    assert before.top_urls == (
        UsedUrl("https://example.com/2", 5, 0),
        UsedUrl("https://example.com/1", 2, 1),
        UsedUrl("https://example.com/0", 1, 0),
    )
    for _ in range(2):  # what was deleted already is not counted again
        await cache.drop_tenant(tiers.tenant)
    report = await usage.report(tiers.tenant)
    assert (report.top_urls, report.pages) == (before.top_urls, 0)
    await cache.put(tiers.key("/0"), page_of(b"x"))
    await cache.drop(tiers.key("/0"))
    await cache.put(tiers.key("/0"), page_of(b"x"))
    assert (await usage.report(tiers.tenant)).top_urls[1:] == (
        UsedUrl("https://example.com/0", 3, 0),
        UsedUrl("https://example.com/1", 2, 1),
    )
    assert (await usage.report(tiers.other_tenant)).top_urls == ()


async def test_of_deleted_pages_only_those_that_were_rendered_most_are_remembered(
    tiers: Tiers, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_usage, "MAX_URLS", 2)
    cache, usage = tiers.cache(), Usage(tiers.database, clock)
    for number in range(4):
        for _ in range(number + 1):
            await cache.put(tiers.key(f"/{number}"), page_of(b"x"))
    await cache.drop_tenant(tiers.tenant)
    assert [top.renders for top in (await usage.report(tiers.tenant)).top_urls] == [4, 3]
