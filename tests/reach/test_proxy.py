"""The browser's way out: who may use it, where it leads, what passes, and that all of it is bounded.

"Public" is 127.0.0.1; canaries listen on other loopback addresses, which must never see a connection.
"""

import asyncio
import base64
import io
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from ipaddress import ip_network

import pytest
from tests.site.canary import canaries, canary
from tests.site.dns import Clock, NameServer, Reply, name_server

from gossamer.observe.logs import Log
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import MIN_LIFETIME, Names
from gossamer.reach.proxy.credentials import Allowance, VisitCredentials, VisitRefusal
from gossamer.reach.proxy.proxy import Proxy, ProxyBounds

PLENTY = Allowance(max_bytes=10_000_000, max_requests=1_000)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def now() -> float:
    return asyncio.get_running_loop().time()


@pytest.fixture
async def dns() -> AsyncIterator[NameServer]:
    async with name_server() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def dialer(dns: NameServer, clock: Clock) -> AsyncIterator[Dialer]:
    names = Names([dns.address], limit=1.0, clock=clock)
    yield Dialer(names, allow=(ip_network("127.0.0.1/32"),), ports="*")
    await names.close()


@asynccontextmanager
async def opened(dialer: Dialer, bounds: ProxyBounds | None = None) -> AsyncIterator[Proxy]:
    proxy = Proxy(dialer, Log(io.StringIO()), bounds=bounds or ProxyBounds())
    await proxy.open()
    try:
        yield proxy
    finally:
        await proxy.close()


@pytest.fixture
async def proxy(dialer: Dialer) -> AsyncIterator[Proxy]:
    async with opened(dialer) as proxy:
        yield proxy


@pytest.fixture
async def visit(proxy: Proxy) -> VisitCredentials:
    return proxy.admit(PLENTY, now() + 30)


