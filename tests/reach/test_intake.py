"""What a connection parses in one turn of the event loop is bounded, whatever its peer sends."""

import asyncio
import time
from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest
from tests.lag import Lag
from tests.site.dns import name_server
from tests.site.hostile import MAKERS
from tests.site.hostile_origin import hostile_origin

from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.http.intake import MAX_REPORTS, SLICE_BYTES, Intake
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.url.url import Url

CHUNK = 6  # bytes of which one is body
MOST_HELD = 0.05  # seconds of the processor, in one turn


async def test_a_turn_ends_after_so_many_reports() -> None:
    turns: list[int] = [0]
    paused: list[bool] = []
    parsed = bytearray()

    def feed(data: memoryview) -> None:
        parsed.extend(data)
        for _ in range(len(data) // CHUNK):
            turns[-1] += 1
            intake.report()

    intake = Intake(feed, paused.append)
    sent = [bytes([number]) * 256_000 for number in range(4)]
    for data in sent:
        intake.take(data)
    while len(parsed) < 4 * 256_000:
        turns.append(0)
        await asyncio.sleep(0)
    assert bytes(parsed) == b"".join(sent)
    assert max(turns) <= MAX_REPORTS + SLICE_BYTES // CHUNK
    assert paused == [True, False]


async def test_what_waits_is_dropped_at_the_end() -> None:
    fed: list[memoryview] = []

    def feed(data: memoryview) -> None:
        fed.append(data)
        for _ in range(MAX_REPORTS):
            intake.report()

    intake = Intake(feed, lambda _: None)
    intake.take(bytes(10 * SLICE_BYTES))
    intake.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(fed) == 1


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    async with name_server() as dns:
        names = Names([dns.address])
        fetcher = Fetcher(Dialer(names, allow=(ip_network("127.0.0.1/32"),), ports="*"), "Gossamer/0 (tests)")
        yield fetcher
        await fetcher.close()
        await names.close()


@pytest.mark.parametrize("name", ["one_byte_chunks", "one_byte_chunks_large", "less_than", "no_text"])
async def test_no_answer_holds_the_event_loop(fetcher: Fetcher, name: str) -> None:
    """In time of the processor, which is the same on a busy machine."""
    lag = Lag(time.thread_time)
    with hostile_origin() as origin:
        url = Url.parse(f"{origin}/{name}")
        await fetcher.fetch(FetchSpec(url=url))  # once, so that it is ready there
        ticking = asyncio.create_task(lag.tick())
        page = await fetcher.fetch(FetchSpec(url=url))
        ticking.cancel()
    assert page.body == MAKERS[name]().body
    assert lag.most < MOST_HELD
