"""The fast path: its answers equal those of the ordinary path, and it lets nothing past the checks."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from tests.doors.services import ADMIN_KEY, PUBLIC_URL, Visit, Visiting
from tests.servers.valkey import Valkey

from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.server.fast_path import (
    CHANGING,
    Done,
    Fallback,
    FastAnswer,
    HitFastPath,
    PreparedAnswer,
)
from gossamer.doors.http.server.fast_path_protocol import fast_path_protocol
from gossamer.doors.http.server.request_shape import PlainRequest
from gossamer.doors.http.server.server import server
from gossamer.flows.render.render import page_key
from gossamer.flows.tenants import keys
from gossamer.flows.tenants.admit import key_record
from gossamer.flows.tenants.keys import NewKey
from gossamer.flows.tenants.people import NewUser
from gossamer.flows.tenants.sign_in import caller_of
from gossamer.state.kv.resp import RespClient
from gossamer.state.kv.resp_address import Address
from gossamer.state.pages.cached_page import CachedPage
from gossamer.state.pages.page_key import PageKey
from gossamer.state.tenants import tenants
from gossamer.state.tenants.activity import Actor
from gossamer.web.url.url import Url

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
        async with asyncio.timeout(60):
            first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).rstrip().split(b"\r\n")
            fields = dict(line.split(b": ", 1) for line in lines)
            body = await self.reader.readexactly(int(fields.get(b"content-length", b"0")))
        return Answer(int(first.split()[1]), fields, body)


@dataclass(frozen=True)
class Served:
    visit: Visit
    fast_path: HitFastPath
    port: int
    key: PageKey
    lines: list[Line] = field(default_factory=list)

    async def line(self) -> Line:
        self.lines.append(Line(*await asyncio.open_connection("127.0.0.1", self.port)))
        return self.lines[-1]

    async def keep(self, html: bytes = HTML, age: float = 0.0) -> None:
        rendered_at = round((time.time() - age) * 1000)
        await self.visit.service.page_cache.put(
            self.key, CachedPage.of(html, url=URL, rendered_at=rendered_at)
        )


@asynccontextmanager
async def serving(visit: Visit) -> AsyncIterator[Served]:
    service = visit.service
    fast_path = service.fast_path()
    listening = socket.create_server(("127.0.0.1", 0))
    running = server(service.app(), fast_path_protocol(fast_path))
    task = asyncio.create_task(running.serve(sockets=[listening]))
    caller = await service.admission.identify(ADMIN_KEY)
    key = page_key(caller.tenant_id, Url.parse(URL))
    served = Served(visit, fast_path, listening.getsockname()[1], key)
    await served.keep()
    try:
        yield served
    finally:
        for line in served.lines:
            line.writer.close()
        await asyncio.gather(*(line.writer.wait_closed() for line in served.lines), return_exceptions=True)
        running.stop()
        await task


@pytest.fixture
async def served(visit_on_each_hot: Visit) -> AsyncIterator[Served]:
    async with serving(visit_on_each_hot) as opened:
        yield opened


def lasting(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if name not in CHANGING}


def left(answer: Answer, policy: str) -> int:
    """How much of a policy an answer says to be left."""
    told = dict(part.strip().split(";", 1) for part in answer.fields[b"ratelimit"].decode().split(", "))
    return int(told[f'"{policy}"'].split(";")[0].removeprefix("r="))


class Watched:
    """How many requests the fast path answered, and how many it sent back to the ordinary path."""

    def __init__(self, fast_path: HitFastPath, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answered = self.fell_back = 0
        self._answer = fast_path.answer
        monkeypatch.setattr(HitFastPath, "answer", lambda _, *arguments: self._watch(*arguments))

    def _watch(self, prepared: PreparedAnswer, peer: str, request: PlainRequest, done: Done) -> None:
        def count(answer: FastAnswer | Fallback) -> None:
            if isinstance(answer, FastAnswer):
                self.answered += 1
            else:
                self.fell_back += 1
            done(answer)

        self._answer(prepared, peer, request, count)


@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_the_second_time_says_the_same(
    served: Served, coding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    request = asked(ADMIN_KEY, f"Accept-Encoding: {coding}")
    ordinary, fast = [await line.ask(request) for _ in range(2)]
    assert (watched.answered, watched.fell_back) == (1, 0)
    assert ordinary.status == fast.status == 200
    assert ordinary.body == fast.body
    assert set(ordinary.fields) == set(fast.fields)
    assert lasting(ordinary.fields) == lasting(fast.fields)
    assert ordinary.fields[b"x-request-id"] != fast.fields[b"x-request-id"]
    assert left(ordinary, "hits-pro") - left(fast, "hits-pro") == 1
    assert ordinary.fields[b"ratelimit-policy"] == fast.fields[b"ratelimit-policy"]


async def test_a_new_connection_for_each_request_is_served_and_closed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    answers = []
    for _ in range(3):
        line = await served.line()
        answers.append(await line.ask(asked(ADMIN_KEY, "Connection: close")))
        assert await line.reader.read() == b""  # closed
    assert (watched.answered, watched.fell_back) == (2, 0)
    ordinary, *fast = answers
    assert {answer.body for answer in answers} == {HTML}
    assert [lasting(answer.fields) for answer in fast] == [lasting(ordinary.fields)] * 2
    assert ordinary.fields[b"connection"] == b"close"
    line = await served.line()
    kept = [await line.ask(asked()) for _ in range(2)]
    assert all(b"connection" not in answer.fields for answer in kept)


async def test_a_304_is_repeated(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    line = await served.line()
    known = (await line.ask(asked())).fields[b"etag"].decode()
    watched = Watched(served.fast_path, monkeypatch)
    request = asked(ADMIN_KEY, f"If-None-Match: {known}")
    ordinary, fast = [await line.ask(request) for _ in range(2)]
    assert (watched.answered, watched.fell_back) == (1, 0)
    assert ordinary.status == fast.status == 304
    assert ordinary.body == fast.body == b""
    assert set(ordinary.fields) == set(fast.fields)
    assert lasting(ordinary.fields) == lasting(fast.fields)
    await served.keep(HTML + b"<p>New.")
    assert (await line.ask(request)).status == 200


async def test_it_is_logged_measured_and_counted_like_any_other(served: Served) -> None:
    line = await served.line()
    for _ in range(3):
        await line.ask(asked())
    lines = [entry for entry in served.visit.logged("request") if entry["endpoint"] == "/api/render"]
    assert len(lines) == 3
    ordinary, *fast = [
        {name: value for name, value in entry.items() if name not in ("timestamp", "requestId", "duration")}
        for entry in lines
    ]
    assert fast == [ordinary, ordinary]
    text = served.visit.service.metrics.exposition.text()[0].decode()
    assert 'gossamer_page_cache_total{event="hot"} 3.0' in text
    caller = await served.visit.service.admission.identify(ADMIN_KEY)
    await served.visit.service.usage.flush()
    report = await served.visit.service.usage.report(caller.tenant_id)
    assert report.totals.hits == 3


async def test_a_disabled_key_gets_no_fast_answer(served: Served) -> None:
    secret = await served.visit.key()
    key = page_key((await served.visit.service.admission.identify(secret)).tenant_id, Url.parse(URL))
    await served.visit.service.page_cache.put(key, CachedPage.of(HTML, url=URL, rendered_at=1))
    line = await served.line()
    request = asked(secret)
    assert [(await line.ask(request)).status for _ in range(2)] == [200, 200]
    service = served.visit.service
    caller = await service.admission.identify(secret)
    async with service.database.write() as connection:
        disabled = await keys.disable(connection, caller.key_id, Actor("test"))
    await service.admission.refresh(disabled)
    refused = await line.ask(request)
    assert refused.status == 403
    assert json.loads(refused.body)["code"] == "KEY_DISABLED"


async def test_a_session_takes_the_ordinary_path(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may end at any moment, and the fast path does not look it up."""
    service = served.visit.service
    new = NewUser(email="person@example.com", role="admin", tenant="admin@localhost")
    opened = await service.sign_in.by_link(
        (await service.people.add(new, Actor("test"))).token, "several words in a row", Actor("test")
    )
    cookie = f"Cookie: {SessionCookie.of(PUBLIC_URL).name}={opened.secret}"
    request = asked("", cookie, f"X-CSRF-Token: {opened.session.csrf_secret}").replace(
        b"Authorization: Bearer \r\n", b""
    )
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    assert [(await line.ask(request)).status for _ in range(3)] == [200, 200, 200]
    assert (watched.answered, watched.fell_back) == (0, 0)
    await service.sign_in.sign_out(opened.secret, caller_of(opened.session), Actor("test"))
    assert (await line.ask(request)).status == 401


