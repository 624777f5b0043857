"""A small client for Redis and Valkey: RESP3 on one connection that every coroutine shares.

    Client        what callers hold: connects at first use, and again by itself when the connection is lost,
    │             each time to the server that is the primary then (`resp_primary`)
    └── Connection    one connection's life: commands out in batches, replies back in their order

Commands made in one turn of the event loop leave in one write. A reply belongs to the oldest command without
one; a cancelled caller keeps its place in that order, so no caller gets another's reply. A general client
costs ten times the CPU for each command (`scripts/bench components`).

A command that is not answered raises `problems.Unavailable("cache", …)`; one that the server refuses raises
`ServerError`, which is a defect of ours.
"""

import asyncio
import hashlib
import os
import socket
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Self, cast

import hiredis
from msgspec import Struct

from gossamer.problems import Unavailable
from gossamer.state.kv.resp_address import Address, Part
from gossamer.state.kv.resp_primary import check_mode, find_primary, unless_refused

Listener = Callable[[bytes | None], None]  # None: messages may have been missed

DEADLINE: Final = 1.0  # seconds within which a command is answered or has failed
MAX_OUTSTANDING: Final = 10_000
MAX_UNSENT_BYTES: Final = 64_000_000
GRACE: Final = 0.1  # what a late watchdog allows for reading what has long arrived
PAUSES: Final = (0.1, 0.2, 0.4, 0.8, 1.6, 2.0)  # between attempts to connect; the last one repeats
OLDEST_SERVER: Final = 7  # `SET … NX GET` came with Redis 7

# Error codes that speak of the server's condition, not of the command.
CONDITIONS: Final = frozenset(
    {"LOADING", "READONLY", "MASTERDOWN", "OOM", "BUSY", "MISCONF", "NOREPLICAS", "NOAUTH", "CLUSTERDOWN"}
    | {"MOVED", "ASK", "TRYAGAIN"}
)
# Those after which another server may be the primary. A new connection leads to it.
ELSEWHERE: Final = {"READONLY": "it became a replica", "MOVED": "our slot went to another node"}
NOTHING: Final = object()


class ServerError(Exception):
    """The server refused a command: `WRONGTYPE …`, `ERR …`."""

    @property
    def code(self) -> str:
        return str(self).partition(" ")[0]


class LuaScript(Struct, frozen=True):
    """A Lua script, run by the digest of its text."""

    text: str
    digest: str

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())

    def command(self, keys: Sequence[Part], arguments: Sequence[Part]) -> tuple[Part, ...]:
        return ("EVALSHA", self.digest, len(keys), *keys, *arguments)


class LuaCall(Struct, frozen=True):
    """A script with what it is called with, as it is sent."""

    script: LuaScript
    keys: Sequence[Part]
    arguments: Sequence[Part]
    packed: bytes

    @classmethod
    def of(cls, script: LuaScript, keys: Sequence[Part], arguments: Sequence[Part]) -> Self:
        return cls(script, keys, arguments, pack(*script.command(keys, arguments)))


