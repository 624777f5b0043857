"""Rows about traps: written under the lease of their host, added up, read by other workers, and removed."""

import pytest
from tests.contract.crawl.crawl_ground import NOW, SECOND, Ground, done, urls

from gossamer.flows.crawl.plan import Plans
from gossamer.state.crawl import trap_rows
from gossamer.state.crawl.crawl_tables import crawl_traps, trap_states
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.removal import deleting
from gossamer.state.crawl.settling import HostSettlement
from gossamer.state.crawl.trap_rows import StoredTrap, TrapNews
from gossamer.state.db.database import Database
from gossamer.web.crawl.traps.host_traps import TrapState
from gossamer.web.crawl.traps.parameters import LearnedParameter
from gossamer.web.crawl.traps.trap import TrapCount, TrapKind
from gossamer.web.url.url import Url

LEARNED = LearnedParameter(names=("sid",), everywhere=True, cut=3)
COUNT = TrapCount(TrapKind.PARAMETER, "/a?sid", 3, "http://a/a?sid=1\0")


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


def news(crawl: Crawl, edition: int = 1) -> TrapNews:
    return TrapNews(crawl.id, TrapState(edition=edition, parameters=(LEARNED,)), (COUNT,))


async def settle(ground: Ground, crawl: Crawl, edition: int = 1, *, now: int = NOW, late: int = 0) -> bool:
    """One URL of the host is done, and this was learned meanwhile."""
    (lease,) = await ground.lease(now=now)
    tasks = await ground.frontier.take(lease, 1, now=now)
    batch = HostSettlement(ends=done(tasks).ends, traps=[news(crawl, edition)])
    written = await ground.frontier.settle(lease, batch, now=now + late)
    await ground.hosts.release(lease, now=now + late)
    return written


async def listing(ground: Ground, crawl: Crawl) -> list[StoredTrap]:
    return await ground.crawls.traps(crawl)


async def test_what_was_cut_is_added_up_with_its_first_example(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 3))
    for number in range(3):
        assert await settle(ground, crawl, number + 1, now=NOW + number * SECOND)
    assert await listing(ground, crawl) == [
        StoredTrap("parameter", "/a?sid", "a:80", 9, "http://a/a?sid=1", NOW)
    ]


async def test_whoever_has_lost_the_host_writes_nothing_about_it(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 3))
    assert not await settle(ground, crawl, late=3_600 * SECOND)
    assert await listing(ground, crawl) == []
    assert await ground.rows(trap_states) == []


async def test_another_worker_knows_what_was_learned(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 3))
    plans = Plans(ground.crawls, lambda: 0.0)
    await settle(ground, crawl)
    plan = await plans.get(crawl.id)
    assert plan is not None
    assert plan.traps is not None
    link = plan.traps.of("a:80").identify(Url.parse("http://a:80/b?sid=7&c=1"))
    assert (link.named.href, link.merged) == ("http://a:80/b?c=1".replace(":80", ""), TrapKind.PARAMETER)


async def test_states_are_read_from_a_time_on(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 3))
    await settle(ground, crawl)
    async with ground.database.read() as connection:
        assert [host for host, *_ in await trap_rows.states(connection, crawl.id)] == ["a:80"]
        later = NOW + 2 * trap_rows.LATE_MS
        assert await trap_rows.states(connection, crawl.id, since=later) == []


async def test_traps_go_with_their_crawl(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 1))
    await settle(ground, crawl)
    other = await ground.crawl(urls("b:80", 1))
    await settle(ground, other)
    for table in (trap_states, crawl_traps):
        async with ground.database.write() as connection:
            assert await deleting.drop_rows(connection, table, crawl.id) == 1
        assert {row.crawl_id for row in await ground.rows(table)} == {other.id}
