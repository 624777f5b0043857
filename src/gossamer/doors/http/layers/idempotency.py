"""Idempotency-Key: a POST that is sent again gets the answer of the first one, and has no second effect.

Hot is checked first. Of several equal requests the first does the work, and the others wait for its answer
and share it. Answers that must not be replayed later (5xx, 429, 402, large bodies) are handed to the requests
that wait when the first one ends, in any process, and to no others. If the client of the first one goes away,
one of the waiting requests takes over. The database guards effects that must not happen twice even if Hot
loses its data: an endpoint calls `exchange.remember` in the transaction of its effect, and a second
transaction for the same key rolls back and replays.

Stored answers are encrypted with a key that is derived from the caller's secret and the Idempotency-Key, so
an answer that shows a secret once is of no use to a reader of the store.
"""

import asyncio
import contextlib
import hashlib
import hmac
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer import problems
from gossamer.concurrency.periodic import every
from gossamer.doors.http.core.exchange import Exchange, Remember, Replay
from gossamer.doors.http.core.forms import read_form
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Problem, Unavailable
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.kv.hot import Claim, Hot, claim_or_wait, hand_over
from gossamer.state.seal import Seal
from gossamer.state.tenants import once

FORM_FIELD: Final = "once"  # the key, in a form of the dashboard
MAX_KEY_CHARS: Final = 255
MAX_STORED_BYTES: Final = 1_000_000  # of a body that is stored for repeats
MAX_SHARED_BYTES: Final = 8_000_000  # of a body that waiting requests share
_LEASE: Final = 5.0  # seconds; renewed during the work, so a crash delays other requests only briefly
_NEVER_STORED: Final = frozenset({402, 429})