class RespConnection(asyncio.Protocol):
    def __init__(
        self, loop: asyncio.AbstractEventLoop, deadline: float, hear: Callable[[bytes, bytes], None]
    ) -> None:
        self.lost: asyncio.Future[str] = loop.create_future()  # why, once the connection is gone
        self.why: str | None = None  # set at once when it ends: from then on it takes nothing more
        self.outstanding: deque[asyncio.Future[Any] | None] = deque()
        self.congested = False
        self._loop = loop
        self._deadline = deadline
        self._hear = hear
        self._reader = hiredis.Reader(replyError=self._refusal, notEnoughData=NOTHING)
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._sent = self._answered = 0
        self._due: deque[tuple[int, float]] = deque()  # how many commands must be answered by when
        self._watchdog: asyncio.TimerHandle | None = None
        self._alarm = 0.0

    def send(self, command: bytes) -> asyncio.Future[Any]:
        reply: asyncio.Future[Any] = self._loop.create_future()
        self.post(command, reply)
        return reply

    def post(self, command: bytes, reply: asyncio.Future[Any] | None) -> None:
        """Send `command`; without a `reply` to fill, what the server answers is dropped."""
        if self.why is not None:
            raise Unavailable("cache", self.why)
        self.outstanding.append(reply)
        if not self._unsent:
            self._loop.call_soon(self.flush)
        self._unsent.append(command)

    def flush(self) -> None:
        if self._transport is None or self.why is not None or not self._unsent:
            return
        self._sent += len(self._unsent)
        unsent, self._unsent = self._unsent, []
        self._transport.writelines(unsent)
        self._due.append((self._sent, self._loop.time() + self._deadline))
        if self._watchdog is None:
            self._watch_until(self._due[0][1])

    def end(self, why: str) -> None:
        """Take nothing more, and fail all outstanding commands."""
        if self.why is not None:
            return
        self.why = why
        if self._watchdog is not None:
            self._watchdog.cancel()
        for reply in self.outstanding:
            if reply is not None and not reply.done():
                reply.set_exception(Unavailable("cache", why))
        self.outstanding.clear()
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=MAX_UNSENT_BYTES)
        if (raw := transport.get_extra_info("socket")) is not None and raw.family != socket.AF_UNIX:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def connection_lost(self, error: Exception | None) -> None:
        self.end("the connection was lost")
        if not self.lost.done():
            self.lost.set_result(self.why or "")

    def pause_writing(self) -> None:
        self.congested = True

    def resume_writing(self) -> None:
        self.congested = False

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not NOTHING and self.why is None:
                if type(reply) is hiredis.PushNotification and reply[0] == b"message":
                    self._hear(reply[1], reply[2])
                elif not self.outstanding:
                    raise hiredis.ProtocolError("a reply to no command")
                else:
                    # In RESP3 the answer to SUBSCRIBE is a push too, and stands in the same order.
                    future = self.outstanding.popleft()
                    self._answered += 1
                    if future is not None and not future.done():
                        if isinstance(reply, Exception):
                            future.set_exception(reply)
                        else:
                            future.set_result(reply)
        except hiredis.ProtocolError:
            self.end("its replies make no sense")
        while self._due and self._due[0][0] <= self._answered:
            self._due.popleft()

    def _refusal(self, text: str) -> Exception:
        code = text.partition(" ")[0]
        if code in ELSEWHERE:
            self._loop.call_soon(self.end, ELSEWHERE[code])
        return Unavailable("cache", f"it says {code}") if code in CONDITIONS else ServerError(text)

    # One timer watches the oldest outstanding command, instead of one for each.

    def _watch_until(self, alarm: float) -> None:
        self._alarm = alarm
        self._watchdog = self._loop.call_at(alarm, self._watch)

    def _watch(self) -> None:
        self._watchdog = None
        if not self._due:
            return
        now = self._loop.time()
        if now - self._alarm > GRACE:  # our own loop was busy: the reply may be there, unread
            self._watch_until(now + GRACE)
        elif now < self._due[0][1]:
            self._watch_until(self._due[0][1])
        else:
            self.end(f"no answer within {self._deadline:g} s")


