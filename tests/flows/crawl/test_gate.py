"""Gates: how many are let through to an address at once. Each `Gates` stands for a process that crawls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_network

import pytest
from tests.doors.services import Visit, Visiting
from tests.servers.valkey import Valkey

from gossamer.flows.crawl.politeness.gate import OPEN, Gates
from gossamer.state.kv.hot import Hot
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.kv.hot_redis import RedisHot

HOST, NEIGHBOUR, ELSEWHERE = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.2:1"
HERE = ip_network("127.0.0.1/32")
SECONDS = 30.0
LONG, SHORT = 1_000.0, 0.05  # turns


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(egress_allow="127.0.0.0/8", egress_ports="*") as opened:
        yield opened


class Process:
    def __init__(self, gates: Gates) -> None:
        self.gates = gates
        self.inside = 0

    async def stay(self, until: asyncio.Event, host: str = HOST) -> None:
        async with await self.gates.of(host):
            self.inside += 1
            try:
                await until.wait()
            finally:
                self.inside -= 1


@asynccontextmanager
async def processes(
    visit: Visit, hot: Hot | None, *, most: int = 3, count: int = 2, turn: float = SHORT
) -> AsyncIterator[list[Process]]:
    opened = [Process(Gates(visit.service.dialer, hot, most, turn=turn)) for _ in range(count)]
    for process in opened:
        process.gates.workers = count
    yield opened
    for process in opened:
        await process.gates.close()


@asynccontextmanager
async def staying(*processes: Process, each: int = 4, host: str = HOST) -> AsyncIterator[asyncio.Event]:
    """As many in each as want to; they go when told, or at the end, also those that wait still."""
    leave = asyncio.Event()
    tasks = [asyncio.create_task(one.stay(leave, host)) for one in processes for _ in range(each)]
    try:
        yield leave
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until_inside(count: int, *processes: Process) -> None:
    async with asyncio.timeout(SECONDS):
        while sum(process.inside for process in processes) != count:
            await asyncio.sleep(0.01)


async def a_while() -> None:
    """In which whoever can come in does, and looks several times."""
    await asyncio.sleep(0.6)


@pytest.fixture(params=["memory", "redis"])
async def hot(request: pytest.FixtureRequest) -> AsyncIterator[Hot]:
    if request.param == "memory":
        yield MemoryHot()
        return
    opened = RedisHot(request.getfixturevalue("valkey").url, prefix=request.node.name)
    yield opened
    await opened.close()


async def test_no_more_than_the_cap_are_inside_over_all_processes(visit: Visit, hot: Hot) -> None:
    async with processes(visit, hot) as (one, two), staying(one, two):
        await until_inside(3, one, two)
        await a_while()
        assert one.inside + two.inside == 3
        async with staying(two, each=1, host=NEIGHBOUR), staying(one, two, each=3, host=ELSEWHERE):
            await until_inside(6, one, two)  # another address has places of its own, a neighbour has not
            await a_while()
            assert one.inside + two.inside == 6


async def test_places_go_from_one_process_to_another_when_their_turn_is_over(visit: Visit, hot: Hot) -> None:
    async with processes(visit, hot) as (one, two), staying(one, each=3) as leave:
        await until_inside(3, one)
        async with staying(two, each=1):
            await a_while()
            assert (one.inside, two.inside) == (3, 0)  # nobody is thrown out
            leave.set()
            await until_inside(1, two)


async def test_who_stops_gives_back_what_it_held(visit: Visit, hot: Hot) -> None:
    async with processes(visit, hot, turn=LONG) as (one, two):
        async with staying(one, each=3):
            await until_inside(3, one)
        await one.gates.close()  # long before its turn is over
        async with staying(two, each=3):
            await until_inside(3, two)


async def test_without_a_store_that_is_shared_each_process_has_its_part(visit: Visit) -> None:
    async with processes(visit, None, most=4) as (one, two), staying(one, two):
        await until_inside(4, one, two)
        await a_while()
        assert (one.inside, two.inside) == (2, 2)


async def test_while_the_store_is_away_each_process_has_its_part(visit: Visit, own_valkey: Valkey) -> None:
    hot = RedisHot(own_valkey.url)
    own_valkey.kill()
    async with processes(visit, hot, most=4) as (one, two), staying(one, two):
        await until_inside(4, one, two)
        await a_while()
        assert (one.inside, two.inside) == (2, 2)
    await hot.close()


async def test_networks_that_are_opened_on_purpose_and_hosts_that_are_not_there_have_no_gates(
    visit: Visit,
) -> None:
    gates = Gates(visit.service.dialer, None, 1, [HERE])
    assert await gates.of(HOST) is OPEN
    assert await gates.of("127.0.0.1.:99999") is OPEN
    assert await gates.of(ELSEWHERE) is await gates.of(ELSEWHERE)
    assert await gates.of(ELSEWHERE) is not OPEN