class StoredAnswer(msgspec.Struct, array_like=True):
    """An answer that is stored for repeats of its request."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def may_be_kept(self) -> bool:
        """Whether later requests may get it too."""
        passing = self.status >= 500 or self.status in _NEVER_STORED
        return not passing and len(self.body) <= MAX_STORED_BYTES

    def response(self) -> Response:
        response = Response(self.body, self.status)
        response.raw_headers = list(self.headers)
        return response


class IdempotentRequest(Struct, frozen=True):
    """A request with an Idempotency-Key: the name, the fingerprint and the seal of its stored answer."""

    key: str
    scope: str  # 64 hex: caller, method, path and key
    fingerprint: str  # 64 hex: query and body
    _seal: Seal

    def seal(self, stored: StoredAnswer) -> bytes:
        return self._seal.seal(msgspec.msgpack.encode(stored), self.scope)

    def open(self, sealed: bytes) -> StoredAnswer:
        return msgspec.msgpack.decode(self._seal.open(sealed, self.scope), type=StoredAnswer)

    def check(self, fingerprint: str, ttl: float) -> None:
        if not hmac.compare_digest(fingerprint, self.fingerprint):
            raise Problem(
                problems.IDEMPOTENCY_KEY_CONFLICT,
                f"Idempotency-Key '{self.key}' was already used with a different request.",
                hint=f"Use a new key, or wait until this one is forgotten ({ttl:g} s).",
            )


def idempotent_request(exchange: Exchange, key: str, body: bytes) -> IdempotentRequest:
    caller = exchange.caller.key_id or exchange.client
    scope = _digest(caller.encode(), exchange.method.encode(), exchange.path.encode(), key.encode())
    fingerprint = _digest(exchange.scope["query_string"], canonical(body))
    secret = b"\0".join((b"gossamer-idempotency", exchange.secret.encode(), key.encode()))
    return IdempotentRequest(key, scope, fingerprint, Seal(hashlib.sha256(secret).digest()))


def canonical(body: bytes) -> bytes:
    """JSON with sorted keys and without white space; other bodies unchanged."""
    try:
        return msgspec.json.encode(msgspec.json.decode(body), order="deterministic")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return body


def _digest(*parts: bytes) -> str:
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.hexdigest()


def check_key(key: str) -> str:
    if not 1 <= len(key) <= MAX_KEY_CHARS or not all("!" <= character <= "~" for character in key):
        raise problems.validation_error(
            f"Idempotency-Key must be 1 to {MAX_KEY_CHARS} visible ASCII characters.",
            hint="Use a UUID, for example.",
        )
    return key


class Idempotency(Struct, frozen=True):
    """Answers a repeated POST with the answer of the first one."""

    app: ASGIApp
    hot: Hot
    ttl: int
    log: Log
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        key = await _find_key(exchange) if exchange.method == "POST" else None
        if key is None:
            await self.app(scope, receive, send)
            return
        mine = idempotent_request(exchange, check_key(key), await exchange.body())
        exchange.remember = self._remembering(mine, exchange)
        claim = await self._claim(mine)
        if claim is None:  # Hot is away; the database still guards effects that must not happen twice
            await self.app(scope, receive, send)
        elif claim.value is not None:
            replay = self._open_stored(mine, claim.value)
            await self._replay(replay, mine, exchange)(scope, receive, send)
        else:
            await self._run(mine, claim, scope, receive, send)

    async def _claim(self, mine: IdempotentRequest) -> Claim | None:
        try:
            return await claim_or_wait(self.hot, f"idem:{mine.scope}", _LEASE)
        except Unavailable:
            return None

    def _open_stored(self, mine: IdempotentRequest, value: bytes) -> StoredAnswer:
        fingerprint, sealed = value[:64].decode(), value[64:]
        mine.check(fingerprint, self.ttl)
        return mine.open(sealed)

    async def _run(
        self, mine: IdempotentRequest, claim: Claim, scope: Scope, receive: Receive, send: Send
    ) -> None:
        exchange: Exchange = scope["exchange"]
        recorder = Recorder(send)
        renewing = asyncio.create_task(self._keep(claim))

        async def conclude() -> None:
            renewing.cancel()
            answer = None if exchange.unpaid else recorder.answer()
            await asyncio.shield(self._finish(mine, claim, answer))

        async with AsyncExitStack() as own:
            (exchange.concluding or own).push_async_callback(conclude)
            await self.app(scope, receive, recorder)

    async def _keep(self, claim: Claim) -> None:
        """Renew the lease until cancelled; without Hot there is nothing to renew."""
        with contextlib.suppress(Unavailable):
            await every(_LEASE / 3, partial(self.hot.renew, claim, _LEASE))

    async def _finish(self, mine: IdempotentRequest, claim: Claim, answer: StoredAnswer | None) -> None:
        try:
            if answer is None:
                await self.hot.release(claim)
                return
            value = mine.fingerprint.encode() + mine.seal(answer)
            if answer.may_be_kept:
                await self.hot.settle(claim, value, self.ttl)
            else:
                await hand_over(self.hot, claim, value)
        except Unavailable as away:
            self.log.warning(
                "idempotency_unstored", "an answer could not be kept for its repeats", why=away.detail
            )

    def _remembering(self, mine: IdempotentRequest, exchange: Exchange) -> Remember:
        async def remember(connection: AsyncConnection, answer: Response) -> None:
            stored = StoredAnswer(answer.status_code, list(answer.raw_headers), bytes(answer.body))
            try:
                await once.remember(connection, mine.scope, mine.fingerprint, mine.seal(stored), self.ttl)
            except once.AlreadyDone as done:
                raise Replay(self._replay(mine.open(done.answer), mine, exchange)) from None

        return remember

    def _replay(self, stored: StoredAnswer, mine: IdempotentRequest, exchange: Exchange) -> Response:
        self.metrics.count_replay()
        self.log.info(
            "idempotent_replay",
            "a repeated request got the first one's answer",
            requestId=exchange.request_id,
            idempotencyKey=mine.key,
            replayed=True,
        )
        exchange.headers.append((b"x-idempotent-replayed", b"true"))
        return stored.response()


async def _find_key(exchange: Exchange) -> str | None:
    """The Idempotency-Key of a POST. A form of the dashboard has it in a field, so a double click is one."""
    route = exchange.route
    if route is None or not route.idempotent:
        return None
    if route.page:
        return (await read_form(exchange)).get(FORM_FIELD) or None
    return exchange.header(b"idempotency-key" if route.dialect is None else route.dialect.idempotency_header)


class Recorder:
    """Passes an answer on, and keeps a copy unless it is too large to share."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._chunks: list[bytes] = []
        self._size = 0
        self._complete = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = list(message["headers"])
        elif message["type"] == "http.response.body":
            self._record(message.get("body", b""), more=message.get("more_body", False))
        await self._send(message)

    def _record(self, chunk: bytes, *, more: bool) -> None:
        self._size += len(chunk)
        self._complete = not more
        if self._size <= MAX_SHARED_BYTES:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()

    def answer(self) -> StoredAnswer | None:
        """None if the answer is not complete, or too large."""
        if not self._complete or self._size > MAX_SHARED_BYTES:
            return None
        return StoredAnswer(self._status, self._headers, b"".join(self._chunks))
