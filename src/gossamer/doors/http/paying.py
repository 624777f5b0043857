"""Paying at the HTTP door: who has no key is asked for money, and served for it.

A request without a payment is answered with 402 and what it costs, in the forms of both versions of x402; one
with a payment is served, and its answer held back until the money was moved. What is not worth paying for (an
error, a page that is not the one asked for) is given for nothing.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.discovery import extensions
from gossamer.doors.http.exchange import ClientGone, Exchange
from gossamer.doors.http.idempotency import LARGEST_ANSWER, Stored, Ticket, canonical
from gossamer.doors.http.limiting import count_also, refused
from gossamer.doors.http.routing import Route
from gossamer.flows.pay import Payments, Sale, Used
from gossamer.flows.quotes import Purchase
from gossamer.flows.till import Refused
from gossamer.metrics import Metrics
from gossamer.problems import Problem, Unavailable
from gossamer.setting_values import Money
from gossamer.state.hot import Hot
from gossamer.state.limits import Limits, Standing
from gossamer.state.tenants import Role
from gossamer.web import x402
from gossamer.web.outcome import Outcome
from gossamer.web.x402 import Malformed, Offer, Payment, Resource

SERVICE: Final = "Gossamer"
_HEADERS: Final = ((b"payment-signature", 2), (b"x-payment", 1))
_ASKED: Final = "PAYMENT-SIGNATURE or X-PAYMENT header is required"


class Paying:
    def __init__(
        self,
        app: ASGIApp,
        *,
        payments: Payments,
        limits: Limits,
        hot: Hot,
        public_url: str,
        repeat_seconds: int,
        metrics: Metrics,
    ) -> None:
        self.app = app
        self._payments = payments
        self._limits = limits
        self._hot = hot
        self._public_url = public_url
        self._repeat_seconds = repeat_seconds
        self._metrics = metrics
        self._declared: dict[str, Mapping[str, Any]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        route = exchange.route
        has_key = exchange.caller.role is not Role.NOBODY
        if route is None or not route.price or has_key or exchange.denial is not None:
            await self.app(scope, receive, send)
            return
        purchase = await self._purchase(exchange, route)
        try:
            payment = _sent(exchange)
            if payment is None:
                raise await self._asked(exchange, purchase, _ASKED)
            await self._take(payment, purchase, scope, receive, send)
        except Malformed as error:
            text = f"The payment cannot be read: {error}."
            raise await self._asked(exchange, purchase, text, "invalid_payment") from None
        except Refused as refusal:
            exchange.headers.extend(refusal.receipt)
            raise await self._asked(exchange, purchase, refusal.detail, refusal.reason) from None

    async def _take(
        self, payment: Payment, purchase: Purchase, scope: Scope, receive: Receive, send: Send
    ) -> None:
        exchange: Exchange = scope["exchange"]
        quoted = await self._payments.quotes.claim(purchase)
        if quoted is None:
            _refuse_floods(exchange)
        mine = _ticket(payment, purchase, exchange)
        try:
            sale = await self._payments.admit(payment, purchase)
        except Used as used:
            again = await self._repeated(mine)
            if again is None:
                raise
            exchange.headers.extend([*used.proof, (b"x-idempotent-replayed", b"true")])
            await again.response()(scope, receive, send)
            return
        if quoted is not None:
            await self._payments.quotes.give_back(purchase, quoted)
        await self._sell(sale, mine, scope, receive, send)

    async def _sell(
        self, sale: Sale, mine: Ticket | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        exchange: Exchange = scope["exchange"]
        exchange.caller = sale.caller
        answer = Withheld()
        async with self._payments.serving(sale), AsyncExitStack() as exchange.concluding:
            await self._count(exchange, sale)
            await self.app(scope, receive, answer)
            exchange.unpaid = charged = answer.status < 400 and _is_worth_it(exchange.outcome, sale)
            if charged:
                await self._settle(sale, exchange, receive)
        if charged:
            await self._keep(mine, answer)
        await answer.let_out(send)
        if charged:
            await self._payments.delivered(sale)

    async def _settle(self, sale: Sale, exchange: Exchange, receive: Receive) -> None:
        async with _watched(receive) as is_gone:
            if is_gone():
                raise ClientGone
            exchange.headers.extend(await self._payments.settle(sale))
            exchange.paid, exchange.unpaid = (sale.till.network.name, sale.entry.amount), False
            if is_gone():  # the answer is theirs: they may come back for it
                await self._payments.settling.let_go(sale.entry)
                raise ClientGone

    # What it costs.

    async def _purchase(self, exchange: Exchange, route: Route) -> Purchase:
        """A request that makes no sense is refused before anybody pays for it; one without a body asks."""
        body = await exchange.body()
        arguments = await route.arguments(exchange) if body else {}
        return Purchase(
            price=route.price(arguments.get("body")) if callable(route.price) else route.price,
            endpoint=route.path,
            resource=Resource(self._public_url + exchange.path, route.summary, "application/json", SERVICE),
            extensions=self._extensions(route),
            request_hash=_digest(exchange, body),
            request_id=exchange.request_id,
            client=exchange.client,
            cached=bool(body) and route.peek is not None and await route.peek(exchange, **arguments),
        )

    def _extensions(self, route: Route) -> Mapping[str, Any]:
        if route.path not in self._declared:
            self._declared[route.path] = extensions(route)
        return self._declared[route.path]

    async def _asked(self, exchange: Exchange, purchase: Purchase, error: str, reason: str = "") -> Problem:
        """The 402, with the reason where a payment has failed; or what is answered to those who ask for more
        of them than they pay."""
        quotes = self._payments.quotes
        unpaid = await quotes.unpaid(exchange.client)
        _speak_of(exchange, unpaid)
        if not unpaid.tally.allowed:
            self._metrics.rate_limited(unpaid.policy.name)
            return refused(unpaid, None)
        amount = await quotes.ask(purchase, unpaid)
        accepts = await self._payments.terms(amount)
        offer = Offer(purchase.resource, accepts, error, purchase.extensions)
        quote = {
            "endpoint": exchange.path,
            "requestHash": purchase.request_hash,
            "amount": str(amount),
            "price": str(Money(amount)),
            "cached": amount < quotes.prices.full(purchase.price),
            "expiresAt": moments.iso(self._payments.clock() + quotes.seconds),
        }
        return Problem(
            problems.PAYMENT_FAILED if reason else problems.PAYMENT_REQUIRED,
            error if reason else f"This request costs {Money(amount)}.",
            hint="Pay with an x402 client, or send an API key.",
            headers={"PAYMENT-REQUIRED": offer.header()},
            details={"quote": quote} | ({"reason": reason} if reason else {}),
            **offer.members(),
        )

    async def _count(self, exchange: Exchange, sale: Sale) -> None:
        standing = (await self._limits.take([("wallet", sale.entry.payer)]))[0]
        _speak_of(exchange, standing)
        if not standing.tally.allowed:
            self._metrics.rate_limited(standing.policy.name)
            raise refused(standing, None)

    # What is given again to those who name their payments.

    async def _keep(self, mine: Ticket | None, answer: "Withheld") -> None:
        if mine is None or answer.size > LARGEST_ANSWER:
            return
        stored = Stored(answer.status, answer.headers, answer.body)
        with contextlib.suppress(Unavailable):
            await self._hot.put(f"paid:{mine.scope}", mine.seal(stored), self._repeat_seconds)

    async def _repeated(self, mine: Ticket | None) -> Stored | None:
        if mine is None:
            return None
        try:
            kept = await self._hot.get(f"paid:{mine.scope}")
            return None if kept is None else mine.open(kept)
        except (Unavailable, InvalidTag):
            return None


class Withheld:
    """An answer that waits until it is paid for."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def status(self) -> int:
        return int(self._messages[0]["status"])

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return list(self._messages[0]["headers"])

    @property
    def size(self) -> int:
        return sum(len(message.get("body", b"")) for message in self._messages)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self._messages)

    async def let_out(self, send: Send) -> None:
        for message in self._messages:
            await send(message)


