"""Bodies in memory: never more of them than the budget, and every byte is given back, whatever happens."""

import asyncio
import gc
import gzip
import random
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from ipaddress import ip_network
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.problems import SERVER_BUSY, Busy, Problem
from gossamer.reach.http.body_budget import FREE_BYTES, MEDIUM_BYTES, STEP_BYTES, BodyBudget, Reservation
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.pages.page import Page
from gossamer.web.url.url import Url

MEGABYTE = 1024 * 1024
LIMIT = 16 * MEGABYTE
SOON = 30.0  # seconds within which what must happen has happened


class Origin:
    """Sends bodies of any size: `/4000000` at once, `/4000000/half` half of it until it may go on,
    `/4000000/drop` half of it and no more, `/4000000/gzip` compressed, `/4000000/again` with status 503."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.base = ""
        self.answering: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.answering.add(asyncio.create_task(self._answer(reader, writer)))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            size, _, manner = head.split()[1].decode().strip("/").partition("/")
            await self._send(writer, b"x" * int(size), manner)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _send(self, writer: asyncio.StreamWriter, body: bytes, manner: str) -> None:
        status = b"503 Later" if manner == "again" else b"200 OK"
        coding = b"content-encoding: gzip\r\n" if manner == "gzip" else b""
        body = gzip.compress(body) if coding else body
        writer.write(b"HTTP/1.1 %b\r\ncontent-length: %d\r\n%b\r\n" % (status, len(body), coding))
        if manner in ("half", "drop"):
            writer.write(body[: len(body) // 2])
            await writer.drain()
            if manner == "drop":
                return
            await self.go_on.wait()
            body = body[len(body) // 2 :]
            if writer.is_closing():
                return
        writer.write(body)
        await writer.drain()


@pytest.fixture
async def origin() -> AsyncIterator[Origin]:
    origin = Origin()
    server = await asyncio.start_server(origin.accept, "127.0.0.1", 0)
    origin.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield origin
    server.close()
    origin.go_on.set()
    await asyncio.gather(*origin.answering)


MakeFetcher = Callable[[BodyBudget], Fetcher]


@pytest.fixture
async def make_fetcher(origin: Origin) -> AsyncIterator[MakeFetcher]:  # so the origin is closed last
    made: list[Fetcher] = []
    names = Names()

    def make(bodies: BodyBudget) -> Fetcher:
        dialer = Dialer(names, allow=(ip_network("127.0.0.0/8"),), ports="*")
        made.append(Fetcher(dialer, "Gossamer/0", bodies=bodies, sleep=lambda _: asyncio.sleep(0)))
        return made[-1]

    yield make
    for fetcher in made:
        await fetcher.close()
    await names.close()


def ask(origin: Origin, path: str, **options: Any) -> FetchSpec:
    return FetchSpec(url=Url.parse(f"{origin.base}/{path}"), **{"attempts": 1, "timeout": SOON, **options})


async def until(happens: Callable[[], object]) -> None:
    async with asyncio.timeout(SOON):
        while not happens():
            await asyncio.sleep(0.005)


async def all_given_back(budget: BodyBudget) -> None:
    await until(lambda: budget.used == 0)


def page(body: bytes) -> Page:
    return Page(
        url="", final_url="", status=200, headers=(), body=body, media_type="text/html", charset="utf-8"
    )


# The budget by itself.


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["grow", "wait", "release", "hand", "drop"]),
                          st.integers(0, 4 * MEGABYTE)), max_size=60))  # fmt: skip
def test_whatever_is_done_it_adds_up(steps: list[tuple[int, str, int]]) -> None:
    async def run() -> None:
        budget = BodyBudget(LIMIT, patience=0.0)
        reservations: dict[int, Reservation] = {}
        pages: dict[int, Page] = {}
        for number, step, size in steps:
            pages.pop(number, None) if step == "drop" else None
            if number in pages or step == "drop":
                continue
            reservation = reservations.setdefault(number, budget.reserve())
            if step == "grow" and reservation.try_grow(size):
                assert reservation.room >= size
            elif step == "wait":
                budget.forget(reservation)
                reservation.wait(size, lambda _: None)
            elif step == "release":
                reservations.pop(number).release()
            elif step == "hand":
                body = bytes(min(size, reservation.room))
                budget.forget(reservation)
                reservations.pop(number).hand_to(pages.setdefault(number, page(body)))
            held = sum(each.room - FREE_BYTES for each in reservations.values())
            held += sum(max(0, len(each.body) - FREE_BYTES) for each in pages.values())
            assert held <= budget.used <= LIMIT
            await asyncio.sleep(0)
        for reservation in reservations.values():
            reservation.release()
        pages.clear()
        await asyncio.sleep(0.001)
        assert budget.used == 0

    asyncio.run(run())


async def test_large_bodies_leave_a_quarter_to_smaller_ones() -> None:
    budget = BodyBudget(LIMIT)
    large = budget.reserve()
    while large.try_grow(large.room + STEP_BYTES):
        pass
    assert MEDIUM_BYTES < large.room - FREE_BYTES == budget.used <= LIMIT // 4 * 3
    assert not budget.reserve().try_grow(MEDIUM_BYTES + 1)
    for _ in range(4):
        assert budget.reserve().try_grow(MEDIUM_BYTES)


async def test_who_waits_is_told_when_others_give_back() -> None:
    told: list[bool] = []
    budget = BodyBudget(LIMIT)
    one, other = budget.reserve(), budget.reserve()
    one.grow(LIMIT // 4 * 3)
    other.wait(2 * MEGABYTE, told.append)
    await asyncio.sleep(0)
    assert told == []
    one.release()
    await asyncio.sleep(0)
    assert told == [True]
    assert other.room >= 2 * MEGABYTE


async def test_a_page_gives_back_in_whichever_thread_it_ends() -> None:
    budget = BodyBudget(LIMIT)
    reservation = budget.reserve()
    reservation.grow(5 * MEGABYTE)
    pages = [page(bytes(5 * MEGABYTE))]
    reservation.hand_to(pages[0])
    assert budget.used == 5 * MEGABYTE - FREE_BYTES
    await asyncio.to_thread(pages.clear)
    await all_given_back(budget)


# Through the fetcher.


async def test_a_page_counts_as_long_as_somebody_has_it(make_fetcher: MakeFetcher, origin: Origin) -> None:
    budget = BodyBudget(LIMIT)
    fetched = await make_fetcher(budget).fetch(ask(origin, "4000000"))
    assert budget.used == len(fetched.body) - FREE_BYTES
    del fetched
    await all_given_back(budget)


async def test_small_pages_never_count_and_never_wait(make_fetcher: MakeFetcher, origin: Origin) -> None:
    budget = BodyBudget(0)
    fetcher = make_fetcher(budget)
    pages = [await fetcher.fetch(ask(origin, "60000")) for _ in range(3)]
    assert [len(each.body) for each in pages] == [60_000] * 3
    assert budget.used == 0


async def test_a_large_page_waits_until_there_is_room(make_fetcher: MakeFetcher, origin: Origin) -> None:
    budget = BodyBudget(LIMIT, patience=SOON)
    fetcher = make_fetcher(budget)
    pages = [await fetcher.fetch(ask(origin, "8000000"))]
    waiting = asyncio.create_task(fetcher.fetch(ask(origin, "8000000")))
    await until(lambda: budget._waiting)
    assert len((await fetcher.fetch(ask(origin, "900000"))).body) == 900_000  # which a smaller one does not
    assert not waiting.done()
    pages.clear()
    assert len((await waiting).body) == 8_000_000


async def test_who_waits_in_vain_is_told_to_come_later(make_fetcher: MakeFetcher, origin: Origin) -> None:
    budget = BodyBudget(LIMIT, patience=0.01)
    fetcher = make_fetcher(budget)
    kept = await fetcher.fetch(ask(origin, "8000000"))
    with pytest.raises(Busy) as caught:
        await fetcher.fetch(ask(origin, "8000000", attempts=3))
    assert (caught.value.kind, caught.value.kind.status) == (SERVER_BUSY, 503)
    assert int(caught.value.headers["Retry-After"]) > 0
    await until(lambda: budget.used == len(kept.body) - FREE_BYTES)


async def test_a_bomb_unpacks_no_more_than_there_is_room_for(
    make_fetcher: MakeFetcher, origin: Origin
) -> None:
    budget = BodyBudget(2 * MEGABYTE, patience=0.01)
    with pytest.raises(Busy):
        await make_fetcher(budget).fetch(ask(origin, "9000000/gzip"))
    await all_given_back(budget)


@pytest.mark.parametrize(("path", "options"), [
    ("4000000/drop", {}),
    ("4000000/half", {"timeout": 0.2}),
    ("4000000", {"max_bytes": 3_000_000}),
    ("4000000/drop", {"attempts": 2}),
])  # fmt: skip
async def test_what_fails_gives_back(
    make_fetcher: MakeFetcher, origin: Origin, path: str, options: dict[str, Any]
) -> None:
    budget = BodyBudget(LIMIT)
    with pytest.raises(Problem):
        await make_fetcher(budget).fetch(ask(origin, path, **options))
    assert budget.used == 0


async def test_of_several_attempts_one_counts(make_fetcher: MakeFetcher, origin: Origin) -> None:
    budget = BodyBudget(LIMIT)
    fetched = await make_fetcher(budget).fetch(ask(origin, "4000000/again", attempts=2))
    assert (fetched.status, budget.used) == (503, 4_000_000 - FREE_BYTES)


@pytest.mark.parametrize("seed", range(3))
async def test_many_at_once_some_cancelled_and_all_is_given_back(
    make_fetcher: MakeFetcher, origin: Origin, seed: int
) -> None:
    chance = random.Random(seed)
    budget = BodyBudget(LIMIT, patience=0.05)
    fetcher = make_fetcher(budget)
    manners = ("", "/half", "/drop", "/gzip", "/again")
    most = 0

    async def fetch() -> None:
        nonlocal most
        path = f"{chance.choice((50_000, 500_000, 3_000_000, 9_000_000))}{chance.choice(manners)}"
        with suppress(Problem):
            fetched = await fetcher.fetch(ask(origin, path, timeout=chance.choice((0.3, SOON))))
            most = max(most, budget.used)
            await asyncio.sleep(0)
            assert fetched.body

    tasks = [asyncio.create_task(fetch()) for _ in range(60)]
    for turn in range(300):
        most = max(most, budget.used)
        if turn % 10 == 0:
            chance.choice(tasks).cancel()
        if turn == 200:
            origin.go_on.set()
        await asyncio.sleep(0)
    origin.go_on.set()
    await asyncio.wait(tasks, timeout=SOON)
    assert all(task.done() for task in tasks)
    assert [task.exception() for task in tasks if not task.cancelled() and task.exception()] == []
    tasks.clear()
    gc.collect()
    await all_given_back(budget)
    assert 0 < most <= LIMIT
    assert not budget._waiting
