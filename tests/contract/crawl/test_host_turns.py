"""Turns: where more hosts wait than there is room for, every tenant gets on, and every crawl of each."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest
from tests.contract.crawl.crawl_ground import LEASE, NOW, SECOND, Ground, done, url

from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.hosts import HostLease
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.waiting import Waiting
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats
from gossamer.state.tenants import tenants

LATER = NOW + SECOND


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


@pytest.fixture
async def other(ground: Ground) -> Ground:
    """The same, as somebody else sees it."""
    async with ground.database.write() as connection:
        tenant = await tenants.ensure_tenant(connection, "b@example.com")
    return replace(ground, tenant=tenant.id)


def many(letter: str, count: int) -> list[NewUrl]:
    return [url(f"{letter}{number}:80", 0) for number in range(count)]


def letters(leases: Iterable[HostLease]) -> Counter[str]:
    return Counter(lease.host[0] for lease in leases)


async def one_by_one(ground: Ground, count: int) -> Counter[str]:
    return letters([lease for _ in range(count) for lease in await ground.lease(1, now=LATER)])


async def test_who_comes_later_waits_for_one_turn_and_not_for_all_hosts_of_another(
    ground: Ground, other: Ground
) -> None:
    await ground.crawl(many("a", 40))
    assert letters(await ground.lease(5)) == {"a": 5}
    await other.crawl(many("b", 1), now=LATER)
    assert (await one_by_one(ground, 2))["b"] == 1
    assert await one_by_one(ground, 5) == {"a": 5}  # who has no other host is in nobody's way


async def test_tenants_get_as_much_as_each_other_and_so_do_the_crawls_of_each(
    ground: Ground, other: Ground
) -> None:
    for letter in "acd":
        await ground.crawl(many(letter, 30))
    await other.crawl(many("b", 30), now=LATER)
    at_once = letters(await ground.lease(20, now=LATER))
    assert at_once["b"] >= 7  # a quarter goes by age
    assert min(at_once[letter] for letter in "acd") >= 2
    found = await one_by_one(ground, 20)
    assert found["b"] >= 7
    assert min(found[letter] for letter in "acd") >= 2


async def test_what_has_waited_longest_is_not_overlooked(ground: Ground, other: Ground) -> None:
    oldest = await ground.crawl(many("o", 1))
    resting = {lease.host: lease for lease in await ground.lease(1)}["o0:80"]
    assert await ground.hosts.release(resting, next_at=NOW + 1, now=NOW)
    for number in range(60):
        await other.crawl(many(chr(ord("p") + number % 10) + str(number), 2), now=LATER)
    assert (await one_by_one(ground, 4))["o"] == 1
    assert oldest.tenant_id != other.tenant


async def test_a_host_of_several_crawls_is_leased_once(ground: Ground, other: Ground) -> None:
    await ground.crawl(many("a", 6))
    await other.crawl(many("a", 6))
    assert letters(await ground.lease(5)) == {"a": 5}
    assert letters(await ground.lease(5, worker="v")) == {"a": 1}
    assert await ground.lease(5, now=NOW + LEASE - 1) == []


async def test_crawls_of_which_nothing_is_done_are_counted_until_something_is(
    ground: Ground, other: Ground
) -> None:
    async def starving(most: int = 9, now: int = LATER) -> int:
        return await ground.hosts.count_starving(most, now=now)

    first = await ground.crawl(many("a", 2))
    second = await other.crawl(many("b", 1))
    assert (await starving(), await starving(1)) == (2, 1)
    held = {lease.host: lease for lease in await ground.lease(9)}
    assert await starving() == 0  # all are held
    (task,) = await ground.frontier.take(held["a0:80"], 1, now=NOW)
    for host in ("a1:80", "b0:80"):
        assert await ground.hosts.release(held[host], now=NOW)
    assert await starving() == 1  # of the first one something is being done
    assert await ground.frontier.settle(held["a0:80"], done([task]), now=NOW)
    assert await starving() == 2
    assert await ground.crawls.pause(first.id)
    assert await ground.crawls.cancel(second.id, now=NOW)
    assert await starving() == 0


async def test_a_crawl_says_that_it_waits_for_its_turn(ground: Ground, other: Ground) -> None:
    await ground.crawl(many("a", 9))
    await ground.lease(5)
    crawl: Crawl | None = await other.crawl(many("b", 2))
    async with ground.database.write() as connection:
        await heartbeats.beat(connection, "w-crawl", (heartbeats.CRAWL,), 5, now=NOW)
    assert crawl is not None
    assert await ground.crawls.waiting(crawl, now=LATER) is None  # it is about to begin
    late = await ground.crawls.waiting(crawl, now=NOW + 3 * SECOND)
    assert late == Waiting(reason="turn", until=None, hosts=2)