@pytest.mark.parametrize("hot_knows", [True, False])
async def test_an_expired_key_gets_no_fast_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch, hot_knows: bool
) -> None:
    service, end = served.visit.service, datetime(2100, 1, 1, tzinfo=UTC)
    new = NewKey(email="someone@example.com", expires_at=end)
    issued = await service.keys.create(new, Actor("test"))
    key = page_key(issued.key.tenant_id, Url.parse(URL))
    await service.page_cache.put(key, CachedPage.of(HTML, url=URL, rendered_at=1))
    line = await served.line()
    watched = Watched(served.fast_path, monkeypatch)
    assert [(await line.ask(asked(issued.secret))).status for _ in range(3)] == [200] * 3
    assert watched.answered == 2
    monkeypatch.setattr(service.admission, "_clock", end.timestamp)
    if not hot_knows:
        await service.hot.drop(key_record(issued.key.hash))
    refused = await line.ask(asked(issued.secret))
    assert (refused.status, json.loads(refused.body)["details"]) == (403, {"reason": "expired"})
    assert watched.answered == 2


async def test_a_key_that_hot_forgot_is_looked_up_once_for_all(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hot believes it for some seconds. Then many requests at once share one query."""
    admission, looked = served.visit.service.admission, 0
    look_up = admission._look_up

    async def counted(digest: str) -> tenants.Key | None:
        nonlocal looked
        looked += 1
        return await look_up(digest)

    monkeypatch.setattr(admission, "_look_up", counted)
    lines = [await served.line() for _ in range(8)]
    await lines[0].ask(asked())
    watched = Watched(served.fast_path, monkeypatch)
    for round_ in (1, 2):
        looked = 0
        assert await served.visit.service.hot.drop(key_record(tenants.key_hash(ADMIN_KEY))) == 1
        answers = await asyncio.gather(*(line.ask(asked()) for line in lines))
        assert [answer.status for answer in answers] == [200] * 8
        assert (watched.answered, watched.fell_back) == (8 * round_, 0)
        # On one connection to Hot nobody can ask after the answer is kept, and not know of it.
        assert looked == 1
    assert len({left(answer, "hits-pro") for answer in answers}) == 8  # each was counted once


async def test_a_key_that_hot_forgot_and_was_disabled_elsewhere_gets_no_fast_answer(served: Served) -> None:
    service = served.visit.service
    secret = await served.visit.key()
    caller = await service.admission.identify(secret)
    key = page_key(caller.tenant_id, Url.parse(URL))
    await service.page_cache.put(key, CachedPage.of(HTML, url=URL, rendered_at=1))
    line = await served.line()
    assert [(await line.ask(asked(secret))).status for _ in range(2)] == [200, 200]
    async with service.database.write() as connection:
        await keys.disable(connection, caller.key_id, Actor("test"))
    await service.hot.drop(key_record(tenants.key_hash(secret)))
    refused = await line.ask(asked(secret))
    assert json.loads(refused.body)["code"] == "KEY_DISABLED"


async def test_a_connection_stays_open_as_long_after_a_fast_answer_as_after_any_other(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.doors.http.server.server.KEEP_ALIVE_SECONDS", 1)
    async with visiting() as visit, serving(visit) as served:
        watched = Watched(served.fast_path, monkeypatch)
        line = await served.line()
        await line.ask(asked())
        await asyncio.sleep(0.5)  # so that the timer that was set then goes off after the fast answer
        await line.ask(asked())
        answered_at = time.monotonic()
        assert watched.answered == 1
        async with asyncio.timeout(20):
            assert await line.reader.read() == b""
        assert time.monotonic() - answered_at > 0.9


async def test_a_connection_whose_first_request_takes_the_fast_path_is_not_taken_for_silent(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with visiting() as visit, serving(visit) as served:
        await (await served.line()).ask(asked())
        monkeypatch.setattr("gossamer.doors.http.server.protocol.HEAD_SECONDS", 1.0)
        watched = Watched(served.fast_path, monkeypatch)
        line = await served.line()
        await line.ask(asked())
        assert watched.answered == 1
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await line.reader.read()
        assert (await line.ask(asked())).status == 200


async def test_a_deleted_page_is_gone_and_a_new_one_is_served(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    assert [(await line.ask(asked())).status for _ in range(2)] == [200, 200]
    await served.keep(b"<title>Another</title>" + HTML)
    again = await line.ask(asked())
    assert again.body.startswith(b"<title>Another</title>")
    assert (watched.answered, watched.fell_back) == (1, 1)
    assert (await line.ask(asked())).body == again.body
    assert (watched.answered, watched.fell_back) == (2, 1)  # there is a new prepared answer
    await served.visit.service.page_cache.drop(served.key)
    for _ in range(2):
        gone = await line.ask(asked())
        assert (gone.status, gone.fields[b"x-cache"]) == (202, b"MISS")
    assert watched.fell_back == 2  # the old one was discarded


async def test_an_old_page_takes_the_ordinary_path(served: Served) -> None:
    await served.keep(age=100.0)
    line = await served.line()
    fresh = asked(maxAge=1_000)
    assert [(await line.ask(fresh)).status for _ in range(2)] == [200, 200]
    await served.keep(age=2_000.0)
    assert (await line.ask(fresh)).status == 202


async def test_a_fallback_is_counted_once(served: Served) -> None:
    line = await served.line()
    hits = [await line.ask(asked()) for _ in range(2)]
    assert [left(answer, "hits-pro") for answer in hits] == [5_999, 5_998]
    await served.visit.service.page_cache.drop(served.key)
    missed = await line.ask(asked())  # which turns out to be work, and no hit
    assert (missed.status, left(missed, "admin")) == (202, 499)
    await served.keep()
    assert left(await line.ask(asked()), "hits-pro") == 5_997


async def test_the_limit_holds(visiting: Visiting) -> None:
    async with visiting(limit_hits_pro="3/3600", limit_admin="1/3600") as visit, serving(visit) as served:
        line = await served.line()
        answers = [await line.ask(asked()) for _ in range(5)]
        await visit.service.usage.flush()
        report = await visit.service.usage.report(served.key.tenant)
    assert [answer.status for answer in answers] == [200, 200, 200, 429, 429]
    assert json.loads(answers[-1].body)["details"]["policy"] == "hits-pro"
    assert report.totals.hits == 3  # what was refused was not served


async def test_fields_that_the_answer_does_not_depend_on_do_not_matter(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every proxy adds some of its own, with another value for each request."""
    watched = Watched(served.fast_path, monkeypatch)
    first = await (await served.line()).ask(asked())
    for number in range(10):
        line = await served.line()
        fields = (
            f"X-Request-Id: {number}",
            f"User-Agent: bot/{number}",
            f"X-Forwarded-For: 192.0.2.{number}",
        )
        answer = await line.ask(asked(ADMIN_KEY, *fields[: number % 4]))
        assert (answer.status, answer.body) == (200, first.body)
        assert lasting(answer.fields) == lasting(first.fields)
    assert (watched.answered, watched.fell_back) == (10, 0)


async def test_the_client_behind_a_trusted_proxy_is_logged(visiting: Visiting) -> None:
    async with visiting(trusted_proxies="127.0.0.0/8") as visit, serving(visit) as served:
        line = await served.line()
        for number in range(3):
            await line.ask(asked(ADMIN_KEY, f"X-Forwarded-For: 192.0.2.{number}"))
        logged = [entry["client"] for entry in visit.logged("request") if entry["endpoint"] == "/api/render"]
    assert logged == ["192.0.2.0", "192.0.2.1", "192.0.2.2"]


def asked_by_robot(*fields: str) -> bytes:
    head = [f"GET /prerender/{URL} HTTP/1.1", "Host: a.example", f"X-Prerender-Token: {ADMIN_KEY}", *fields]
    return "\r\n".join(head).encode() + b"\r\n\r\n"


async def test_a_robot_at_the_door_for_clients_of_prerender_is_answered_at_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    first, *others = [
        await line.ask(asked_by_robot("User-Agent: bot/1", f"traceparent: 00-{number:032x}-{number:016x}-01"))
        for number in range(1, 5)
    ]
    assert (watched.answered, watched.fell_back) == (3, 0)
    assert {answer.body for answer in others} == {first.body}
    assert all(lasting(answer.fields) == lasting(first.fields) for answer in others)
    assert set(others[0].fields) == set(first.fields)  # none of our own
    assert left(await line.ask(asked()), "hits-pro") == 5_995
    await served.keep(HTML.replace(b"A shop", b"Another shop"))
    assert b"Another shop" in (await line.ask(asked_by_robot("User-Agent: bot/1"))).body
    assert watched.fell_back == 1
    assert left(await line.ask(asked(maxAge=1_000)), "hits-pro") == 5_993  # it was counted once


async def test_a_body_sent_apart_from_its_head_takes_the_fast_path(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    monkeypatch.setattr("gossamer.doors.http.server.fast_path_protocol.REST_SECONDS", 30.0)
    line = await served.line()
    head, _, body = asked().partition(b"\r\n\r\n")
    for _ in range(2):
        line.writer.write(head + b"\r\n\r\n")
        await line.writer.drain()
        await asyncio.sleep(0.01)
        line.writer.write(body)
        assert (await line.answer()).body == HTML
    assert watched.answered == 1


async def test_a_body_that_does_not_come_at_once_is_awaited_by_the_parser(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.doors.http.server.fast_path_protocol.REST_SECONDS", 0.0)
    monkeypatch.setattr("gossamer.doors.http.server.protocol.BODY_SECONDS", 0.2)
    line = await served.line()
    line.writer.write(asked().partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
    answer = await line.answer()
    assert (answer.status, json.loads(answer.body)["code"]) == (408, "REQUEST_TIMEOUT")


@pytest.mark.parametrize(
    "field",
    [
        "X-Odd : 1",
        " X-Folded: 1",
        "X-Odd: 1\n X-Folded: 2",
        "X-Odd: \x00",
        "No colon",
        "Transfer-Encoding: chunked",
        "Content-Length: 1",
        "Authorization: Bearer another",
        "Host: another.example",
    ],
)
async def test_a_head_that_can_be_read_in_two_ways_is_refused(served: Served, field: str) -> None:
    known = await served.line()
    assert [(await known.ask(asked())).status for _ in range(2)] == [200, 200]
    line = await served.line()
    assert (await line.ask(asked(ADMIN_KEY, field))).status == 400


async def test_more_fields_than_are_allowed_are_refused(served: Served) -> None:
    line = await served.line()
    assert [(await line.ask(asked())).status for _ in range(2)] == [200, 200]
    assert (await line.ask(asked(ADMIN_KEY, *["X: 1"] * 120))).status == 431


async def test_another_shape_takes_the_ordinary_path(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    first = await line.ask(asked())
    await line.ask(asked())
    assert watched.answered == 1
    known = first.fields[b"etag"].decode()
    assert (await line.ask(asked(ADMIN_KEY, f"If-None-Match: {known}"))).status == 304
    assert (await line.ask(asked("sk_live_somebody-else-0123456789abcdef"))).status == 401
    assert (await line.ask(asked(keepScripts=True))).status == 202
    again = [await line.ask(asked(ADMIN_KEY, "Idempotency-Key: 0123456789abcdef")) for _ in range(2)]
    assert [answer.fields.get(b"x-idempotent-replayed") for answer in again] == [None, b"true"]
    assert watched.answered == 1


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


async def test_without_hot_the_ordinary_path_serves_from_cold(visiting: Visiting, own_valkey: Valkey) -> None:
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
        client = RespClient(Address.parse(own_valkey.url))
        [record] = [name for name in await client.call("KEYS", "*") if b":key:key:" in name]
        await client.call("DEL", record)
        await client.call("RPUSH", record, "not a string")
        assert (await line.ask(asked())).status == 500
        await client.call("DEL", record)
        await client.close()
        assert (await line.ask(asked())).status == 200


async def test_a_store_that_has_lost_its_scripts_is_given_them_again(
    visiting: Visiting, own_valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with visiting(redis_url=own_valkey.url) as visit, serving(visit) as served:
        watched = Watched(served.fast_path, monkeypatch)
        line = await served.line()
        assert [(await line.ask(asked())).status for _ in range(2)] == [200, 200]
        client = RespClient(Address.parse(own_valkey.url))
        await client.call("SCRIPT", "FLUSH")
        await client.close()
        answers = [await line.ask(asked()) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200]
    assert [left(answer, "hits-pro") for answer in answers] == [5_997, 5_996]
    assert (watched.answered, watched.fell_back) == (2, 1)


async def test_a_client_that_leaves_during_its_request_disturbs_no_other(served: Served) -> None:
    line = await served.line()
    assert [(await line.ask(asked())).status for _ in range(2)] == [200, 200]
    for _ in range(20):
        leaving = await served.line()
        leaving.writer.write(asked())
        leaving.writer.transport.abort()
    assert (await line.ask(asked())).status == 200


async def test_prepared_answers_are_bounded_in_bytes(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.doors.http.server.fast_path.MAX_PREPARED_BYTES", 3 * 10_000)
    line = await served.line()
    for number in range(6):
        await line.ask(asked(maxAge=1_000 + number))
    watched = Watched(served.fast_path, monkeypatch)
    for number in range(6):
        await line.ask(asked(maxAge=1_000 + number))
    assert 1 <= watched.answered <= 3
    monkeypatch.setattr("gossamer.doors.http.server.fast_path.MAX_PREPARED_BYTES", 3_000)
    await line.ask(asked(maxAge=7))  # does not fit at all
    assert (await line.ask(asked(maxAge=7))).status == 200


async def test_more_shapes_than_fit_do_not_push_each_other_out(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for in turns, as by one who reads all pages again, and beside one that is always asked."""
    monkeypatch.setattr("gossamer.doors.http.server.fast_path.MAX_PREPARED_BYTES", 4 * 10_000)
    line = await served.line()
    for number in range(8):
        await line.ask(asked(maxAge=1_000 + number))
    watched = Watched(served.fast_path, monkeypatch)
    for number in range(8 * 4):
        await line.ask(asked(maxAge=1_000 + number % 8))
    assert watched.answered >= 8
    for _ in range(40):  # something new comes to stay
        await line.ask(asked(maxAge=5))
        await line.ask(asked(maxAge=1_000))
    watched = Watched(served.fast_path, monkeypatch)
    for number in range(8):
        await line.ask(asked(maxAge=2_000 + number))
        await line.ask(asked(maxAge=5))
    assert watched.answered >= 7