class RespClient:
    def __init__(
        self,
        address: Address,
        *,
        tag: str = "",
        deadline: float = DEADLINE,
        max_outstanding: int = MAX_OUTSTANDING,
    ) -> None:
        """In a cluster, `tag` is what all keys carry in braces: it names their slot."""
        self._address = address
        self._tag = tag
        self._deadline = deadline
        self._max_outstanding = max_outstanding
        self._connection: RespConnection | None = None
        self._why = "not connected"
        self._keeper: asyncio.Task[None] | None = None
        self._tried: asyncio.Future[None] | None = None  # done once connecting was tried a first time
        self._closed = False
        self._listeners: dict[bytes, set[Listener]] = {}

    def call(self, *command: Part) -> Awaitable[Any]:
        """Send a command, in order with all others; the reply is what the awaitable gives."""
        return self.ask(pack(*command))

    def ask(self, command: bytes) -> Awaitable[Any]:
        """`call` for a command that was packed before."""
        return self._ask_once_open(command) if self._connection is None else self.send(command)

    def send(self, command: bytes) -> asyncio.Future[Any]:
        """`ask` on the connection that is open; Unavailable without one."""
        connection = self._connection
        if connection is None:
            raise Unavailable("cache", self._why)
        if len(connection.outstanding) >= self._max_outstanding or connection.congested:
            raise Unavailable("cache", "too many commands are outstanding")
        return connection.send(command)

    async def _ask_once_open(self, command: bytes) -> Any:
        await self.open()
        return await self.ask(command)

    def tell(self, *command: Part) -> None:
        """Send a command whose reply does not matter, nor whether it arrives."""
        connection = self._connection
        if connection is None or connection.why is not None or connection.congested:
            return
        if len(connection.outstanding) < self._max_outstanding:
            connection.post(pack(*command), None)

    async def run(self, script: LuaScript, keys: Sequence[Part], arguments: Sequence[Part] = ()) -> Any:
        return await self.run_prepared(LuaCall.of(script, keys, arguments))

    async def run_prepared(self, call: LuaCall) -> Any:
        try:
            return await self.ask(call.packed)
        except ServerError as error:
            if error.code != "NOSCRIPT":
                raise
        # By its text, which also loads it.
        return await self.call("EVAL", call.script.text, len(call.keys), *call.keys, *call.arguments)

    # Channels.

    async def subscribe(self, channel: bytes, listener: Listener) -> None:
        """Call `listener` with each message on `channel`, also after a reconnect; then it is first called
        with None, since messages may have been missed. So it is when the connection is lost."""
        await self.open()
        listeners = self._listeners.setdefault(channel, set())
        listeners.add(listener)
        if len(listeners) == 1:
            await self.call("SUBSCRIBE", channel)

    def unsubscribe(self, channel: bytes, listener: Listener) -> None:
        listeners = self._listeners.get(channel, set())
        listeners.discard(listener)
        if not listeners and self._listeners.pop(channel, None) is not None:
            self.tell("UNSUBSCRIBE", channel)

    def _hear(self, channel: bytes, message: bytes) -> None:
        for listener in tuple(self._listeners.get(channel, ())):
            listener(message)

    def _wake_listeners(self) -> None:
        for listeners in tuple(self._listeners.values()):
            for listener in tuple(listeners):
                listener(None)

    # The connection, and its successors.

    async def open(self) -> None:
        """Connect. Not needed: the first command does it too."""
        if self._closed:
            raise Unavailable("cache", "closed")
        if self._keeper is None or self._tried is None:
            self._tried = asyncio.get_running_loop().create_future()
            self._keeper = asyncio.create_task(self._keep_connected(self._tried))
        await asyncio.shield(self._tried)
        if self._connection is None:
            raise Unavailable("cache", self._why)

    async def close(self) -> None:
        self._closed = True
        self._why = "closed"
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.flush()
            connection.end("closed")
            await connection.lost
        if self._tried is not None and not self._tried.done():
            self._tried.set_result(None)

    async def _keep_connected(self, tried: asyncio.Future[None]) -> None:
        failures = 0
        while True:
            try:
                self._connection = await self._connect()
            except (OSError, ValueError, Unavailable, ServerError) as error:
                self._why = reason(error)
                failures += 1
            if not tried.done():
                tried.set_result(None)
            if self._connection is not None:
                failures = 0
                self._wake_listeners()
                self._why = await asyncio.shield(self._connection.lost)
                self._connection = None
                self._wake_listeners()
            await asyncio.sleep(PAUSES[min(failures, len(PAUSES) - 1)])

    async def _connect(self) -> RespConnection:
        address = await find_primary(self._address, self._tag, self._ask_server, self._deadline)
        async with asyncio.timeout(self._deadline):
            connection = await self._dial(address)
            try:
                await self._greet(connection)
            except BaseException:
                connection.end("the connection was not made")
                raise
            return connection

    async def _ask_server(self, address: Address, commands: Sequence[tuple[Part, ...]]) -> list[Any]:
        connection = await self._dial(address)
        try:
            sent = [connection.send(pack(*command)) for command in (address.hello(), *commands)]
            return await asyncio.gather(*sent, return_exceptions=True)
        finally:
            connection.end("asked")

    async def _dial(self, address: Address) -> RespConnection:
        loop = asyncio.get_running_loop()

        def connection() -> RespConnection:
            return RespConnection(loop, self._deadline, self._hear)

        if address.path is not None:
            return (await loop.create_unix_connection(connection, address.path))[1]
        tls = ssl.create_default_context() if address.tls else None
        return (await loop.create_connection(connection, address.host, address.port, ssl=tls))[1]

    async def _greet(self, connection: RespConnection) -> None:
        greeting = [connection.send(pack(*command)) for command in self._address.greeting()]
        channels = [connection.send(pack("SUBSCRIBE", channel)) for channel in self._listeners]
        hello, *others = await asyncio.gather(*greeting, *channels, return_exceptions=True)
        if isinstance(hello, dict):
            check_mode(hello, self._address)
        unless_refused([hello, *others])
        version = hello[b"version"].decode() if isinstance(hello, dict) else "0"
        if int(version.partition(".")[0]) < OLDEST_SERVER:
            raise Unavailable("cache", f"it is older than version {OLDEST_SERVER}")


def pack(*command: Part) -> bytes:
    """A command as it is sent."""
    return cast("bytes", hiredis.pack_command(cast("tuple[Part]", command)))


def reason(error: Exception) -> str:
    """Why there is no connection, without an address or a secret."""
    match error:
        case Unavailable():
            return error.reason or ""
        case ServerError():
            return f"it says {error.code}"
        case TimeoutError():
            return "no connection in time"
        case ssl.SSLError():
            return f"TLS: {error.reason or 'handshake failed'}".lower().replace("_", " ")
        case socket.gaierror():
            return "its name does not resolve"
        case OSError(errno=int(number)):
            return os.strerror(number).lower()
        case _:
            return "cannot connect"
