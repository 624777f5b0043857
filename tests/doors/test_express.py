"""The express lane: as quick as it is, it must not be told from the ordinary way, nor let anybody past it."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from gossamer.doors.http.boarding import boarding
from gossamer.doors.http.express import CHANGING, Detour, Lane, Ride, Ticket
from gossamer.doors.http.server import server
from gossamer.flows import keys
from gossamer.flows.admit import key_record
from gossamer.flows.render import Look, page_key
from gossamer.state import tenants
from gossamer.state.page_cache import CachedPage, PageKey
from gossamer.state.resp import Client
from gossamer.state.resp_address import Address
from gossamer.web.url import Url
from tests.doors.houses import ADMIN_KEY, Visit, Visiting
from tests.servers.valkey import Valkey

URL = "https://shop.example.com/product/123"
HTML = b"<!doctype html><title>A shop</title><p>" + b"Orb weavers. " * 400

Fields = dict[bytes, bytes]


@dataclass(frozen=True)
class Answer:
    status: int
    fields: Fields
    body: bytes


def asked(secret: str = ADMIN_KEY, *more: str, method: str = "POST", **body: object) -> bytes:
    payload = json.dumps({"url": URL, **body}).encode()
    head = [
        f"{method} /api/render HTTP/1.1",
        "Host: gossamer.example",
        f"Authorization: Bearer {secret}",
        "Content-Type: application/json",
        f"Content-Length: {len(payload)}",
        *more,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + payload


@dataclass(frozen=True)
class Line:
    """One connection to the server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, request: bytes) -> Answer:
        self.writer.write(request)
        return await self.answer()

    async def answer(self) -> Answer:
        async with asyncio.timeout(10):
            first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).rstrip().split(b"\r\n")
            fields = dict(line.split(b": ", 1) for line in lines)
            body = await self.reader.readexactly(int(fields.get(b"content-length", b"0")))
        return Answer(int(first.split()[1]), fields, body)


@dataclass(frozen=True)
class Served:
    visit: Visit
    lane: Lane
    port: int
    key: PageKey
    lines: list[Line] = field(default_factory=list)

    async def line(self) -> Line:
        self.lines.append(Line(*await asyncio.open_connection("127.0.0.1", self.port)))
        return self.lines[-1]

    async def keep(self, html: bytes = HTML, age: float = 0.0) -> None:
        rendered_at = round((time.time() - age) * 1000)
        await self.visit.house.page_cache.put(self.key, CachedPage.of(html, url=URL, rendered_at=rendered_at))


@asynccontextmanager
async def serving(visit: Visit) -> AsyncIterator[Served]:
    house = visit.house
    lane = house.lane()
    listening = socket.create_server(("127.0.0.1", 0))
    running = server(house.app(), boarding(lane))
    task = asyncio.create_task(running.serve(sockets=[listening]))
    caller = await house.admission.identify(ADMIN_KEY)
    key = page_key(caller.tenant_id, Url.parse(URL), Look())
    served = Served(visit, lane, listening.getsockname()[1], key)
    await served.keep()
    try:
        yield served
    finally:
        for line in served.lines:
            line.writer.close()
        await asyncio.gather(*(line.writer.wait_closed() for line in served.lines), return_exceptions=True)
        running.should_exit = True
        await task


@pytest.fixture
async def served(visit_on_each_hot: Visit) -> AsyncIterator[Served]:
    async with serving(visit_on_each_hot) as opened:
        yield opened


def lasting(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if name not in CHANGING}


class Watched:
    """How many of a lane's requests rode, and how many were sent back to the ordinary way."""

    def __init__(self, lane: Lane) -> None:
        self.rode = self.detoured = 0
        self._ride = lane.ride
        lane.ride = self._watch  # type: ignore[method-assign]

    async def _watch(self, ticket: Ticket) -> Ride | Detour:
        arrived = await self._ride(ticket)
        if isinstance(arrived, Ride):
            self.rode += 1
        else:
            self.detoured += 1
        return arrived


