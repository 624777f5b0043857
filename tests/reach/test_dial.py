"""The fence: what is connected to, what is refused, and that nothing is left behind.

"Public" is what `allow` opens, 127.0.0.1; the other loopback addresses are forbidden, and the canaries that
listen there must never see a connection.
"""

import asyncio
import errno
import io
import os
import resource
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import Any

import msgspec
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from tests.site.canary import canaries, canary, full, reserved_port, silent
from tests.site.dns import Clock, NameServer, Reply, name_server

from gossamer import problems
from gossamer.observe.logs import Log, concerning
from gossamer.problems import FETCH_FAILED, FETCH_TIMEOUT, INVALID_URL, Problem, ProblemKind, Unavailable
from gossamer.reach.net.dial import Dialer, DialLimits, client_context
from gossamer.reach.net.names import MIN_LIFETIME, Names
from gossamer.web.url.url import Url

HERE = (ip_network("127.0.0.1/32"),)
PATIENCE = 30.0  # seconds for what must go well, also on a starved machine


class Greeting(asyncio.Protocol):
    """Reads until the other side ends."""

    def __init__(self) -> None:
        self.received = b""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self.received += data

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


Dialed = tuple[asyncio.Transport, Greeting]


async def dial(
    dialer: Dialer, host: str, port: int, *, tls: bool = False, seconds: float = PATIENCE
) -> Dialed:
    deadline = asyncio.get_running_loop().time() + seconds
    return await dialer.dial(host, port, tls=tls, deadline=deadline, protocol_factory=Greeting)


async def greeted(dialer: Dialer, host: str, port: int, *, tls: bool = False) -> str:
    """Connect, read the greeting, and tell the address it came from."""
    transport, greeting = await dial(dialer, host, port, tls=tls)
    peer: str = transport.get_extra_info("peername")[0]
    await greeting.ended
    transport.abort()
    assert greeting.received == b"hello"
    return peer


async def refusal(attempt: Awaitable[Any], kind: ProblemKind) -> dict[str, Any]:
    with pytest.raises(Problem) as caught:
        await attempt
    assert caught.value.kind is kind, caught.value
    details: dict[str, Any] = caught.value.members["details"]
    return details


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


@pytest.fixture
def dialer(names: Names) -> Dialer:
    return Dialer(names, allow=HERE, ports="*")


def open_files() -> set[tuple[str, int]]:
    found = set()
    for number in os.listdir("/dev/fd"):
        with suppress(OSError):  # the one that the listing itself was read through
            found.add((number, os.fstat(int(number)).st_ino))
    return found


async def only(before: set[tuple[str, int]]) -> bool:
    """Whether, within a second, nothing is open that was not before."""
    for _ in range(100):
        if open_files() <= before:
            return True
        await asyncio.sleep(0.01)
    return False


# Going out.


async def test_an_address_is_connected_to(dialer: Dialer) -> None:
    async with canary("127.0.0.1") as bird:
        assert await greeted(dialer, "127.0.0.1", bird.port) == "127.0.0.1"
        assert await greeted(dialer, "[::ffff:7f00:1]", bird.port) == "127.0.0.1"
    assert bird.connections == 2


async def test_a_name_is_resolved_once_and_its_address_connected_to(dialer: Dialer, dns: NameServer) -> None:
    dns.say("site.test", ("127.0.0.1",))
    async with canary("127.0.0.1") as bird:
        assert await greeted(dialer, "site.test", bird.port) == "127.0.0.1"
        assert await greeted(dialer, "site.test.", bird.port) == "127.0.0.1"
    assert dns.count("site.test") == 1


async def test_ipv6(names: Names, dns: NameServer) -> None:
    dns.say("six.test", ("::1",))
    dialer = Dialer(names, allow=(ip_network("::1/128"),), ports="*")
    async with canary("::1") as bird:
        assert await greeted(dialer, "[::1]", bird.port) == "::1"
        assert await greeted(dialer, "six.test", bird.port) == "::1"


# The fence.

