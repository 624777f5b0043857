"""Exchange: one request and its answer, as all layers share it."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import msgspec
from msgspec import Struct
from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from gossamer import problems
from gossamer.flows.pages.caching import Admit, admit_always
from gossamer.flows.pages.encoding import bounded, encode_by_pieces
from gossamer.flows.tenants.admit import NOBODY, Caller
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
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
_JSON: Final = (b"content-type", b"application/json")
_ONCE_ONLY: Final = frozenset(
    {b"authorization", b"content-length", b"content-type", b"host", b"idempotency-key"}
    | {b"payment-signature", b"x-payment"}
)


def new_request_id(now: float | None = None) -> str:
    milliseconds = int((time.time() if now is None else now) * 1000)
    # No secret: it has to differ from those of the same millisecond, and the system's randomness is slow.
    rest, third = divmod(random.getrandbits(52) % 36**6, 36**2)
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


class Handover(Struct):
    """What the connection knows about a request beyond the ASGI scope."""

    KEY: ClassVar[str] = "gossamer.handover"  # in the ASGI scope

    refusal: Problem | None = None  # why the connection refused the head
    limit_statuses: Sequence[LimitStatus] = ()  # of limits that the fast path has counted already
    on_answer: "Callable[[Exchange, Headers, bytes], None] | None" = (
        None  # called after an answer was sent in one write
    )
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
    """The state of a request so far, and the headers of its answer.

    It is in the scope while the layers run. Whoever has made the scope takes it out again: two that hold
    each other stay until the garbage collector finds them, which takes a tenth of the server's time.
    """

    KEY: ClassVar[str] = "exchange"  # in the ASGI scope

    # Most of these keep their defaults, which are therefore the class's: each request makes an exchange.
    client = ""  # the address that limits count by: see clients.py
    route: "Route | None" = None
    dialect: "Dialect | None" = None  # in which errors are told
    caller: Caller = NOBODY
    secret = ""  # the API key as it was sent
    denial: Problem | None = None  # raised once the request has been counted
    answered = False
    on_answer: "Callable[[Exchange], None] | None" = None  # called when the answer begins
    status = 0
    error: str | None = None  # the code of what went wrong
    problem: Problem | None = None
    outcome = ""  # of the target's answer, if there was one; only "ok" is charged
    paid: tuple[str, int] | None = None  # the network, and the amount in atomic units
    unpaid = False  # there is an answer that is not paid for yet
    concluding: AsyncExitStack | None = None  # callbacks for when the payment is settled or given up
    cache_hit: bool | None = None
    relays = 0  # calls in this process that were made for the answer
    relayed: "Exchange | None" = None  # the last of them
    # What the answer was made from, if it may be given again while that is the same.
    repeatable: "RepeatableRender | RepeatableAnswer | None" = None
    is_arriving = False  # its body is being received
    _body: bytes | None = None

    def __init__(self, scope: Scope, receive: Receive, max_body: int) -> None:
        self.scope = scope
        self.handover: Handover = scope.get(Handover.KEY) or Handover()
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        outer = self.handover.outer
        self.request_id: str = new_request_id() if outer is None else outer.request_id
        self.started = time.perf_counter()
        self.max_body = max_body
        self.parameters: dict[str, str] = {}
        self.limit_statuses: list[LimitStatus] = []
        self.headers: Headers = []  # joined to the answer's own
        self.deciding: set[bytes] = set()  # names of header fields that the answer may depend on: those read
        self.admit_work: Admit = admit_always  # called before work that the cache could not save
        self.remember: Remember = _nothing_to_remember
        self._receive = receive

    @property
    def endpoint(self) -> str:
        """The route's template, by which logs and metrics count."""
        return self.route.path if self.route else "unknown"

    @property
    def actor(self) -> Actor:
        """Who acts in this request, for the log of activity."""
        caller = self.caller
        return Actor(caller.key_id, caller.name, caller.via, self.client, self.request_id)

    def repeat_relayed(self, seconds_field: str = "") -> None:
        """Called where the answer is a translation of calls in this process, and depends on nothing else. If
        there was one, it may be given again for as long as the answer of that call. `seconds_field` is a
        field at its end, with the time that it took."""
        if self.relays == 1 and self.relayed is not None and self.relayed.repeatable is not None:
            self.repeatable = self.relayed.repeatable.translate(seconds_field)

    def elapsed_ms(self) -> int:
        return round((time.perf_counter() - self.started) * 1000)

    def header(self, name: bytes) -> str | None:
        """The value of a request header. Refuses a second value where only one is allowed."""
        self.deciding.add(name)
        values = [value for key, value in self.scope["headers"] if key == name]
        if not values:
            return None
        if len(values) > 1 and name in _ONCE_ONLY:
            raise problems.validation_error(
                f"The header {name.decode().title()} was sent {len(values)} times.",
                hint="Send it once.",
            )
        value: str = values[0].decode("latin-1").strip()
        return value

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


class JsonResponse(Response):
    """JSON, with fields that need no look at what the endpoint named."""

    background = None

    def __init__(self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.status_code = status
        self.body = body
        fields = [(b"content-length", b"%d" % len(body)), _JSON]
        if headers:
            named = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
            fields = [*named, *fields]
        self.raw_headers = fields


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return JsonResponse(bounded(msgspec.json.encode(value)), status, headers)


async def answer_by_pieces(value: msgspec.Struct, headers: dict[str, str]) -> Response:
    """The same as `answer`, for values with long texts."""
    return JsonResponse(await encode_by_pieces(value), headers=headers)