@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_the_second_time_says_the_same(served: Served, coding: str) -> None:
    watched = Watched(served.lane)
    line = await served.line()
    request = asked(ADMIN_KEY, f"Accept-Encoding: {coding}")
    ordinary, express = [await line.ask(request) for _ in range(2)]
    assert (watched.rode, watched.detoured) == (1, 0)
    assert ordinary.status == express.status == 200
    assert ordinary.body == express.body
    assert set(ordinary.fields) == set(express.fields)
    assert lasting(ordinary.fields) == lasting(express.fields)
    assert ordinary.fields[b"x-request-id"] != express.fields[b"x-request-id"]
    left = [int(answer.fields[b"x-ratelimit-remaining"]) for answer in (ordinary, express)]
    assert left[0] - left[1] == 1
    assert ordinary.fields[b"ratelimit-policy"] == express.fields[b"ratelimit-policy"]


async def test_it_is_logged_measured_and_counted_like_any_other(served: Served) -> None:
    line = await served.line()
    for _ in range(3):
        await line.ask(asked())
    lines = [entry for entry in served.visit.logged("request") if entry["endpoint"] == "/api/render"]
    assert len(lines) == 3
    ordinary, *express = [
        {name: value for name, value in entry.items() if name not in ("timestamp", "requestId", "duration")}
        for entry in lines
    ]
    assert express == [ordinary, ordinary]
    text = served.visit.house.metrics.exposition()[0].decode()
    assert 'gossamer_page_cache_total{event="hot"} 3.0' in text
    caller = await served.visit.house.admission.identify(ADMIN_KEY)
    await served.visit.house.usage.flush()
    report = await served.visit.house.usage.report(caller.tenant_id)
    assert report.hits == 3


async def test_a_disabled_key_does_not_ride(served: Served) -> None:
    secret = await served.visit.key()
    key = page_key((await served.visit.house.admission.identify(secret)).tenant_id, Url.parse(URL), Look())
    await served.visit.house.page_cache.put(key, CachedPage.of(HTML, url=URL, rendered_at=1))
    line = await served.line()
    request = asked(secret)
    assert [(await line.ask(request)).status for _ in range(2)] == [200, 200]
    house = served.visit.house
    caller = await house.admission.identify(secret)
    async with house.database.write() as connection:
        disabled = await keys.disable(connection, caller.key_id, actor="test", request_id="")
    await house.admission.refresh(disabled)
    refused = await line.ask(request)
    assert refused.status == 403
    assert json.loads(refused.body)["code"] == "KEY_DISABLED"