@dataclass
class Origin:
    """A server that answers what it is told to; what it was sent is kept."""

    port: int = 0
    connections: int = 0
    heads: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def origin(*answers: bytes, close: bool = False, body: int = 0) -> AsyncIterator[Origin]:
    """Gives `answers` in turn, the last one from then on, each after a head and a `body` of that length."""
    told = Origin()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.connections += 1
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            told.heads.append(head + (await reader.readexactly(body) if body else b""))
            writer.write(answers[min(len(told.heads), len(answers)) - 1])
            await writer.drain()
            if close:
                return

    async with serving(serve) as told.port:
        yield told


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[int]:
    tasks: set[asyncio.Task[None]] = set()

    async def safely(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handler(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.transport.abort() if task.cancelling() else writer.close()

    server = await asyncio.start_server(safely, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)


@dataclass
class Answer:
    status: int
    fields: dict[str, str]
    body: bytes = b""

    @property
    def reason(self) -> str | None:
        return self.fields.get("gossamer-refused")


class Browser:
    """One connection to the proxy, by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, first: str, *fields: str, body: bytes = b"", head_only: bool = False) -> Answer:
        self.send(first, *fields, body=body)
        return await self.answer(head_only=head_only)

    def send(self, first: str, *fields: str, body: bytes = b"") -> None:
        lines = (f"{first} HTTP/1.1", "Host: as.the.browser.says", *fields, "", "")
        self.writer.write("\r\n".join(lines).encode("latin-1") + body)

    async def answer(self, *, head_only: bool = False) -> Answer:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in head[1:-2])
        answer = Answer(int(head[0].split()[1]), {name.lower(): value.strip() for name, _, value in pairs})
        if answer.fields.get("transfer-encoding") == "chunked":
            while size := int((await self.reader.readline()).strip(), 16):
                answer.body += await self.reader.readexactly(size)
                await self.reader.readline()
            await self.reader.readline()
        elif not head_only:
            answer.body = await self.reader.readexactly(int(answer.fields.get("content-length", 0)))
        return answer

    async def ended(self) -> bytes:
        """What still comes until the proxy ends the connection, however it does."""
        try:
            async with asyncio.timeout(20):
                return await self.reader.read()
        except ConnectionError:
            return b""


@asynccontextmanager
async def browser(proxy: Proxy) -> AsyncIterator[Browser]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield Browser(reader, writer)
    finally:
        writer.close()


def credentials(visit: VisitCredentials, password: str | None = None) -> str:
    text = f"{visit.user}:{visit.password if password is None else password}"
    return f"Proxy-Authorization: Basic {base64.b64encode(text.encode()).decode()}"


# Who may.


async def test_without_a_visit_nothing_passes(proxy: Proxy, visit: VisitCredentials) -> None:
    expired = proxy.admit(PLENTY, now() + 0.01)
    closed = proxy.admit(PLENTY, now() + 30)
    closed.close()
    closed.close()
    while expired.alive:
        await asyncio.sleep(0.01)
    right = credentials(visit)
    wrong = [
        (),
        (credentials(visit, "guessed"),),
        (credentials(visit, ""),),
        (credentials(expired),),
        (credentials(closed),),
        ("Proxy-Authorization: Basic",),
        ("Proxy-Authorization: Basic ***",),
        ("Proxy-Authorization: Basic Og==",),
        (right.replace("Basic", "Bearer"),),
        (right.replace("Proxy-", ""),),
        (right, right),
    ]
    async with origin(OK) as site, canary("127.0.0.1") as bird, browser(proxy) as connection:
        for fields in wrong:
            for first in (f"CONNECT 127.0.0.1:{bird.port}", f"GET http://127.0.0.1:{site.port}/"):
                answer = await connection.ask(first, *fields)
                assert (answer.status, answer.reason) == (407, None), fields
                assert answer.fields["proxy-authenticate"].startswith("Basic ")
        assert (bird.connections, site.connections) == (0, 0)
        # The same connection, and the browser knows better now.
        assert (await connection.ask(f"GET http://127.0.0.1:{site.port}/", right)).status == 200
        assert (await connection.ask(f"CONNECT 127.0.0.1:{bird.port}", right)).status == 200
        assert await connection.ended() == b"hello"
    assert visit.requests == 2


async def test_a_connection_changes_visits_with_its_credentials(proxy: Proxy) -> None:
    one, two = (proxy.admit(PLENTY, now() + 30) for _ in range(2))
    async with origin(OK) as site, browser(proxy) as connection:
        for visit in (one, two, two):
            assert (
                await connection.ask(f"GET http://127.0.0.1:{site.port}/", credentials(visit))
            ).status == 200
        one.close()
        assert (await connection.ask(f"GET http://127.0.0.1:{site.port}/", credentials(two))).status == 200
        two.close()
        assert await connection.ended() == b""
    assert (one.requests, two.requests, site.connections) == (1, 3, 2)


# What passes.


async def test_heads_lose_what_is_not_for_the_other_end(proxy: Proxy, visit: VisitCredentials) -> None:
    answer = (
        b"HTTP/1.1 203 Fine\r\nContent-Length: 2\r\nX-Kept: yes\r\nKeep-Alive: timeout=5\r\n"
        b"Connection: X-Gone\r\nX-Gone: 1\r\nProxy-Authenticate: Basic\r\nGossamer-Refused: forged\r\n"
        b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nok"
    )
    async with origin(answer) as site, browser(proxy) as connection:
        told = await connection.ask(
            f"GET http://127.0.0.1:{site.port}/path?q=%20#fragment".replace("#fragment", ""),
            credentials(visit),
            "Proxy-Connection: keep-alive",
            "Connection: keep-alive, X-Mine",
            "X-Mine: secret",
            "TE: trailers",
            "Upgrade: h2c",
            "Authorization: Bearer the page's own",
            "Accept: */*",
        )
    assert site.heads == [
        f"GET /path?q=%20 HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n"
        "Authorization: Bearer the page's own\r\nAccept: */*\r\n\r\n".encode()
    ]
    assert (told.status, told.body) == (203, b"ok")
    assert told.fields == {"x-kept": "yes", "set-cookie": "b=2", "content-length": "2"}


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@pytest.mark.parametrize(
    ("answer", "close", "body"),
    [
        (HELLO, False, b"hello"),
        (CHUNKED + b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n", False, b"hello"),
        (CHUNKED + b"5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", False, b"hello"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", True, b"hello"),
        (b"HTTP/1.0 200 OK\r\n\r\nhello", True, b"hello"),
        (b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", False, b"hello"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + HELLO, False, b"hello"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", False, b""),
    ],
)
async def test_bodies_of_every_framing(
    answer: bytes, close: bool, body: bytes, proxy: Proxy, visit: VisitCredentials
) -> None:
    async with origin(answer, close=close) as site, browser(proxy) as connection:
        for _ in range(3):
            told = await connection.ask(f"GET http://127.0.0.1:{site.port}/", credentials(visit))
            assert told.status in (200, 204)
            assert told.body == body
    assert site.connections == (3 if close else 1)
    assert visit.received == 3 * len(answer)
    assert visit.sent == sum(map(len, site.heads))


async def test_head_and_not_modified_have_no_body(proxy: Proxy, visit: VisitCredentials) -> None:
    unmodified = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"
    async with origin(OK[:-2], unmodified, OK) as site, browser(proxy) as connection:
        url = f"http://127.0.0.1:{site.port}/"
        told = await connection.ask(f"HEAD {url}", credentials(visit), head_only=True)
        assert (told.status, told.fields["content-length"]) == (200, "2")
        told = await connection.ask(f"GET {url}", credentials(visit), head_only=True)
        assert (told.status, told.fields["content-length"]) == (304, "99")
        assert (await connection.ask(f"GET {url}", credentials(visit))).body == b"ok"


async def test_bodies_of_requests(proxy: Proxy, visit: VisitCredentials) -> None:
    async with origin(OK, body=5) as site, browser(proxy) as connection:
        url = f"http://127.0.0.1:{site.port}/"
        await connection.ask(f"POST {url}", credentials(visit), "Content-Length: 5", body=b"hello")
        # Without having seen the last of it, the origin may answer; the body still arrives whole.
        connection.send(f"PUT {url}", credentials(visit), "Content-Length: 5", body=b"he")
        await asyncio.sleep(0.05)
        connection.writer.write(b"llo")
        await connection.answer()
    assert [head.rpartition(b"\r\n\r\n")[2] for head in site.heads] == [b"hello", b"hello"]
    async with origin(OK, body=len(b"5\r\nhello\r\n0\r\n\r\n")) as site, browser(proxy) as connection:
        url = f"http://127.0.0.1:{site.port}/"
        chunks = b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
        await connection.ask(f"POST {url}", credentials(visit), "Transfer-Encoding: chunked", body=chunks)
        assert site.heads[0].endswith(b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n")


async def test_what_comes_after_an_answer_is_nobodys(proxy: Proxy, visit: VisitCredentials) -> None:
    """An origin cannot speak into the answer of another."""
    smuggled = OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    async with origin(smuggled) as bad, origin(OK) as good, browser(proxy) as connection:
        for site in (bad, good, bad, good):
            answer = await connection.ask(f"GET http://127.0.0.1:{site.port}/", credentials(visit))
            assert answer.body == b"ok"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "connection_closed"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not_http"),
        (b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "unexpected_upgrade"),
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n", "not_http"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello", "not_http"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "not_http"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "unknown_encoding"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20, "not_http"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, "headers_too_large"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 300 + b"\r\n", "headers_too_large"),
    ],
)  # fmt: skip
async def test_an_origin_that_makes_no_sense(
    answer: bytes, reason: str, proxy: Proxy, visit: VisitCredentials
) -> None:
    async with origin(answer, close=True) as site, browser(proxy) as connection:
        told = await connection.ask(f"GET http://127.0.0.1:{site.port}/", credentials(visit))
        assert (told.status, told.reason) == (502, reason)
        assert visit.refused == [VisitRefusal("127.0.0.1", site.port, reason, "FETCH_FAILED")]


async def test_an_answer_that_breaks_off_is_broken_off(proxy: Proxy, visit: VisitCredentials) -> None:
    for broken in (
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
    ):
        async with origin(broken, close=True) as site, browser(proxy) as connection:
            connection.send(f"GET http://127.0.0.1:{site.port}/", credentials(visit))
            assert not (await connection.ended()).endswith(b"0\r\n\r\n")


async def test_a_tunnel_carries_bytes_both_ways(proxy: Proxy, visit: VisitCredentials) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"first ")  # before a word of the browser's
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()

    sent = bytes(range(256)) * 8_000
    async with serving(echo) as port, browser(proxy) as connection:
        assert (await connection.ask(f"CONNECT 127.0.0.1:{port}", credentials(visit))).status == 200
        assert await connection.reader.readexactly(6) == b"first "
        connection.writer.write(sent)
        assert await connection.reader.readexactly(len(sent)) == sent
    assert (visit.sent, visit.received, visit.requests) == (len(sent), len(sent) + 6, 1)


# Where to.

SPELLINGS = [
    "127.0.0.2", "127.2", "0x7f.2", "0x7f000002", "0177.0.0.2", "2130706434", "017700000002", "127.0.0.2.",
    "%31%32%37.0.0.2", "127%2e0%2e0%2e2", "0", "[::1]", "[::]", "[::ffff:127.0.0.2]", "[::ffff:7f00:2]",
    "[64:ff9b::127.0.0.2]", "[fe80::1]", "localhost", "LOCALHOST", "localhost.", "a.localhost",
    "ip6-localhost", "metadata", "metadata.google.internal", "db.internal", "printer.local", "intranet",
]  # fmt: skip


async def test_every_spelling_of_a_forbidden_host_is_refused(
    proxy: Proxy, visit: VisitCredentials, dns: NameServer
) -> None:
    async with canaries("127.0.0.2", "::1") as birds, browser(proxy) as connection:
        port = birds[0].port
        for spelling in SPELLINGS:
            answer = await connection.ask(f"GET http://{spelling}:{port}/", credentials(visit))
            assert (answer.status, answer.reason) == (403, "hostname_blocked"), spelling
            answer = await connection.ask(f"CONNECT {spelling}:{port}", credentials(visit))
            assert (answer.status, answer.reason) == (403, "hostname_blocked"), spelling
    assert [bird.connections for bird in birds] == [0, 0]
    assert not dns.asked
    assert {refusal.code for refusal in visit.refused} == {"INVALID_URL"}


@pytest.mark.parametrize(
    "first",
    [
        "GET /",
        "GET *",
        "OPTIONS *",
        "GET https://127.0.0.1:{port}/",
        "GET ftp://127.0.0.1:{port}/",
        "GET file:///etc/passwd",
        "GET http:///",
        "GET http://user@127.0.0.1:{port}/",
        "GET http://127.0.0.1:{port}@127.0.0.2/",
        "GET http://127.0.0.1:{port}\\@127.0.0.2/",
        "GET http://127.0.0.1:{port}#@127.0.0.2/",
        "GET 127.0.0.1:{port}",
        "CONNECT 127.0.0.1",
        "CONNECT 127.0.0.1:",
        "CONNECT 127.0.0.1:0",
        "CONNECT 127.0.0.1:65536",
        "CONNECT http://127.0.0.1:{port}",
        "CONNECT user@127.0.0.1:{port}",
        "CONNECT 127.0.0.1:{port}/x",
        "CONNECT [::1:{port}",
        "BREW http://127.0.0.1:{port}/",
    ],
)
async def test_what_is_not_a_target_is_refused(first: str, proxy: Proxy, visit: VisitCredentials) -> None:
    async with canary("127.0.0.1") as bird, browser(proxy) as connection:
        answer = await connection.ask(first.format(port=bird.port), credentials(visit))
        assert answer.status in (400, 403)
        assert answer.reason in ("malformed", "invalid_url_format", "hostname_blocked")
    assert bird.connections == 0


async def test_why_a_target_cannot_be_had_is_told(dialer: Dialer, dns: NameServer) -> None:
    dns.say("site.test", ("127.0.0.1",))
    dns.say("inside.test", ("127.0.0.2",))
    dns.say("mixed.test", ("127.0.0.1", "127.0.0.2"))
    dns.say("mute.test", Reply(silent=True))
    async with opened(dialer) as proxy, canary("127.0.0.2") as bird:
        visit = proxy.admit(PLENTY, now() + 30)
        with closing(socket.socket()) as taken:
            taken.bind(("127.0.0.1", 0))  # and nobody listens
            for host, port, status, reason, code in (
                ("127.0.0.2", bird.port, 403, "hostname_blocked", "INVALID_URL"),
                ("inside.test", bird.port, 502, "dns_not_found", "FETCH_FAILED"),
                ("mixed.test", bird.port, 502, "dns_not_found", "FETCH_FAILED"),
                ("nowhere.test", bird.port, 502, "dns_not_found", "FETCH_FAILED"),
                ("mute.test", bird.port, 504, "dns", "FETCH_TIMEOUT"),
                ("site.test", taken.getsockname()[1], 502, "connection_refused", "FETCH_FAILED"),
            ):
                for first in (f"GET http://{host}:{port}/", f"CONNECT {host}:{port}"):
                    async with browser(proxy) as connection:
                        answer = await connection.ask(first, credentials(visit))
                        assert (answer.status, answer.reason) == (status, reason)
                        rule = "loopback" if code == "INVALID_URL" else ""
                        assert visit.refused[-1] == VisitRefusal(host, port, reason, code, rule)
    assert bird.connections == 0


async def test_ports_are_those_of_the_dialer() -> None:
    names = Names(["127.0.0.1:9"])
    async with (
        opened(Dialer(names, allow=(ip_network("127.0.0.1/32"),))) as proxy,
        browser(proxy) as connection,
    ):
        visit = proxy.admit(PLENTY, now() + 30)
        answer = await connection.ask("CONNECT 127.0.0.1:22", credentials(visit))
        assert (answer.status, answer.reason) == (403, "port_blocked")
    await names.close()


async def test_rebinding_in_both_orders(
    proxy: Proxy, visit: VisitCredentials, dns: NameServer, clock: Clock
) -> None:
    turns = [("127.0.0.1",), ("127.0.0.2",), ("127.0.0.1", "127.0.0.2"), ("127.0.0.1",), ("::1",)]
    dns.say("rebind.test", *turns)
    async with canaries("127.0.0.1", "127.0.0.2", "::1") as (public, *forbidden):
        for turn in turns:
            async with browser(proxy) as connection:
                first = f"CONNECT rebind.test:{public.port}"
                answer = await connection.ask(first, credentials(visit))
                assert answer.status == (200 if turn == ("127.0.0.1",) else 502)
            clock.now += MIN_LIFETIME
    assert public.connections == 2
    assert [bird.connections for bird in forbidden] == [0, 0]


# How much.


async def test_requests_and_hosts_of_a_visit_are_counted(proxy: Proxy, dns: NameServer) -> None:
    for number in range(3):
        dns.say(f"{number}.test", ("127.0.0.1",))
    visit = proxy.admit(Allowance(10_000, max_requests=3, max_hosts=2), now() + 30)
    async with origin(OK) as site, browser(proxy) as connection:

        async def ask(host: str) -> tuple[int, str | None]:
            answer = await connection.ask(f"GET http://{host}:{site.port}/", credentials(visit))
            return answer.status, answer.reason

        assert await ask("0.test") == (200, None)
        assert await ask("1.test") == (200, None)
        assert await ask("2.test") == (502, "too_many_hosts")
        assert await ask("0.test") == (200, None)
        assert await ask("0.test") == (502, "too_many_requests")
    assert (visit.requests, visit.exceeded, len(visit.refused)) == (3, "too_many_hosts", 2)


async def test_refusals_that_are_remembered_are_bounded(proxy: Proxy, visit: VisitCredentials) -> None:
    async with browser(proxy) as connection:
        for number in range(240):
            await connection.ask(f"GET http://127.0.0.2:{1 + number // 2}/", credentials(visit))
    assert (len(visit.refused), visit.refusals) == (100, 240)


async def test_bytes_of_a_visit_are_counted_over_all_its_connections(proxy: Proxy) -> None:
    all_stand = asyncio.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await all_stand.wait()
        while True:
            writer.write(bytes(65536))
            await writer.drain()

    visit = proxy.admit(Allowance(max_bytes=3_000_000, max_requests=10), now() + 30)
    other = proxy.admit(PLENTY, now() + 30)
    async with serving(flood) as port, browser(proxy) as one, browser(proxy) as two, browser(proxy) as third:
        assert (await third.ask(f"CONNECT 127.0.0.1:{port}", credentials(other))).status == 200
        for connection in (one, two):
            assert (await connection.ask(f"CONNECT 127.0.0.1:{port}", credentials(visit))).status == 200
        all_stand.set()
        taken = await asyncio.gather(one.ended(), two.ended())
        assert sum(map(len, taken)) <= 3_000_000 + 2 * 262_144
        assert (visit.exceeded, visit.alive, other.alive) == ("too_many_bytes", False, True)
        await third.reader.readexactly(65536)
        async with browser(proxy) as late:
            assert (await late.ask(f"CONNECT 127.0.0.1:{port}", credentials(visit))).status == 407


async def test_who_does_not_read_is_not_read_for(proxy: Proxy, visit: VisitCredentials) -> None:
    """Both ways: what the proxy holds for a slow reader is bounded."""
    written = [0]

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while written[0] < 60_000_000:
            writer.write(bytes(65536))
            await writer.drain()
            written[0] += 65536

    async def stalled(progress: Callable[[], int]) -> int:
        seen = -1
        while progress() != seen:
            seen = progress()
            await asyncio.sleep(0.2)
        return seen

    big = proxy.admit(Allowance(10**9, 10), now() + 30)
    async with serving(flood) as port:
        for first in (f"GET http://127.0.0.1:{port}/", f"CONNECT 127.0.0.1:{port}"):
            written[0] = 0
            async with browser(proxy) as connection:
                connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
                connection.send(first, credentials(big))
                assert await stalled(lambda: written[0]) < 40_000_000
                assert big.received < 40_000_000
            big.received = 0

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await writer.wait_closed()

    async with serving(deaf) as port, browser(proxy) as connection:
        await connection.ask(f"CONNECT 127.0.0.1:{port}", credentials(big))
        before = big.sent
        connection.writer.write(bytes(60_000_000))
        assert await stalled(lambda: big.sent) - before < 40_000_000
        big.close()


# When.


async def test_a_visits_end_cuts_all_it_has_open(proxy: Proxy) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent) as port, browser(proxy) as one, browser(proxy) as two, browser(proxy) as idle:
        for end in ("close", "deadline"):
            visit = proxy.admit(PLENTY, now() + (30 if end == "close" else 0.2))
            async with browser(proxy) as tunnel, browser(proxy) as asking, browser(proxy) as kept:
                await kept.ask("GET http://127.0.0.2/", credentials(visit))
                await tunnel.ask(f"CONNECT 127.0.0.1:{port}", credentials(visit))
                asking.send(f"GET http://127.0.0.1:{port}/", credentials(visit))
                while visit.requests < 3:
                    await asyncio.sleep(0.01)
                if end == "close":
                    visit.close()
                for connection in (tunnel, asking, kept):
                    assert await connection.ended() == b""
                assert not visit.alive
        await proxy.close()
        for connection in (one, two, idle):
            assert await connection.ended() == b""


async def test_a_visit_that_ends_while_it_is_dialled_for(
    proxy: Proxy, visit: VisitCredentials, dns: NameServer
) -> None:
    dns.say("mute.test", Reply(silent=True))
    async with browser(proxy) as connection:
        connection.send("CONNECT mute.test:443", credentials(visit))
        while not dns.asked:
            await asyncio.sleep(0.01)
        visit.close()
        assert await connection.ended() == b""


async def test_dawdlers_and_the_silent_are_cut(dialer: Dialer) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    bounds = ProxyBounds(head_seconds=1.0, idle_seconds=1.5, sweep_seconds=0.05)
    async with opened(dialer, bounds) as proxy, serving(silent) as port:
        visit = proxy.admit(PLENTY, now() + 30)
        async with browser(proxy) as slow, browser(proxy) as mute, browser(proxy) as tunnel:
            await tunnel.ask(f"CONNECT 127.0.0.1:{port}", credentials(visit))
            slow.writer.write(b"GET http://127.0.0.1/ HTTP/1.1\r\n")
            dripping = asyncio.create_task(drip(slow))
            for connection in (slow, mute, tunnel):
                assert await connection.ended() == b""
            await dripping
        assert visit.alive


async def drip(connection: Browser) -> None:
    """A byte at a time, which keeps it from being silent."""
    while not connection.reader.at_eof():
        connection.writer.write(b"x")
        await asyncio.sleep(0.05)


async def test_sizes_and_numbers_are_bounded(dialer: Dialer) -> None:
    bounds = ProxyBounds(head_bytes=4096, connections=3)
    async with opened(dialer, bounds) as proxy:
        for head in (b"GET http://127.0.0.1/" + b"x" * 9000, b"GET http://a/ HTTP/1.1\r\nX: " + b"x" * 9000):
            async with browser(proxy) as connection:
                connection.writer.write(head)
                assert (await connection.answer()).status == 431
        for nonsense in (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET\r\n\r\n", b"\0" * 100):
            async with browser(proxy) as connection:
                connection.writer.write(nonsense)
                assert (await connection.answer()).status == 400
        async with browser(proxy) as one, browser(proxy) as two, browser(proxy) as three:
            for connection in (one, two, three):
                assert (await connection.ask("GET http://127.0.0.1/")).status == 407
            async with browser(proxy) as fourth:
                assert await fourth.ended() == b""
            assert (await one.ask("GET http://127.0.0.1/")).status == 407


async def test_nobody_speaks_before_his_turn(proxy: Proxy, visit: VisitCredentials) -> None:
    async with origin(OK) as site:
        for first in (f"CONNECT 127.0.0.1:{site.port}", f"GET http://127.0.0.1:{site.port}/"):
            async with browser(proxy) as connection:
                connection.send(first, credentials(visit), body=b"GET / HTTP/1.1\r\n\r\n")
                assert b"200" not in await connection.ended()
