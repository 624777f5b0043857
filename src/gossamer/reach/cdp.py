"""CDP: the Chrome DevTools Protocol on a wire that carries whole messages.

One task reads the wire and hands every message on: an answer to whoever called, an event to whoever listens
to its session. Listeners are plain functions that must not wait, so nothing is queued here that a page could
make grow.
"""

import asyncio
import contextlib
import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

import msgspec

Listener = Callable[[str, msgspec.Raw], None]  # the event's name and parameters; no name: the browser is gone
T = TypeVar("T")

BREATH: Final = 20  # messages at a stretch; however many have come, others get their turn


NOTHING: Final = msgspec.Raw(b"{}")


class Wire(Protocol):
    async def send(self, message: bytes) -> None: ...
    async def receive(self) -> bytes | None: ...


class Gone(Exception):
    """The browser, or the target of the session, is no longer there."""


class Refused(Exception):
    """The browser understood the call and will not do it."""


class _Error(msgspec.Struct):
    message: str = ""


class _Message(msgspec.Struct, rename="camel"):
    id: int = 0
    method: str = ""
    params: msgspec.Raw = NOTHING
    result: msgspec.Raw = NOTHING
    error: _Error | None = None
    session_id: str = ""


class _Call(msgspec.Struct, rename="camel", omit_defaults=True):
    id: int
    method: str
    params: Mapping[str, Any]
    session_id: str = ""


_message: Final = msgspec.json.Decoder(_Message).decode
_encode: Final = msgspec.json.Encoder().encode
# What JavaScript may hold in a string and UTF-8 may not: one half of a pair.
_SURROGATES: Final = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")


def _decode(raw: bytes) -> _Message:
    try:
        return _message(raw)
    except msgspec.DecodeError:
        return _message(_SURROGATES.sub(lambda found: rb"\ufffd" if found[1] else found[0], raw))


class Connection:
    """A wire, and everybody who talks over it."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._numbers = itertools.count(1)
        self._calls: dict[int, tuple[str, asyncio.Future[msgspec.Raw]]] = {}
        self._listeners: dict[str, Listener] = {}
        self._reading = asyncio.create_task(self._read())
        self.browser = Session(self, "")

    @property
    def gone(self) -> bool:
        return self._reading.done()

    async def ended(self) -> None:
        """Returns when the browser is gone."""
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.wait([self._reading])

    def session(self, name: str, listener: Listener) -> "Session":
        """Whoever talks to one target, and who hears what the target says."""
        self._listeners[name] = listener
        return Session(self, name)

    def listen(self, listener: Listener) -> None:
        """Hear what the browser itself says."""
        self._listeners[""] = listener

    def forget(self, name: str) -> None:
        """Nobody listens to the session any more, and its calls will not be answered."""
        self._listeners.pop(name, None)
        for session, answer in list(self._calls.values()):
            if session == name:
                _fail(answer)

    async def call(
        self, session: str, method: str, params: Mapping[str, Any], deadline: float
    ) -> msgspec.Raw:
        if self.gone:
            raise Gone
        number = next(self._numbers)
        answer: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        self._calls[number] = session, answer
        try:
            async with asyncio.timeout_at(deadline):
                await self._send(_encode(_Call(number, method, params, session)))
                return await answer
        finally:
            del self._calls[number]

    async def _send(self, message: bytes) -> None:
        try:
            await self._wire.send(message)
        except OSError as error:
            raise Gone from error

    async def _read(self) -> None:
        try:
            for number in itertools.count():
                raw = await self._wire.receive()
                if raw is None:
                    return
                with contextlib.suppress(msgspec.DecodeError):  # whoever waits for it has a deadline
                    self._hand_on(_decode(raw))
                if number % BREATH == 0:
                    await asyncio.sleep(0)
        except OSError:
            pass
        finally:
            for _, answer in list(self._calls.values()):
                _fail(answer)
            for listener in list(self._listeners.values()):
                listener("", NOTHING)

    def _hand_on(self, message: _Message) -> None:
        if message.method:
            listener = self._listeners.get(message.session_id)
            if listener is not None:
                listener(message.method, message.params)
            return
        _, answer = self._calls.get(message.id, ("", None))
        if answer is None or answer.done():
            return
        if message.error is None:
            answer.set_result(message.result)
        else:
            answer.set_exception(Refused(message.error.message))


def _fail(answer: asyncio.Future[msgspec.Raw]) -> None:
    if not answer.done():
        answer.set_exception(Gone())


class Session:
    """One target's side of the conversation; the browser itself is the session without a name."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._connection = connection

    async def ask(self, kind: type[T], method: str, deadline: float, **params: Any) -> T:
        """Call, and understand the answer."""
        raw = await self._connection.call(self.name, method, params, deadline)
        return msgspec.json.decode(raw, type=kind)

    async def tell(self, method: str, deadline: float, **params: Any) -> None:
        """Call; that it was done is all there is to know."""
        await self._connection.call(self.name, method, params, deadline)
