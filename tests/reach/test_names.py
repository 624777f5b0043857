"""Names to addresses: what is asked, how often, what is remembered, and what goes wrong."""

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Any

import pytest
from tests.site.dns import AAAA, REFUSED, SERVFAIL, A, Clock, NameServer, Reply, name_server

from gossamer.problems import FETCH_FAILED, FETCH_TIMEOUT, Problem, ProblemKind
from gossamer.reach.net.names import MAX_LIFETIME, MIN_LIFETIME, Names

HERE = ip_address("127.0.0.1")
THERE = ip_address("127.0.0.2")


@pytest.fixture
async def dns() -> AsyncIterator[NameServer]:
    async with name_server() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def names(dns: NameServer, clock: Clock) -> AsyncIterator[Names]:
    names = Names([dns.address], limit=1.0, clock=clock)
    yield names
    await names.close()


async def refusal(names: Names, name: str, kind: ProblemKind) -> Any:
    with pytest.raises(Problem) as caught:
        await names.addresses(name)
    assert caught.value.kind is kind
    assert caught.value.members["details"]["host"] == name
    return caught.value.members["details"]["reason"]


async def test_addresses_of_both_kinds(names: Names, dns: NameServer) -> None:
    dns.say("both.test", ("127.0.0.1", "::1", "127.0.0.2"))
    assert await names.addresses("both.test") == (ip_address("::1"), HERE, THERE)
    assert dns.asked == {("both.test", A): 1, ("both.test", AAAA): 1}


async def test_aliases_and_long_answers(names: Names, dns: NameServer) -> None:
    dns.say("alias.test", Reply(("127.0.0.1",), alias="other.test"))
    dns.say("long.test", Reply(("127.0.0.1",), truncated=True))
    assert await names.addresses("alias.test") == (HERE,)
    assert await names.addresses("long.test") == (HERE,)
    assert dns.asked_over_tcp == 2


async def test_search_domains_and_the_hosts_file_are_not_used(names: Names, dns: NameServer) -> None:
    assert await refusal(names, "localhost", FETCH_FAILED) == "dns_not_found"
    assert set(dns.asked) == {("localhost", A), ("localhost", AAAA)}


async def test_one_question_for_all_who_wait(names: Names, dns: NameServer) -> None:
    dns.say("site.test", ("127.0.0.1",))
    impatient = asyncio.create_task(names.addresses("site.test"))
    others = [asyncio.create_task(names.addresses("site.test")) for _ in range(20)]
    await asyncio.sleep(0)
    impatient.cancel()
    assert await asyncio.gather(*others) == [(HERE,)] * 20
    assert impatient.cancelled()
    assert dns.count("site.test") == 1


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        (Reply(), FETCH_FAILED, "dns_not_found"),
        (Reply(alias="nowhere.test"), FETCH_FAILED, "dns_not_found"),
        (Reply(code=SERVFAIL), FETCH_FAILED, "dns_failed"),
        (Reply(code=REFUSED), FETCH_FAILED, "dns_failed"),
        (Reply(silent=True), FETCH_TIMEOUT, "dns"),
    ],
)
async def test_names_without_addresses(
    reply: Reply, kind: ProblemKind, reason: str, names: Names, dns: NameServer
) -> None:
    dns.say("site.test", reply)
    assert await refusal(names, "site.test", kind) == reason


async def test_a_failure_of_the_servers_is_not_remembered(names: Names, dns: NameServer) -> None:
    dns.say("site.test", *[Reply(code=SERVFAIL)] * 4, ("127.0.0.1",))  # it is asked again by itself, thrice
    assert await refusal(names, "site.test", FETCH_FAILED) == "dns_failed"
    assert await names.addresses("site.test") == (HERE,)


async def test_that_there_is_no_such_name_is_remembered_briefly(
    names: Names, dns: NameServer, clock: Clock
) -> None:
    for _ in range(3):
        assert await refusal(names, "nowhere.test", FETCH_FAILED) == "dns_not_found"
    assert dns.count("nowhere.test") == 1
    clock.now += MIN_LIFETIME
    dns.say("nowhere.test", Reply())
    assert await refusal(names, "nowhere.test", FETCH_FAILED) == "dns_not_found"
    clock.now += MIN_LIFETIME
    dns.say("nowhere.test", ("127.0.0.1",))
    assert await names.addresses("nowhere.test") == (HERE,)


@pytest.mark.parametrize(("ttl", "seconds"), [(0, MIN_LIFETIME), (60, 60), (86400, MAX_LIFETIME)])
async def test_answers_are_remembered_by_their_ttl_within_bounds(
    ttl: int, seconds: float, names: Names, dns: NameServer, clock: Clock
) -> None:
    dns.say("site.test", Reply(("127.0.0.1",), ttl), Reply(("127.0.0.2",), ttl))
    assert await names.addresses("site.test") == (HERE,)
    clock.now += seconds - 0.001
    assert await names.addresses("site.test") == (HERE,)
    clock.now += 0.001
    assert await names.addresses("site.test") == (THERE,)


async def test_closing_while_somebody_waits(dns: NameServer) -> None:
    dns.say("site.test", Reply(silent=True))
    names = Names([dns.address])
    waiting = asyncio.create_task(names.addresses("site.test"))
    await asyncio.sleep(0)
    await names.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
