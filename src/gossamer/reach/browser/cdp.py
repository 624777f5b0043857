"""CDP: the Chrome DevTools Protocol on a wire that carries whole messages.

One task reads the wire and dispatches every message: an answer to its caller, an event to the listener of its
session. Listeners are plain functions that do not wait, so there is no queue that a page could make grow.
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

MAX_BATCH: Final = 20  # messages that are handled before other tasks get their turn


NOTHING: Final = msgspec.Raw(b"{}")


class Wire(Protocol):
    async def send(self, message: bytes) -> None: ...
    async def receive(self) -> bytes | None: ...


class CdpGone(Exception):
    """The browser, or the target of the session, is no longer there."""


class CdpRefused(Exception):
    """The browser answered the call with an error."""


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
# Half of a surrogate pair: valid in a string of JavaScript, but not in UTF-8.
_SURROGATES: Final = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")


def _decode(raw: bytes) -> _Message:
    try:
        return _message(raw)
    except msgspec.DecodeError:
        return _message(mend(raw))


def mend(raw: bytes) -> bytes:
    """JSON in which each half of a surrogate pair that stands alone is replaced."""
    return _SURROGATES.sub(lambda found: rb"\ufffd" if found[1] else found[0], raw)


class CdpConnection:
    """A wire, and the sessions that share it."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._numbers = itertools.count(1)
        self._calls: dict[int, tuple[str, asyncio.Future[msgspec.Raw]]] = {}
        self._listeners: dict[str, Listener] = {}
        self._reading = asyncio.create_task(self._read())
        self.browser = CdpSession(self, "")

    @property
    def gone(self) -> bool:
        return self._reading.done()

    async def wait_ended(self) -> None:
        """Wait until the browser is gone."""
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.wait([self._reading])

    def session(self, name: str, listener: Listener) -> "CdpSession":
        """A session with one target; `listener` gets the events of the target."""
        self._listeners[name] = listener
        return CdpSession(self, name)

    def listen(self, listener: Listener) -> None:
        """Set the listener for events of the browser itself."""
        self._listeners[""] = listener

    def forget(self, name: str) -> None:
        """Drop the listener of a session. Its pending calls fail."""
        self._listeners.pop(name, None)
        for session, answer in list(self._calls.values()):
            if session == name:
                _fail(answer)

    async def call(
        self, session: str, method: str, params: Mapping[str, Any], deadline: float
    ) -> msgspec.Raw:
        if self.gone:
            raise CdpGone
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
            raise CdpGone from error

    async def _read(self) -> None:
        try:
            for number in itertools.count():
                raw = await self._wire.receive()
                if raw is None:
                    return
                with contextlib.suppress(msgspec.DecodeError):  # the caller has a deadline
                    self._dispatch(_decode(raw))
                if number % MAX_BATCH == 0:
                    await asyncio.sleep(0)
        except OSError:
            pass
        finally:
            for _, answer in list(self._calls.values()):
                _fail(answer)
            for listener in list(self._listeners.values()):
                listener("", NOTHING)

    def _dispatch(self, message: _Message) -> None:
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
            answer.set_exception(CdpRefused(message.error.message))


def _fail(answer: asyncio.Future[msgspec.Raw]) -> None:
    if not answer.done():
        answer.set_exception(CdpGone())


class CdpSession:
    """A session with one target. The session without a name is the browser itself."""

    def __init__(self, connection: CdpConnection, name: str) -> None:
        self.name = name
        self._connection = connection

    async def ask(self, kind: type[T], method: str, deadline: float, **params: Any) -> T:
        """Call a method and decode its result."""
        raw = await self._connection.call(self.name, method, params, deadline)
        return msgspec.json.decode(raw, type=kind)

    async def tell(self, method: str, deadline: float, **params: Any) -> None:
        """Call a method and ignore its result."""
        await self._connection.call(self.name, method, params, deadline)