def _is_worth_it(outcome: str, sale: Sale) -> bool:
    """What is owed is given also from what was kept for its repeats, where nothing is said of an outcome."""
    return outcome == Outcome.OK or (sale.owed and not outcome)


def _refuse_floods(exchange: Exchange) -> None:
    """Nobody is asked on behalf of those whose quotes and payments have all been for nothing."""
    unpaid = exchange.standings[0]
    if unpaid.tally.remaining == 0:
        raise refused(unpaid, None)


def _sent(exchange: Exchange) -> Payment | None:
    for name, version in _HEADERS:
        header = exchange.header(name)
        if header is not None:
            return x402.read(header, version)
    return None


def _digest(exchange: Exchange, body: bytes) -> str:
    hashed = hashlib.sha256()
    for part in (exchange.method.encode(), exchange.path.encode(), exchange.scope["query_string"]):
        hashed.update(len(part).to_bytes(8, "big") + part)
    hashed.update(canonical(body))
    return hashed.hexdigest()


def _ticket(payment: Payment, purchase: Purchase, exchange: Exchange) -> Ticket | None:
    """Where the answer is kept for its repeats, for those who asked for that; only who has the signed
    payment can open it."""
    if not payment.identifier and exchange.header(b"idempotency-key") is None:
        return None
    signed = msgspec.json.encode(payment.payload, order="deterministic")
    seal = hashlib.sha256(b"gossamer-payment\0" + signed).digest()
    scope = hashlib.sha256(seal + purchase.request_hash.encode()).hexdigest()
    return Ticket(payment.identifier, scope, purchase.request_hash, AESGCM(seal))


def _speak_of(exchange: Exchange, standing: Standing) -> None:
    """Instead of what was only looked at."""
    exchange.standings = []
    count_also(exchange, standing)


@asynccontextmanager
async def _watched(receive: Receive) -> AsyncIterator[Callable[[], bool]]:
    """Whether the client has gone away meanwhile. The request was read to its end."""
    going = asyncio.ensure_future(receive())
    await asyncio.sleep(0)
    try:
        yield going.done
    finally:
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)
