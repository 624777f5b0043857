"""Exchange: one request and its answer, as all layers share it."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from gossamer import problems
from gossamer.flows.pages.caching import Admit, admit_always
from gossamer.flows.pages.encoding import bounded, encode_by_pieces
from gossamer.flows.tenants.admit import NOBODY, Caller
from gossamer.problems import Problem
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.limits import LimitStatus

if TYPE_CHECKING:
    from gossamer.doors.http.core.dialect import Dialect
    from gossamer.doors.http.core.repeating import RepeatableAnswer, RepeatableRender
    from gossamer.doors.http.core.routing import Route

T = TypeVar("T")
Headers = list[tuple[bytes, bytes]]
Remember = Callable[[AsyncConnection, Response], Awaitable[None]]

WATCH_AFTER_SECONDS: Final = 0.05  # after this time we watch whether the client is still there
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_PAIRS: Final = tuple(first + second for first in _DIGITS for second in _DIGITS)
_ONCE_ONLY: Final = frozenset(
    {b"authorization", b"content-length", b"content-type", b"host", b"idempotency-key"}
    | {b"payment-signature", b"x-payment"}
)


def new_request_id(now: float | None = None) -> str:
    milliseconds = int((time.time() if now is None else now) * 1000)
    rest, third = divmod(int.from_bytes(secrets.token_bytes(8)) % 36**6, 36**2)
    first, second = divmod(rest, 36**2)
    return f"wl_{_base36(milliseconds)}_{_PAIRS[first]}{_PAIRS[second]}{_PAIRS[third]}"


@lru_cache(maxsize=4)  # many requests come in the same millisecond
def _base36(number: int) -> str:
    digits = ""
    while number:
        number, pair = divmod(number, 36**2)
        digits = _PAIRS[pair] + digits
    return digits.lstrip("0")


class ClientGone(Exception):
    """The client has disconnected, so there is no client to answer."""


class Replay(Exception):
    """The effect has happened before: send its first answer again."""

    def __init__(self, response: Response) -> None:
        super().__init__("already done")
        self.response = response


@dataclass(slots=True)
class Handover:
    """What the connection knows about a request beyond the ASGI scope."""

    KEY: ClassVar[str] = "gossamer.handover"  # in the ASGI scope

    refusal: Problem | None = None  # why the connection refused the head
    limit_statuses: Sequence[LimitStatus] = ()  # of limits that the fast path has counted already
    on_answer: "Callable[[Exchange, Headers, bytes], None] | None" = (
        None  # called after an answer was sent in one write
    )
    exchange: "Exchange | None" = None  # set by the outermost layer
    caller: Caller | None = None  # of a call in this process that needs no key
    outer: "Exchange | None" = None  # the request on whose behalf a call in this process is made
    resource: str = ""  # what the caller buys with it, if that is not named by the call's own address
    may_upgrade: bool = False  # an answer of 101 makes the connection a stream of bytes, both ways

    @property
    def is_in_process(self) -> bool:
        """Whether no client sent the request: its `Host` says nothing."""
        return self.caller is not None or self.outer is not None

    @property
    def is_by_owner(self) -> bool:
        """Whether the owner of the machine asks, in this process and for nobody else."""
        return self.caller is not None and self.outer is None


class Exchange:
    """The state of a request so far, and the headers of its answer."""

    __slots__ = (
        "_body",
        "_receive",
        "admit_work",
        "allowed_methods",
        "answered",
        "cache_hit",
        "caller",
        "client",
        "concluding",
        "deciding",
        "denial",
        "dialect",
        "error",
        "handover",
        "headers",
        "is_arriving",
        "limit_statuses",
        "max_body",
        "method",
        "outcome",
        "paid",
        "parameters",
        "path",
        "problem",
        "relayed",
        "remember",
        "repeatable",
        "request_id",
        "route",
        "scope",
        "secret",
        "started",
        "status",
        "unpaid",
    )

    def __init__(self, scope: Scope, receive: Receive, max_body: int) -> None:
        self.scope = scope
        self.handover: Handover = scope.get(Handover.KEY) or Handover()
        self.handover.exchange = self
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        outer = self.handover.outer
        self.request_id: str = new_request_id() if outer is None else outer.request_id
        self.started = time.perf_counter()
        self.max_body = max_body
        self.client = ""  # the address that limits count by: see clients.py
        self.route: Route | None = None
        self.dialect: Dialect | None = None  # in which errors are told
        self.parameters: dict[str, str] = {}
        self.caller: Caller = NOBODY
        self.secret = ""  # the API key as it was sent
        self.denial: Problem | None = None  # raised once the request has been counted
        self.limit_statuses: list[LimitStatus] = []
        self.admit_work: Admit = admit_always  # called before work that the cache could not save
        self.headers: Headers = []  # joined to the answer's own
        self.answered = False
        self.status = 0
        self.error: str | None = None  # the code of what went wrong
        self.problem: Problem | None = None
        self.outcome = ""  # of the target's answer, if there was one; only "ok" is charged
        self.paid: tuple[str, int] | None = None  # the network, and the amount in atomic units
        self.unpaid = False  # there is an answer that is not paid for yet
        self.deciding: set[bytes] = set()  # names of header fields that the answer may depend on: those read
        self.concluding: AsyncExitStack | None = None  # callbacks for when the payment is settled or given up
        self.cache_hit: bool | None = None
        self.relayed: Exchange | None = None  # the call in this process that the answer is a translation of
        # What the answer was made from, if it may be given again while that is the same.
        self.repeatable: RepeatableRender | RepeatableAnswer | None = None
        self.remember: Remember = _nothing_to_remember
        self.is_arriving = False  # its body is being received
        self._receive = receive
        self._body: bytes | None = None

    @property
    def endpoint(self) -> str:
        """The route's template, by which logs and metrics count."""
        return self.route.path if self.route else "unknown"

    @property
    def actor(self) -> Actor:
        """Who acts in this request, for the log of activity."""
        caller = self.caller
        return Actor(caller.key_id, caller.name, caller.via, self.client, self.request_id)

    def elapsed_ms(self) -> int:
        return round((time.perf_counter() - self.started) * 1000)

    def header(self, name: bytes) -> str | None:
        """The value of a request header. Refuses a second value where only one is allowed."""
        self.deciding.add(name)
        values = [value for key, value in self.scope["headers"] if key == name]
        if len(values) > 1 and name in _ONCE_ONLY:
            raise problems.validation_error(
                f"The header {name.decode().title()} was sent {len(values)} times.",
                hint="Send it once.",
            )
        return values[0].decode("latin-1").strip() if values else None

    async def body(self) -> bytes:
        """The whole request body, of at most `max_body` bytes. It is read once."""
        if self._body is None:
            self._body = b"".join([piece async for piece in self.body_pieces()])
        return self._body

    async def body_pieces(self) -> AsyncGenerator[bytes]:
        """The request body as it arrives, of at most `max_body` bytes, for what is too large for memory."""
        self._refuse_declared_length()
        self.is_arriving = True
        size, more = 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            piece = message.get("body", b"")
            size += len(piece)
            if size > self.max_body:
                raise self._too_large()
            yield piece
            more = message.get("more_body", False)
        self.is_arriving = False

    async def unless_gone(self, work: Awaitable[T]) -> T:
        """Return the result of `work`, and cancel `work` if the client disconnects. Call `body` first."""
        async with _Watch(self._receive):
            return await work

    def _refuse_declared_length(self) -> None:
        declared = self.header(b"content-length")
        if declared is not None and declared.isdigit() and int(declared) > self.max_body:
            raise self._too_large()

    def _too_large(self) -> Problem:
        return Problem(
            problems.PAYLOAD_TOO_LARGE,
            f"The request body is larger than {self.max_body:,} bytes.",
            limit=self.max_body,
        )


class _Watch:
    """Ends its block with `ClientGone` if the client disconnects, as `asyncio.timeout` does at a deadline."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._going: asyncio.Future[Message] | None = None
        self._is_gone = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (a coroutine runs in one)
        self._task = task
        self._cancelling = task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(WATCH_AFTER_SECONDS, self._look)

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._timer.cancel()
        if self._going is not None:
            self._going.cancel()
            await asyncio.gather(self._going, return_exceptions=True)
        if self._is_gone and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise ClientGone

    def _look(self) -> None:
        self._going = asyncio.ensure_future(self._receive())
        self._going.add_done_callback(self._gone)

    def _gone(self, going: "asyncio.Future[Message]") -> None:
        if not going.cancelled():
            self._is_gone = True
            self._task.cancel()


async def _nothing_to_remember(connection: AsyncConnection, answer: Response) -> None:
    """The request has no Idempotency-Key."""


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    body = bounded(msgspec.json.encode(value))
    return Response(body, status, headers, media_type="application/json")


async def answer_by_pieces(value: msgspec.Struct, headers: dict[str, str]) -> Response:
    """The same as `answer`, for values with long texts."""
    return Response(await encode_by_pieces(value), headers=headers, media_type="application/json")
