"""The client for Redis and Valkey, against a real server, or against one that misbehaves."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.servers.valkey import PATIENCE, Valkey

from gossamer.problems import Unavailable
from gossamer.state.kv.resp import LuaScript, RespClient, ServerError
from gossamer.state.kv.resp_address import Address

SOON = 5.0
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
StartValkey = Callable[..., Valkey]

SILENT = b""
HELLO = b"%1\r\n$7\r\nversion\r\n$5\r\n7.2.4\r\n"


@pytest.fixture
async def client(valkey: Valkey) -> AsyncIterator[RespClient]:
    async with connected(valkey.url, deadline=PATIENCE) as client:
        yield client


@contextlib.asynccontextmanager
async def connected(url: str, **bounds: Any) -> AsyncIterator[RespClient]:
    client = RespClient(Address.parse(url), **bounds)
    try:
        yield client
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def serving(handle: Handler) -> AsyncIterator[str]:
    """The URL of a server of which each connection is `handle`d."""

    async def politely(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await handle(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(politely, "127.0.0.1", 0)
    async with server:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def eventually(act: Callable[[], Awaitable[Any]]) -> Any:
    """The first answer of `act` once the server is back."""
    async with asyncio.timeout(SOON):
        while True:
            try:
                return await act()
            except Unavailable:
                await asyncio.sleep(0.02)


# Addresses.


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://", Address()),
        ("redis://cache", Address("cache")),
        ("redis://cache:7000", Address("cache", 7000)),
        ("redis://cache/", Address("cache")),
        ("redis://cache/3", Address("cache", database=3)),
        ("redis://cache?db=3", Address("cache", database=3)),
        ("valkey://[::1]:7000/1", Address("::1", 7000, database=1)),
        ("rediss://cache", Address("cache", tls=True)),
        ("valkeys://cache", Address("cache", tls=True)),
        (
            "redis+sentinel://a,b:7000/main",
            Address(sentinels=(("a", 26379), ("b", 7000)), primary_name="main"),
        ),
        (
            "rediss+sentinel://ann:secret@[::1]/main/3",
            Address(
                tls=True,
                username="ann",
                password="secret",
                database=3,
                sentinels=(("::1", 26379),),
                primary_name="main",
            ),
        ),
        ("redis+cluster://a:1,b", Address(cluster=(("a", 1), ("b", 6379)))),
        ("valkeys+cluster://a", Address(tls=True, cluster=(("a", 6379),))),
        ("redis://:secret@cache", Address("cache", password="secret")),
        ("redis://ann:p%40ss%2F@cache", Address("cache", username="ann", password="p@ss/")),
        ("unix:///run/valkey.sock", Address(path="/run/valkey.sock")),
        ("unix://:secret@/run/v.sock?db=2", Address(path="/run/v.sock", password="secret", database=2)),
    ],
)
def test_an_address_is_read_from_its_url(url: str, address: Address) -> None:
    assert Address.parse(url) == address


@pytest.mark.parametrize(
    "url",
    ["", "cache:6379", "http://cache", "unix://", "redis://cache/x", "redis://cache:port", "redis://:pa/ss@cache",
     "redis://a,b", "redis+sentinel://cache", "redis+other://cache", "http+cluster://cache"],
)  # fmt: skip
def test_a_bad_url_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ValueError, match="must look like") as refusal:
        Address.parse(url)
    assert "pa" not in str(refusal.value).replace("password", "")


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(Address.parse("redis://:secret@cache"))


# Commands.


async def test_commands_are_answered_in_their_order(client: RespClient) -> None:
    replies = await asyncio.gather(*(client.call("ECHO", str(i)) for i in range(1000)))
    assert replies == [str(i).encode() for i in range(1000)]


async def test_it_connects_at_first_use_or_when_asked(valkey: Valkey) -> None:
    async with connected(valkey.url) as client:
        assert await client.call("ECHO", "a") == b"a"
    async with connected(valkey.url) as client:
        await client.open()
        await client.open()
        assert await client.call("PING") == b"PONG"


async def test_replies_of_every_type(client: RespClient) -> None:
    assert await client.call("GET", "nothing") is None
    assert await client.call("DEL", "nothing") == 0
    assert await client.call("CONFIG", "GET", "port") == {b"port": str(client._address.port).encode()}
    assert await client.call("EVAL", "redis.setresp(3); return {double=1.5}", 0) == 1.5
    assert await client.call("EVAL", "return false", 0) is None
    assert await client.call("EVAL", "redis.setresp(3); return false", 0) is False
    assert await client.call("LRANGE", "nothing", 0, -1) == []


async def test_large_values_pass(client: RespClient) -> None:
    value = bytes(range(256)) * 40_000
    await client.call("SET", "large", value, "PX", 60_000)
    replies = await asyncio.gather(*(client.call(*command) for command in (["GET", "large"], ["PING"])))
    assert replies == [value, b"PONG"]


async def test_a_cancelled_caller_does_not_shift_the_replies(client: RespClient) -> None:
    async def echo(text: str) -> bytes:
        reply: bytes = await client.call("ECHO", text)
        return reply

    await client.open()
    tasks = [asyncio.create_task(echo(str(i))) for i in range(100)]
    await asyncio.sleep(0)  # sent
    for task in tasks[::3]:
        task.cancel()
    replies = await asyncio.gather(*tasks, return_exceptions=True)
    kept = {i: reply for i, reply in enumerate(replies) if isinstance(reply, bytes)}
    assert kept == {i: str(i).encode() for i in range(100) if i % 3}


async def test_what_is_told_is_done_in_order_and_its_errors_are_dropped(client: RespClient) -> None:
    await client.open()
    client.tell("SET", "told", "1", "PX", 60_000)
    client.tell("INCR", "told", "too", "many")
    client.tell("INCR", "told")
    assert await client.call("GET", "told") == b"2"


async def test_the_servers_refusal_is_an_error_of_its_own(client: RespClient) -> None:
    await client.call("SET", "text", "x", "PX", 60_000)
    with pytest.raises(ServerError, match="WRONGTYPE") as refusal:
        await client.call("LPUSH", "text", "x")
    assert refusal.value.code == "WRONGTYPE"
    assert await client.call("PING") == b"PONG"


async def test_scripts_are_loaded_when_the_server_does_not_know_them(client: RespClient) -> None:
    script = LuaScript.of("return {KEYS[1], ARGV[1]}")
    assert await client.run(script, ["k"], [1]) == [b"k", b"1"]
    assert await client.call("SCRIPT", "EXISTS", script.digest) == [1]
    await client.call("SCRIPT", "FLUSH")
    assert await client.run(script, ["k"], [2]) == [b"k", b"2"]


async def test_no_more_than_so_many_are_outstanding(valkey: Valkey) -> None:
    async with connected(valkey.url, max_outstanding=10) as client:
        await client.open()
        calls = [client.call("ECHO", str(i)) for i in range(10)]
        with pytest.raises(Unavailable, match="outstanding"):
            client.call("PING")
        client.tell("PING")
        assert await asyncio.gather(*calls) == [str(i).encode() for i in range(10)]
        assert await client.call("PING") == b"PONG"


async def test_ten_thousand_at_once(client: RespClient) -> None:
    replies = await asyncio.gather(*(client.call("ECHO", i) for i in range(10_000)))
    assert replies == [str(i).encode() for i in range(10_000)]


# Ways in.


async def test_databases_are_kept_apart(valkey: Valkey) -> None:
    async with connected(valkey.url) as zero, connected(valkey.url.replace("/0", "/1")) as one:
        await zero.call("SET", "where", "zero", "PX", 60_000)
        assert await one.call("GET", "where") is None


async def test_a_unix_socket(valkey: Valkey) -> None:
    async with connected(valkey.unix_url) as client:
        assert await client.call("PING") == b"PONG"


async def test_a_password_and_a_user(start_valkey: StartValkey) -> None:
    server = start_valkey("--requirepass", "p@ss/word", "--user", "ann", "on", ">secret", "~*", "&*", "+@all")
    place = f"127.0.0.1:{server.port}"
    for entry in (":p%40ss%2Fword", "default:p%40ss%2Fword", "ann:secret"):
        async with connected(f"redis://{entry}@{place}") as client:
            assert await client.call("PING") == b"PONG"
    for entry, code in ((":wrong@", "WRONGPASS"), ("", "NOAUTH")):
        async with connected(f"redis://{entry}{place}") as client:
            with pytest.raises(Unavailable, match=code) as refusal:
                await client.call("PING")
            assert "wrong" not in refusal.value.detail


async def test_tls_is_verified(valkey: Valkey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with tls_in_front_of(valkey, tmp_path) as port:
        async with connected(f"rediss://127.0.0.1:{port}") as client:
            with pytest.raises(Unavailable, match="certificate verify failed"):
                await client.call("PING")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        async with connected(f"rediss://127.0.0.1:{port}") as client:
            assert await client.call("ECHO", "x" * 100_000) == b"x" * 100_000
        async with connected(f"rediss://localhost:{port}") as client:
            with pytest.raises(Unavailable, match="certificate verify failed"):
                await client.call("PING")


# A server that goes away.


async def test_where_nobody_listens_calls_fail_at_once(own_valkey: Valkey) -> None:
    own_valkey.kill()
    async with connected(own_valkey.url) as client:
        started = time.monotonic()
        for _ in range(10):
            with pytest.raises(Unavailable, match="connection refused"):
                await client.call("PING")
        assert time.monotonic() - started < 5, "each waited for the deadline"
        own_valkey.start()
        assert await eventually(lambda: client.call("PING")) == b"PONG"


async def test_a_killed_server_fails_what_is_outstanding_at_once(own_valkey: Valkey) -> None:
    async with connected(own_valkey.url, deadline=60) as client:
        await client.open()
        outstanding = asyncio.gather(
            *(client.call("BLPOP", "never", 0) for _ in range(3)), return_exceptions=True
        )
        await asyncio.sleep(0)
        started = time.monotonic()
        own_valkey.kill()
        assert all(isinstance(error, Unavailable) for error in await outstanding)
        with pytest.raises(Unavailable):
            await client.call("PING")
        client.tell("PING")
        assert time.monotonic() - started < 30, "it waited for the deadline"
        own_valkey.start()
        assert await eventually(lambda: client.call("PING")) == b"PONG"


async def test_a_frozen_server_fails_calls_within_their_deadline(own_valkey: Valkey) -> None:
    async with connected(own_valkey.url) as client:
        await client.open()
        own_valkey.stop()
        started = time.monotonic()
        with pytest.raises(Unavailable, match="no answer within 1 s"):
            await client.call("PING")
        assert time.monotonic() - started > 0.9
        started = time.monotonic()
        for _ in range(20):
            with pytest.raises(Unavailable):
                await client.call("PING")
        assert time.monotonic() - started < 10, "while it is away, nobody waits"
        own_valkey.cont()
        assert await eventually(lambda: client.call("PING")) == b"PONG"


async def test_a_slow_command_fails_although_others_were_answered(own_valkey: Valkey) -> None:
    async with connected(own_valkey.url, deadline=1.0) as client:
        assert await client.call("PING") == b"PONG"
        with pytest.raises(Unavailable, match="no answer"):
            await asyncio.gather(client.call("PING"), client.call("BLPOP", "never", 0))


async def test_a_busy_event_loop_is_not_the_servers_fault(valkey: Valkey) -> None:
    async with connected(valkey.url, deadline=1.0) as client:
        await client.open()
        reply = asyncio.ensure_future(client.call("PING"))
        await asyncio.sleep(0)  # sent
        time.sleep(1.5)
        assert await reply == b"PONG"


async def test_a_server_that_became_a_replica_is_left(own_valkey: Valkey) -> None:
    async with connected(own_valkey.url) as client, connected(own_valkey.url) as operator:
        first = await client.call("CLIENT", "ID")
        await operator.call("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(Unavailable, match="READONLY"):
            await client.call("SET", "a", "b")
        await operator.call("REPLICAOF", "NO", "ONE")
        assert await eventually(lambda: client.call("CLIENT", "ID")) != first


async def test_a_full_server_is_unavailable(own_valkey: Valkey) -> None:
    async with connected(own_valkey.url) as client:
        await client.call("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(Unavailable, match="OOM"):
            await client.call("SET", "a", "b")
        with pytest.raises(Unavailable, match="OOM"):
            await client.run(LuaScript.of("return redis.call('SET', KEYS[1], 'b')"), ["a"])
        assert await client.call("PING") == b"PONG"


async def test_a_server_that_hangs_up_each_time() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()

    async with serving(hang_up) as url, connected(url) as client:
        with pytest.raises(Unavailable, match="connection was lost"):
            await client.call("PING")


@pytest.mark.parametrize(
    ("greeting", "why"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "make no sense"),
        (b"-ERR unknown command 'HELLO'\r\n+OK\r\n", "it says ERR"),
        (b"%1\r\n$7\r\nversion\r\n$5\r\n6.2.0\r\n+OK\r\n", "older than version 7"),
        (b"+OK\r\n+OK\r\n", "older than version 7"),
        (HELLO + b"+OK\r\n+MORE\r\n", "make no sense"),
        (SILENT, "no connection in time|no answer"),
    ],
)
async def test_what_is_no_server_for_us_is_unavailable(greeting: bytes, why: str) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"SELECT")
        writer.write(greeting)
        await reader.read()

    deadline = 0.2 if greeting == SILENT else PATIENCE
    async with serving(greet) as url, connected(url, deadline=deadline) as client:
        with pytest.raises(Unavailable, match=why):
            await client.call("PING")


async def test_replies_may_arrive_in_any_pieces() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"SELECT")
        for byte in HELLO + b"+OK\r\n":
            writer.write(bytes([byte]))
            await writer.drain()
        await reader.readuntil(b"PING\r\n")
        for byte in b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n$5\r\nhello\r\n":
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        await reader.read()

    async with serving(trickle) as url, connected(url) as client:
        assert await client.call("PING") == b"hello"


async def test_closing_fails_what_is_outstanding_and_leaves_nothing(valkey: Valkey) -> None:
    tasks = asyncio.all_tasks()
    client = RespClient(Address.parse(valkey.url))
    await client.open()
    outstanding = asyncio.ensure_future(client.call("BLPOP", "never", 0))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(Unavailable, match="closed"):
        await outstanding
    with pytest.raises(Unavailable, match="closed"):
        await client.call("PING")
    assert asyncio.all_tasks() <= tasks


async def test_closing_while_it_connects(own_valkey: Valkey) -> None:
    own_valkey.stop()
    client = RespClient(Address.parse(own_valkey.url))
    opening = asyncio.create_task(client.open())
    await asyncio.sleep(0.01)
    await client.close()
    with pytest.raises(Unavailable, match="closed"):
        await opening


async def test_closing_what_was_never_opened(valkey: Valkey) -> None:
    await RespClient(Address.parse(valkey.url)).close()


# Channels.


async def test_messages_arrive_among_replies(client: RespClient) -> None:
    heard: asyncio.Queue[bytes | None] = asyncio.Queue()
    await client.subscribe(b"channel", heard.put_nowait)
    commands = [("ECHO", "1"), ("PUBLISH", "channel", "news"), ("ECHO", "2")]
    replies = await asyncio.gather(*(client.call(*command) for command in commands))
    assert replies == [b"1", 1, b"2"]
    assert await asyncio.wait_for(heard.get(), SOON) == b"news"
    client.unsubscribe(b"channel", heard.put_nowait)
    assert await client.call("PUBLISH", "channel", "more") == 0
    assert await client.call("PING") == b"PONG"
    assert heard.empty()


async def test_a_channel_is_left_with_its_last_listener(client: RespClient) -> None:
    first: asyncio.Queue[bytes | None] = asyncio.Queue()
    second: asyncio.Queue[bytes | None] = asyncio.Queue()
    await client.subscribe(b"shared", first.put_nowait)
    await client.subscribe(b"shared", second.put_nowait)
    client.unsubscribe(b"shared", first.put_nowait)
    client.unsubscribe(b"shared", first.put_nowait)
    assert await client.call("PUBLISH", "shared", "news") == 1
    assert await asyncio.wait_for(second.get(), SOON) == b"news"
    client.unsubscribe(b"shared", second.put_nowait)
    assert await client.call("PUBLISH", "shared", "news") == 0


async def test_subscriptions_survive_a_restart(own_valkey: Valkey) -> None:
    heard: asyncio.Queue[bytes | None] = asyncio.Queue()
    async with connected(own_valkey.url) as client, connected(own_valkey.url) as other:
        await client.subscribe(b"channel", heard.put_nowait)
        own_valkey.kill()
        assert await asyncio.wait_for(heard.get(), SOON) is None, "the connection was lost"
        own_valkey.start()
        assert await asyncio.wait_for(heard.get(), SOON) is None, "messages may have been missed"
        assert await eventually(lambda: other.call("PUBLISH", "channel", "news")) == 1
        assert await asyncio.wait_for(heard.get(), SOON) == b"news"


async def test_a_subscription_that_is_refused_does_not_shift_the_replies(start_valkey: StartValkey) -> None:
    server = start_valkey("--user", "ann", "on", ">secret", "~*", "resetchannels", "+@all")
    async with connected(f"redis://ann:secret@127.0.0.1:{server.port}") as client:
        await client.open()
        refused = asyncio.ensure_future(client.subscribe(b"channel", lambda _: None))
        await asyncio.sleep(0)
        assert await client.call("ECHO", "mine") == b"mine"
        with pytest.raises(ServerError, match="NOPERM"):
            await refused


@contextlib.asynccontextmanager
async def tls_in_front_of(valkey: Valkey, folder: Path) -> AsyncIterator[int]:
    """The port of a TLS end in front of the server, with a certificate for 127.0.0.1 that signs itself."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", valkey.port)
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder))
    server = await asyncio.start_server(relay, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


def certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "valkey")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + private)
    return path