SPELLINGS = [
    "127.0.0.1",
    "127.0.0.2",
    "127.1",
    "0x7f.1",
    "0x7f000001",
    "0177.0.0.1",
    "2130706433",
    "017700000001",
    "127.0.0.1.",
    "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "0",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[::ffff:0:127.0.0.1]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[ff02::1]",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "local\thost",
    "local\u00adhost",
    "ip6-localhost",
    "metadata",
    "metadata.google.internal",
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "168.63.129.16",
    "db.internal",
    "printer.local",
    "intranet",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_every_spelling_of_a_forbidden_host_is_refused(
    spelling: str, names: Names, dns: NameServer
) -> None:
    dialer = Dialer(names, ports="*")
    async with canaries("127.0.0.1", "127.0.0.2", "::1") as birds:
        url = Url.parse(f"http://{spelling}:{birds[0].port}/")
        details = await refusal(dial(dialer, url.host, url.port), INVALID_URL)
        assert details["reason"] == "hostname_blocked"
        assert details["rule"]
        # Even unparsed, should a caller ever hand it on like that.
        raw = await refusal(dial(dialer, spelling, birds[0].port), INVALID_URL)
        assert raw["reason"] == "hostname_blocked"
    assert [bird.connections for bird in birds] == [0, 0, 0]
    assert not dns.asked


async def test_refused_names_stay_refused_where_everything_is_opened(names: Names, dns: NameServer) -> None:
    dialer = Dialer(names, allow=(ip_network("0.0.0.0/0"), ip_network("::/0")), ports="*")
    async with canary("127.0.0.1") as bird:
        for name in ("localhost", "a.localhost", "metadata.google.internal", "printer.local", "intranet"):
            details = await refusal(dial(dialer, name, bird.port), INVALID_URL)
            assert details["reason"] == "hostname_blocked"
    assert bird.connections == 0
    assert not dns.asked


@pytest.mark.parametrize(
    "answer",
    [
        ("127.0.0.2",),
        ("127.0.0.1", "127.0.0.2"),
        ("127.0.0.2", "127.0.0.1"),
        ("127.0.0.1", "::1"),
        ("127.0.0.1", "::ffff:127.0.0.2"),
        ("127.0.0.1", "64:ff9b::7f00:1"),
        ("127.0.0.1", "169.254.169.254"),
        ("127.0.0.1", "0.0.0.0"),
    ],
)
async def test_a_name_is_refused_if_any_of_its_addresses_is(
    answer: tuple[str, ...], dialer: Dialer, dns: NameServer
) -> None:
    dns.say("mixed.test", answer)
    async with canaries("127.0.0.1", "127.0.0.2", "::1") as birds:
        with pytest.raises(Problem) as caught:
            await dial(dialer, "mixed.test", birds[0].port)
    assert [bird.connections for bird in birds] == [0, 0, 0]
    problem = caught.value
    assert problem.kind is FETCH_FAILED
    assert problem.members["details"] == {"host": "mixed.test", "reason": "dns_not_found"}
    told = str(problem.document("https://gossamer.test", "/fetch", "wl_1"))
    assert not any(address in told for address in answer)


async def test_rebinding_from_allowed_to_forbidden(dialer: Dialer, dns: NameServer, clock: Clock) -> None:
    dns.say("rebind.test", ("127.0.0.1",), ("127.0.0.2",))
    async with canaries("127.0.0.1", "127.0.0.2") as (public, forbidden):
        assert await greeted(dialer, "rebind.test", public.port) == "127.0.0.1"
        clock.now += MIN_LIFETIME - 1
        assert await greeted(dialer, "rebind.test", public.port) == "127.0.0.1"
        assert dns.count("rebind.test") == 1
        clock.now += 1
        details = await refusal(dial(dialer, "rebind.test", public.port), FETCH_FAILED)
        assert details == {"host": "rebind.test", "reason": "dns_not_found"}
        assert dns.count("rebind.test") == 2
    assert (public.connections, forbidden.connections) == (2, 0)


async def test_rebinding_from_forbidden_to_allowed(dialer: Dialer, dns: NameServer, clock: Clock) -> None:
    dns.say("rebind.test", ("127.0.0.2",), ("127.0.0.1",), ("127.0.0.2",))
    async with canaries("127.0.0.1", "127.0.0.2") as (public, forbidden):
        await refusal(dial(dialer, "rebind.test", public.port), FETCH_FAILED)
        clock.now += MIN_LIFETIME
        assert await greeted(dialer, "rebind.test", public.port) == "127.0.0.1"
        clock.now += MIN_LIFETIME
        await refusal(dial(dialer, "rebind.test", public.port), FETCH_FAILED)
    assert (public.connections, forbidden.connections) == (1, 0)


async def test_rebinding_at_every_question(dialer: Dialer, dns: NameServer, clock: Clock) -> None:
    turns = [("127.0.0.1",), ("127.0.0.2",), ("127.0.0.1", "127.0.0.2"), ("::1",)] * 10
    dns.say("rebind.test", *turns)
    async with canaries("127.0.0.1", "127.0.0.2", "::1") as (public, *forbidden):
        for answer in turns:
            if answer == ("127.0.0.1",):
                assert await greeted(dialer, "rebind.test", public.port) == "127.0.0.1"
            else:
                await refusal(dial(dialer, "rebind.test", public.port), FETCH_FAILED)
            clock.now += MIN_LIFETIME
    assert public.connections == 10
    assert [bird.connections for bird in forbidden] == [0, 0]


async def test_decision11_a_name_that_leads_inside_looks_like_one_that_does_not_exist(
    names: Names, dns: NameServer, clock: Clock
) -> None:
    stream = io.StringIO()
    dialer = Dialer(names, allow=HERE, ports="*", log=Log(stream))
    dns.say("inside.test", Reply(("127.0.0.2",), ttl=300))
    told = []
    for name in ("inside.test", "nowhere.test"):
        for _ in range(2):  # is it remembered for as long?
            clock.now += MIN_LIFETIME
            with concerning("wl_1_abcdef"), pytest.raises(Problem) as caught:
                await dial(dialer, name, 80)
        document = caught.value.document("https://gossamer.test", "/fetch", "wl_1")
        told.append(str(document).replace(name, "NAME"))
        assert dns.count(name) == 2
    assert told[0] == told[1]
    assert "log" in str(caught.value.hint)
    for line in map(msgspec.json.decode, stream.getvalue().splitlines()):
        del line["timestamp"], line["message"]
        assert line == {
            "level": "warning",
            "event": "address_refused",
            "host": "inside.test",
            "port": 80,
            "rule": "loopback",
            "requestId": "wl_1_abcdef",
        }
    assert len(stream.getvalue().splitlines()) == 2


async def test_ports(names: Names, dns: NameServer) -> None:
    dns.say("site.test", ("127.0.0.1",))
    dialer = Dialer(names, allow=HERE)
    for port in (0, 22, 25, 6379, 8000, 65535):
        details = await refusal(dial(dialer, "site.test", port), INVALID_URL)
        assert details == {"host": "site.test", "port": port, "reason": "port_blocked"}
    assert not dns.asked
    for port in (80, 443, 8080, 8443):
        dialer.admit("site.test", port)
    async with canary("127.0.0.1") as bird:
        chosen = Dialer(names, allow=HERE, ports=(bird.port,))
        await greeted(chosen, "site.test", bird.port)
        await refusal(dial(chosen, "site.test", bird.port + 1), INVALID_URL)


async def test_where_a_name_is(dialer: Dialer, dns: NameServer) -> None:
    dns.say("site.test", ("127.0.0.1", "127.0.0.1"))
    deadline = asyncio.get_running_loop().time() + 5
    assert set(await dialer.locate("site.test", 80, deadline=deadline)) == {ip_address("127.0.0.1")}


# TLS.


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusting(names: Names, authority: trustme.CA) -> Dialer:
    context = client_context()
    authority.configure_trust(context)
    return Dialer(names, allow=HERE, ports="*", context=context)


def serving(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["h2", "http/1.1"])
    certificate.configure_cert(context)
    return context


def self_signed(name: str) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with trustme.Blob(private + certificate.public_bytes(Encoding.PEM)).tempfile() as path:
        context.load_cert_chain(path)
    return context


async def test_tls_is_spoken_to_the_name(trusting: Dialer, dns: NameServer, authority: trustme.CA) -> None:
    dns.say("site.test", ("127.0.0.1",))
    async with canary("127.0.0.1", context=serving(authority.issue_cert("site.test"))) as bird:
        transport, greeting = await dial(trusting, "site.test", bird.port, tls=True)
        secured = transport.get_extra_info("ssl_object")
        assert secured.selected_alpn_protocol() == "http/1.1"
        assert secured.version() in ("TLSv1.2", "TLSv1.3")
        await greeting.ended
        assert greeting.received == b"hello"
        await greeted(trusting, "site.test.", bird.port, tls=True)
    assert bird.server_names == ["site.test", "site.test"]


async def test_tls_to_an_address(trusting: Dialer, authority: trustme.CA) -> None:
    async with canary("127.0.0.1", context=serving(authority.issue_cert("127.0.0.1"))) as bird:
        await greeted(trusting, "127.0.0.1", bird.port, tls=True)
    assert bird.server_names == [None]


async def test_bad_certificates(trusting: Dialer, dns: NameServer, authority: trustme.CA) -> None:
    dns.say("site.test", ("127.0.0.1",))
    then = datetime.now(UTC) - timedelta(days=1)
    certificates = {
        "expired": authority.issue_cert("site.test", not_before=then - timedelta(days=1), not_after=then),
        "Hostname mismatch": authority.issue_cert("other.test", "127.0.0.1"),
        "issuer": trustme.CA().issue_cert("site.test"),
    }
    contexts = {words: serving(certificate) for words, certificate in certificates.items()}
    contexts["self-signed"] = self_signed("site.test")
    for words, context in contexts.items():
        async with canary("127.0.0.1", context=context) as bird:
            with pytest.raises(Problem, match=words) as caught:
                await dial(trusting, "site.test", bird.port, tls=True)
        assert caught.value.kind is FETCH_FAILED
        assert caught.value.members["details"]["reason"] == "tls_invalid_certificate"
        assert bird.connections == 0  # nothing was said


async def test_the_systems_authorities_are_the_default(dialer: Dialer, authority: trustme.CA) -> None:
    async with canary("127.0.0.1", context=serving(authority.issue_cert("127.0.0.1"))) as bird:
        details = await refusal(dial(dialer, "127.0.0.1", bird.port, tls=True), FETCH_FAILED)
    assert details["reason"] == "tls_invalid_certificate"


async def test_tls_where_none_is_spoken(trusting: Dialer) -> None:
    async with canary("127.0.0.1") as bird:
        details = await refusal(dial(trusting, "127.0.0.1", bird.port, tls=True), FETCH_FAILED)
    assert details["reason"] in ("tls_failed", "connection_reset")


# Errors and deadlines.


async def test_nobody_listens(dialer: Dialer) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        details = await refusal(dial(dialer, "127.0.0.1", port), FETCH_FAILED)
    assert details == {"host": "127.0.0.1", "reason": "connection_refused"}


async def test_one_family_that_fails_does_not_matter(names: Names, dns: NameServer) -> None:
    dns.say("both.test", ("::1", "127.0.0.1", "127.0.0.9"))
    dialer = Dialer(names, allow=(ip_network("127.0.0.0/8"), ip_network("::1/128")), ports="*")
    with reserved_port() as port:
        async with canary("127.0.0.9", port):
            assert await greeted(dialer, "both.test", port) == "127.0.0.9"


async def test_an_address_that_hangs_gets_company(names: Names, dns: NameServer) -> None:
    dns.say("both.test", ("127.0.0.1", "127.0.0.9"))
    dialer = Dialer(names, allow=(ip_network("127.0.0.0/8"),), ports="*")
    await dialer.locate("both.test", 80, deadline=asyncio.get_running_loop().time() + PATIENCE)
    with reserved_port() as port:
        async with full("127.0.0.1", port), canary("127.0.0.9", port):
            before = open_files()
            assert await greeted(dialer, "both.test", port) == "127.0.0.9"
            assert await only(before)


async def test_a_silent_name_server_ends_at_the_callers_deadline_too(dialer: Dialer, dns: NameServer) -> None:
    dns.say("site.test", Reply(silent=True))
    with pytest.raises(Problem, match=r"site\.test:80 did not answer in time") as caught:
        await dial(dialer, "site.test", 80, seconds=0.1)
    assert caught.value.kind is FETCH_TIMEOUT
    assert caught.value.members["details"]["reason"] == "dns"


async def test_a_hung_connection_ends_at_the_deadline(dialer: Dialer) -> None:
    async with full() as port:
        before = open_files()
        started = time.monotonic()
        details = await refusal(dial(dialer, "127.0.0.1", port, seconds=0.3), FETCH_TIMEOUT)
        assert details == {"host": "127.0.0.1", "reason": "connect"}
        assert 0.25 < time.monotonic() - started < PATIENCE / 2
        assert await only(before)


async def test_a_hung_connection_ends_at_its_own_limit(names: Names) -> None:
    dialer = Dialer(names, allow=HERE, ports="*", limits=DialLimits(connect=0.2))
    async with full() as port:
        started = time.monotonic()
        assert (await refusal(dial(dialer, "127.0.0.1", port), FETCH_TIMEOUT))["reason"] == "connect"
        assert time.monotonic() - started < PATIENCE / 2


async def test_a_hung_handshake_ends_at_its_limit(names: Names) -> None:
    dialer = Dialer(names, allow=HERE, ports="*", limits=DialLimits(handshake=0.2))
    async with silent() as port:
        before = open_files()
        details = await refusal(dial(dialer, "127.0.0.1", port, tls=True), FETCH_TIMEOUT)
        assert details == {"host": "127.0.0.1", "reason": "tls"}
        assert await only(before)


async def cancelled_midway(dialing: Callable[[], Awaitable[Any]]) -> bool:
    """Start, let it get under way, cancel; whether every file that it opened is closed again."""
    before = open_files()
    task = asyncio.ensure_future(dialing())
    await asyncio.sleep(0.1)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return await only(before)


async def test_cancellation_leaves_nothing_open(names: Names, dns: NameServer) -> None:
    dns.say("two.test", ("127.0.0.1", "127.0.0.1"))
    dialer = Dialer(names, allow=HERE, ports="*")
    await dialer.locate("two.test", 80, deadline=asyncio.get_running_loop().time() + PATIENCE)
    async with full() as port:
        assert await cancelled_midway(lambda: dial(dialer, "127.0.0.1", port))
        assert await cancelled_midway(lambda: dial(dialer, "two.test", port))
    async with silent() as port:
        assert await cancelled_midway(lambda: dial(dialer, "127.0.0.1", port, tls=True))


async def test_refused_certificates_leave_nothing_open(dialer: Dialer, authority: trustme.CA) -> None:
    async with canary("127.0.0.1", context=serving(authority.issue_cert("other.test"))) as bird:
        before = open_files()
        for _ in range(5):
            await refusal(dial(dialer, "127.0.0.1", bird.port, tls=True), FETCH_FAILED)
        assert await only(before)


async def test_no_files_left_is_our_own_trouble(dialer: Dialer) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with canary("127.0.0.1") as bird:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            with pytest.raises(Unavailable):
                await dial(dialer, "127.0.0.1", bird.port)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_errors_of_the_system_have_reasons() -> None:
    from gossamer.reach.net.dial import _problem

    for error, reason in (
        (ConnectionResetError(errno.ECONNRESET, "reset"), "connection_reset"),
        (OSError(errno.ENETUNREACH, "no route"), "unreachable"),
        (OSError(errno.EHOSTUNREACH, "no route"), "unreachable"),
        (ssl.SSLError(1, "handshake failure"), "tls_failed"),
    ):
        problem = _problem(error, "site.test", 443)
        assert problem.kind is problems.FETCH_FAILED
        assert problem.members["details"]["reason"] == reason


def test_the_same_on_the_standard_loop() -> None:
    """Where there is no uvloop, sockets and TLS have another implementation."""
    authority = trustme.CA()
    failures: list[BaseException] = []

    async def scenario() -> None:
        context = client_context()
        authority.configure_trust(context)
        async with name_server() as dns:
            dns.say("site.test", ("127.0.0.1",))
            dns.say("mixed.test", ("127.0.0.1", "127.0.0.2"))
            names = Names([dns.address])
            dialer = Dialer(names, allow=HERE, ports="*", context=context, limits=DialLimits(0.3, 0.3))
            async with canary("127.0.0.1", context=serving(authority.issue_cert("site.test"))) as bird:
                assert await greeted(dialer, "site.test", bird.port, tls=True) == "127.0.0.1"
                await refusal(dial(dialer, "127.0.0.1", bird.port, tls=True), FETCH_FAILED)
                await refusal(dial(dialer, "mixed.test", bird.port), FETCH_FAILED)
            async with full() as port:
                await refusal(dial(dialer, "site.test", port), FETCH_TIMEOUT)
                assert await cancelled_midway(lambda: dial(dialer, "site.test", port))
            async with silent() as port:
                await refusal(dial(dialer, "site.test", port, tls=True), FETCH_TIMEOUT)
                assert await cancelled_midway(lambda: dial(dialer, "site.test", port, tls=True))
            await names.close()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(scenario())
        except BaseException as failure:  # noqa: BLE001 - it is told to the other thread
            failures.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(2 * PATIENCE)
    assert not failures, failures
    assert not thread.is_alive()
