"""Idempotency-Key: a POST that is sent again gets the first one's answer and does nothing a second time.

Hot is the fast first answer: the first of many equal requests does the work, the others wait for it. What
must not happen twice even when Hot is lost is guarded in the database: an endpoint calls `exchange.remember`
inside the transaction of its effect, and a second transaction for the same key then rolls back and replays.

Stored answers are sealed with a key that is made from the caller's secret and the Idempotency-Key, so that
an answer which shows a secret once is of no use to whoever reads the store.
"""

import asyncio
import contextlib
import hashlib
import hmac
import secrets
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.exchange import Exchange, Remember, Replay
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Problem, Unavailable
from gossamer.state import once
from gossamer.state.hot import Claim, Hot, claim_or_wait

LONGEST_KEY: Final = 255
LARGEST_ANSWER: Final = 1_000_000
_LEASE: Final = 5.0  # seconds; renewed while the work goes on, so that a crash holds others up only briefly
_NEVER_STORED: Final = frozenset({402, 429})
_NONCE: Final = 12


class Stored(msgspec.Struct, array_like=True):
    """An answer as it is kept."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def response(self) -> Response:
        response = Response(self.body, self.status)
        response.raw_headers = list(self.headers)
        return response


@dataclass(frozen=True, slots=True)
class Ticket:
    """A request's claim to be answered once: where its answer is kept, for which body, under which seal."""

    key: str
    scope: str  # 64 hex: caller, method, path and key
    fingerprint: str  # 64 hex: query and body
    _cipher: AESGCM

    def seal(self, stored: Stored) -> bytes:
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self._cipher.encrypt(nonce, msgspec.msgpack.encode(stored), self.scope.encode())

    def open(self, sealed: bytes) -> Stored:
        clear = self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], self.scope.encode())
        return msgspec.msgpack.decode(clear, type=Stored)

    def check(self, fingerprint: str, ttl: float) -> None:
        if not hmac.compare_digest(fingerprint, self.fingerprint):
            raise Problem(
                problems.IDEMPOTENCY_KEY_CONFLICT,
                f"Idempotency-Key '{self.key}' was already used with a different request.",
                hint=f"Use a new key, or wait until this one is forgotten ({ttl:g} s).",
            )


def ticket(exchange: Exchange, key: str, body: bytes) -> Ticket:
    caller = exchange.caller.key_id or exchange.client
    scope = _digest(caller.encode(), exchange.method.encode(), exchange.path.encode(), key.encode())
    fingerprint = _digest(exchange.scope["query_string"], canonical(body))
    seal = hashlib.sha256(
        b"\0".join((b"gossamer-idempotency", exchange.secret.encode(), key.encode()))
    ).digest()
    return Ticket(key, scope, fingerprint, AESGCM(seal))


def canonical(body: bytes) -> bytes:
    """JSON with its keys in a stable order and without white space; anything else as it is."""
    try:
        return msgspec.json.encode(msgspec.json.decode(body), order="deterministic")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return body


def _digest(*parts: bytes) -> str:
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.hexdigest()


def checked_key(key: str) -> str:
    if not 1 <= len(key) <= LONGEST_KEY or not all("!" <= character <= "~" for character in key):
        raise problems.validation_error(
            f"Idempotency-Key must be 1 to {LONGEST_KEY} visible ASCII characters.",
            hint="A UUID is a good one.",
        )
    return key


class Idempotency:
    """Answers a repeated POST from what the first one was answered."""

    def __init__(self, app: ASGIApp, *, hot: Hot, ttl: int, log: Log, metrics: Metrics) -> None:
        self.app = app
        self._hot = hot
        self._ttl = ttl
        self._log = log
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        key = exchange.header(b"idempotency-key") if exchange.method == "POST" else None
        if key is None or exchange.route is None or not exchange.route.idempotent:
            await self.app(scope, receive, send)
            return
        mine = ticket(exchange, checked_key(key), await exchange.body())
        exchange.remember = self._remembering(mine, exchange)
        claim = await self._claim(mine)
        if claim is None:  # Hot is away: the database still guards what must not happen twice
            await self.app(scope, receive, send)
        elif claim.value is not None:
            replay = self._stored(mine, claim.value)
            await self._replay(replay, mine, exchange)(scope, receive, send)
        else:
            await self._run(mine, claim, scope, receive, send)

    async def _claim(self, mine: Ticket) -> Claim | None:
        try:
            return await claim_or_wait(self._hot, f"idem:{mine.scope}", _LEASE)
        except Unavailable:
            return None

    def _stored(self, mine: Ticket, value: bytes) -> Stored:
        fingerprint, sealed = value[:64].decode(), value[64:]
        mine.check(fingerprint, self._ttl)
        return mine.open(sealed)

    async def _run(self, mine: Ticket, claim: Claim, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        recorder = Recorder(send)
        renewing = asyncio.create_task(self._keep(claim))

        async def conclude() -> None:
            renewing.cancel()
            stored = None if exchange.unpaid else recorder.stored()
            await asyncio.shield(self._finish(mine, claim, stored))

        async with AsyncExitStack() as own:
            (exchange.concluding or own).push_async_callback(conclude)
            await self.app(scope, receive, recorder)

    async def _keep(self, claim: Claim) -> None:
        """Renew the lease until cancelled; without Hot there is nothing to renew."""
        with contextlib.suppress(Unavailable):
            ours = True
            while ours:
                await asyncio.sleep(_LEASE / 3)
                ours = await self._hot.renew(claim, _LEASE)

    async def _finish(self, mine: Ticket, claim: Claim, stored: Stored | None) -> None:
        try:
            if stored is None:
                await self._hot.release(claim)
            else:
                await self._hot.settle(claim, mine.fingerprint.encode() + mine.seal(stored), self._ttl)
        except Unavailable as away:
            self._log.warning(
                "idempotency_unstored", "an answer could not be kept for its repeats", why=away.detail
            )

    def _remembering(self, mine: Ticket, exchange: Exchange) -> Remember:
        async def remember(connection: AsyncConnection, answer: Response) -> None:
            stored = Stored(answer.status_code, list(answer.raw_headers), bytes(answer.body))
            try:
                await once.remember(connection, mine.scope, mine.fingerprint, mine.seal(stored), self._ttl)
            except once.AlreadyDone as done:
                raise Replay(self._replay(mine.open(done.answer), mine, exchange)) from None

        return remember

    def _replay(self, stored: Stored, mine: Ticket, exchange: Exchange) -> Response:
        self._metrics.replayed()
        self._log.info(
            "idempotent_replay",
            "a repeated request got the first one's answer",
            requestId=exchange.request_id,
            idempotencyKey=mine.key,
            replayed=True,
        )
        exchange.headers.append((b"x-idempotent-replayed", b"true"))
        return stored.response()


class Recorder:
    """Passes an answer on and keeps a copy, as long as it is one that may be kept."""

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
        if self._size <= LARGEST_ANSWER:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()

    def stored(self) -> Stored | None:
        keepable = self._status < 500 and self._status not in _NEVER_STORED and self._size <= LARGEST_ANSWER
        return (
            Stored(self._status, self._headers, b"".join(self._chunks))
            if keepable and self._complete
            else None
        )