async def test_a_key_that_ran_out_is_looked_up_once_for_all_who_ride(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hot believes it for some seconds. Then many ask at once, and need neither a detour nor a query each."""
    admission, looked = served.visit.house.admission, 0
    look_up = admission._look_up

    async def counted(digest: str) -> tenants.Key | None:
        nonlocal looked
        looked += 1
        return await look_up(digest)

    monkeypatch.setattr(admission, "_look_up", counted)
    lines = [await served.line() for _ in range(8)]
    await lines[0].ask(asked())
    watched = Watched(served.lane)
    for round_ in (1, 2):
        looked = 0
        assert await served.visit.house.hot.drop(key_record(tenants.key_hash(ADMIN_KEY))) == 1
        answers = await asyncio.gather(*(line.ask(asked()) for line in lines))
        assert [answer.status for answer in answers] == [200] * 8
        assert (watched.rode, watched.detoured) == (8 * round_, 0)
        # On one connection to Hot nobody can ask after the answer is kept, and not know of it.
        assert looked == 1
    left = [int(answer.fields[b"x-ratelimit-remaining"]) for answer in answers]
    assert len(set(left)) == 8  # each was counted once


async def test_a_key_that_ran_out_and_was_disabled_elsewhere_does_not_ride(served: Served) -> None:
    house = served.visit.house
    secret = await served.visit.key()
    caller = await house.admission.identify(secret)
    key = page_key(caller.tenant_id, Url.parse(URL), Look())
    await house.page_cache.put(key, CachedPage.of(HTML, url=URL, rendered_at=1))
    line = await served.line()
    assert [(await line.ask(asked(secret))).status for _ in range(2)] == [200, 200]
    async with house.database.write() as connection:
        await keys.disable(connection, caller.key_id, actor="test", request_id="")
    await house.hot.drop(key_record(tenants.key_hash(secret)))
    refused = await line.ask(asked(secret))
    assert json.loads(refused.body)["code"] == "KEY_DISABLED"


async def test_a_connection_rests_as_long_after_a_ride_as_after_anything_else(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.doors.http.server.KEEP_ALIVE_SECONDS", 1)
    async with visiting() as visit, serving(visit) as served:
        watched = Watched(served.lane)
        line = await served.line()
        await line.ask(asked())
        await asyncio.sleep(0.5)  # so that what was set then rings while it rests from the ride
        await line.ask(asked())
        rode_at = time.monotonic()
        assert watched.rode == 1
        async with asyncio.timeout(10):
            assert await line.reader.read() == b""
        assert time.monotonic() - rode_at > 0.9


async def test_a_deleted_page_is_gone_and_a_new_one_is_served(served: Served) -> None:
    watched = Watched(served.lane)
    line = await served.line()
    assert [(await line.ask(asked())).status for _ in range(2)] == [200, 200]
    await served.keep(b"<title>Another</title>" + HTML)
    again = await line.ask(asked())
    assert again.body.startswith(b"<title>Another</title>")
    assert (watched.rode, watched.detoured) == (1, 1)
    assert (await line.ask(asked())).body == again.body
    assert (watched.rode, watched.detoured) == (2, 1)  # there is a new ticket
    await served.visit.house.page_cache.drop(served.key)
    for _ in range(2):
        gone = await line.ask(asked())
        assert (gone.status, gone.fields[b"x-cache"]) == (202, b"MISS")
    assert watched.detoured == 2  # the old one was taken back


async def test_an_old_page_goes_the_ordinary_way(served: Served) -> None:
    await served.keep(age=100.0)
    line = await served.line()
    fresh = asked(maxAge=1_000)
    assert [(await line.ask(fresh)).status for _ in range(2)] == [200, 200]
    await served.keep(age=2_000.0)
    assert (await line.ask(fresh)).status == 202


async def test_a_detour_is_counted_once(served: Served) -> None:
    line = await served.line()
    before = await line.ask(asked())
    await line.ask(asked())
    await served.visit.house.page_cache.drop(served.key)
    after = await line.ask(asked())
    assert after.status == 202
    policy = dict(part.strip().split(";", 1) for part in after.fields[b"ratelimit"].decode().split(", "))
    left = int(policy['"admin"'].split(";")[0].removeprefix("r="))
    assert int(before.fields[b"x-ratelimit-remaining"]) - left == 2


async def test_the_limit_holds(visiting: Visiting) -> None:
    async with visiting(limit_admin="3/3600") as visit, serving(visit) as served:
        line = await served.line()
        answers = [await line.ask(asked()) for _ in range(5)]
        await visit.house.usage.flush()
        report = await visit.house.usage.report(served.key.tenant)
    assert [answer.status for answer in answers] == [200, 200, 200, 429, 429]
    assert json.loads(answers[-1].body)["code"] == "RATE_LIMITED"
    assert report.hits == 3  # what was refused was not served


async def test_other_words_go_the_ordinary_way(served: Served) -> None:
    """Whatever is not exactly what was answered before: it is read anew."""
    watched = Watched(served.lane)
    line = await served.line()
    first = await line.ask(asked())
    await line.ask(asked())
    assert watched.rode == 1
    known = first.fields[b"etag"].decode()
    assert (await line.ask(asked(ADMIN_KEY, f"If-None-Match: {known}"))).status == 304
    assert (await line.ask(asked("sk_live_somebody-else-0123456789abcdef"))).status == 401
    assert (await line.ask(asked(keepScripts=True))).status == 202
    again = [await line.ask(asked(ADMIN_KEY, "Idempotency-Key: 0123456789abcdef")) for _ in range(2)]
    assert [answer.fields.get(b"x-idempotent-replayed") for answer in again] == [None, b"true"]
    assert watched.rode == 1


async def test_requests_in_pieces_and_in_heaps(served: Served) -> None:
    line = await served.line()
    request = asked()
    assert [(await line.ask(request)).status for _ in range(2)] == [200, 200]
    line.writer.write(request[:50])
    await asyncio.sleep(0)
    await line.writer.drain()
    line.writer.write(request[50:])
    assert (await line.answer()).body == HTML
    line.writer.write(request * 5)
    assert [(await line.answer()).body == HTML for _ in range(5)] == [True] * 5
    other = asked("sk_live_somebody-else-0123456789abcdef")
    for _ in range(3):  # one after another without waiting: answers come in the order of their requests
        line.writer.write(request)
        line.writer.write(other)
    assert [(await line.answer()).status for _ in range(6)] == [200, 401] * 3


async def test_a_body_that_looks_like_a_request_is_a_body(served: Served) -> None:
    """The bytes of a known request inside another one's body are nothing but that."""
    line = await served.line()
    request = asked()
    assert [(await line.ask(request)).status for _ in range(2)] == [200, 200]
    outer = asked().replace(b"Content-Length: ", b"Content-Length: 9")
    head, _, body = outer.partition(b"\r\n\r\n")
    length = int(dict(part.split(b": ", 1) for part in head.split(b"\r\n")[1:])[b"Content-Length"])
    line.writer.write(head + b"\r\n\r\n" + body)
    await line.writer.drain()
    line.writer.write(request)
    line.writer.write(b" " * (length - len(body) - len(request)))
    answer = await line.answer()
    assert answer.status == 400
    assert json.loads(answer.body)["code"] == "VALIDATION_ERROR"


async def test_without_hot_the_ordinary_way_serves_from_cold(visiting: Visiting, own_valkey: Valkey) -> None:
    async with visiting(redis_url=own_valkey.url) as visit, serving(visit) as served:
        line = await served.line()
        assert [(await line.ask(asked())).status for _ in range(2)] == [200, 200]
        own_valkey.kill()
        answer = await line.ask(asked())
        assert (answer.status, answer.fields[b"x-cache"]) == (200, b"COLD")
        assert answer.body == HTML


async def test_a_store_that_answers_nonsense_does_not_keep_the_client_waiting(
    visiting: Visiting, own_valkey: Valkey
) -> None:
    async with visiting(redis_url=own_valkey.url) as visit, serving(visit) as served:
        line = await served.line()
        assert [(await line.ask(asked())).status for _ in range(2)] == [200, 200]
        client = Client(Address.parse(own_valkey.url))
        [record] = [name for name in await client.call("KEYS", "*") if b":key:key:" in name]
        await client.call("DEL", record)
        await client.call("RPUSH", record, "not a string")
        assert (await line.ask(asked())).status == 500
        await client.call("DEL", record)
        await client.close()
        assert (await line.ask(asked())).status == 200


async def test_a_client_that_leaves_during_its_ride_harms_nobody(served: Served) -> None:
    line = await served.line()
    assert [(await line.ask(asked())).status for _ in range(2)] == [200, 200]
    for _ in range(20):
        leaving = await served.line()
        leaving.writer.write(asked())
        leaving.writer.transport.abort()
    assert (await line.ask(asked())).status == 200


async def test_tickets_are_bounded(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.doors.http.express.MOST_TICKETS", 3)
    line = await served.line()
    for number in range(6):
        await line.ask(asked(ADMIN_KEY, f"X-Number: {number}"))
    watched = Watched(served.lane)
    for number in (0, 5):
        await line.ask(asked(ADMIN_KEY, f"X-Number: {number}"))
    assert watched.rode == 1
