"""Exchange: one request and what becomes of its answer. Every layer reads and writes this, typed."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.responses import Response
from starlette.types import Receive, Scope

from gossamer import problems
from gossamer.flows.admit import NOBODY, Caller
from gossamer.problems import Problem
from gossamer.state.limits import Standing

if TYPE_CHECKING:
    from gossamer.doors.http.routing import Route
    from gossamer.flows.serve import Wish
    from gossamer.state.page_cache import PageKey

T = TypeVar("T")
Headers = list[tuple[bytes, bytes]]
Remember = Callable[[AsyncConnection, Response], Awaitable[None]]

LARGEST_ANSWER: Final = 10_000_000  # bytes
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_PAIRS: Final = tuple(first + second for first in _DIGITS for second in _DIGITS)
_ONCE_ONLY: Final = frozenset(
    {b"authorization", b"content-length", b"content-type", b"host", b"idempotency-key"}
    | {b"payment-signature", b"x-payment"}
)


def new_request_id(now: float | None = None) -> str:
    milliseconds = int((time.time() if now is None else now) * 1000)
    random = int.from_bytes(secrets.token_bytes(8)) % 36**6
    return f"wl_{_base36(milliseconds).lstrip('0')}_{_base36(random)}"


def _base36(number: int) -> str:
    """Two digits at a time, at least six."""
    digits = ""
    while number or len(digits) < 6:
        number, pair = divmod(number, 1296)
        digits = _PAIRS[pair] + digits
    return digits


class ClientGone(Exception):
    """The client went away while it was sending its body: there is nobody to answer."""


class Replay(Exception):
    """The effect has happened before: what is to be sent is the answer that it was given then."""

    def __init__(self, response: Response) -> None:
        super().__init__("already done")
        self.response = response


class Exchange:
    """What is known so far of a request, and what its answer will carry besides its body."""

    __slots__ = (
        "_body",
        "_receive",
        "allowed_methods",
        "answered",
        "cache_hit",
        "caller",
        "client",
        "denial",
        "error",
        "headers",
        "hot_page",
        "max_body",
        "method",
        "outcome",
        "paid",
        "parameters",
        "path",
        "remember",
        "request_id",
        "route",
        "scope",
        "secret",
        "standings",
        "started",
        "status",
    )

    def __init__(self, scope: Scope, receive: Receive, max_body: int) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.request_id = new_request_id()
        self.started = time.perf_counter()
        self.max_body = max_body
        self.client = ""  # the address that limits count by: see clients.py
        self.route: Route | None = None
        self.parameters: dict[str, str] = {}
        self.caller: Caller = NOBODY
        self.secret = ""  # the API key as it was sent
        self.denial: Problem | None = None  # raised once the request has been counted
        self.standings: list[Standing] = []
        self.headers: Headers = []  # joined to the answer's own
        self.answered = False
        self.status = 0
        self.error: str | None = None
        self.outcome = ""  # what the target's answer was, where there was one; only "ok" is worth paying for
        self.paid: tuple[str, int] | None = None  # on which network, and how much in atomic units
        self.cache_hit: bool | None = None
        self.hot_page: tuple[PageKey, Wish, str] | None = None  # which it was answered with, wish and etag
        self.remember: Remember = _nothing_to_remember
        self._receive = receive
        self._body: bytes | None = None

    @property
    def endpoint(self) -> str:
        """The route's template: what logs and metrics count by."""
        return self.route.path if self.route else "unknown"

    def elapsed_ms(self) -> int:
        return round((time.perf_counter() - self.started) * 1000)

    def header(self, name: bytes) -> str | None:
        """The value of a request header; one that must not be sent twice is refused when it was."""
        values = [value for key, value in self.scope["headers"] if key == name]
        if len(values) > 1 and name in _ONCE_ONLY:
            raise problems.validation_error(
                f"The header {name.decode().title()} was sent {len(values)} times.",
                hint="Send it once.",
            )
        return values[0].decode("latin-1").strip() if values else None

    async def body(self) -> bytes:
        """The whole request body, read once, never more than `max_body` bytes of it."""
        if self._body is None:
            self._refuse_declared_length()
            self._body = await self._read()
        return self._body

    async def unless_gone(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` answers; when the client goes away meanwhile, `work` ends there. After `body` only."""
        working = asyncio.ensure_future(work)
        going = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait((working, going), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise ClientGone
        finally:
            working.cancel()
            going.cancel()
            await asyncio.gather(working, going, return_exceptions=True)

    def _refuse_declared_length(self) -> None:
        declared = self.header(b"content-length")
        if declared is not None and declared.isdigit() and int(declared) > self.max_body:
            raise self._too_large()

    async def _read(self) -> bytes:
        chunks: list[bytes] = []
        size = 0
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self.max_body:
                raise self._too_large()
            chunks.append(chunk)
            more = message.get("more_body", False)
        return b"".join(chunks)

    def _too_large(self) -> Problem:
        return Problem(
            problems.PAYLOAD_TOO_LARGE,
            f"The request body is larger than {self.max_body:,} bytes.",
            limit=self.max_body,
        )


async def _nothing_to_remember(connection: AsyncConnection, answer: Response) -> None:
    """The request has no Idempotency-Key."""


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    body = bounded(msgspec.json.encode(value))
    return Response(body, status, headers, media_type="application/json")


def bounded(body: bytes, most: int = LARGEST_ANSWER) -> bytes:
    """The body of an answer, if it is not too large to be one; nothing is ever cut silently."""
    if len(body) > most:
        raise Problem(
            problems.CONTENT_TOO_LARGE,
            f"The answer would have {len(body):,} bytes; {most:,} are allowed.",
            hint="Ask for fewer formats, or for the format llm with maxTokens.",
            details={"reason": "answer_too_large", "maxBytes": most},
        )
    return body
