"""Payments at the HTTP door: callers without a key can pay for each request.

A request without a payment gets 402 and the price, in the formats of both versions of x402. A request with a
payment is served, and its answer is held back until the payment is settled. Errors, and pages that are not
the requested one, are not charged. Long work is paid for when it is accepted (`ordering`).
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.core.exchange import ClientGone, Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.docs.discovery import extensions
from gossamer.doors.http.layers.idempotency import (
    MAX_STORED_BYTES,
    IdempotentRequest,
    StoredAnswer,
    canonical,
)
from gossamer.doors.http.layers.limiting import count_also
from gossamer.doors.http.layers.ordering import OrderDesk
from gossamer.flows.pay.pay import PaidCall, Payments
from gossamer.flows.pay.payee import PaymentRefused, Receipt
from gossamer.flows.pay.quotes import Purchase
from gossamer.observe.metrics import Metrics
from gossamer.problems import Problem, Unavailable
from gossamer.settings.values import Money
from gossamer.state.kv.hot import Hot
from gossamer.state.seal import BrokenSeal, Seal
from gossamer.state.tenants.limits import Limits, LimitStatus, limit_problem
from gossamer.state.tenants.tenants import Role
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.timestamps import iso
from gossamer.web.pay import x402
from gossamer.web.pay.x402 import Malformed, Offer, PaidResource, Payment

SERVICE: Final = "Gossamer"
_HEADERS: Final = ((b"payment-signature", 2), (b"x-payment", 1))
_ASKED: Final = "PAYMENT-SIGNATURE or X-PAYMENT header is required"


class TakePayment:
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
        desk: OrderDesk,
    ) -> None:
        self.app = app
        self._payments = payments
        self._limits = limits
        self._hot = hot
        self._public_url = public_url
        self._repeat_seconds = repeat_seconds
        self._metrics = metrics
        self._declared: dict[str, Mapping[str, Any]] = {}  # by method and path
        self._desk = desk

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
                raise await self._ask_for_payment(exchange, purchase, _ASKED)
            await self._take(payment, purchase, scope, receive, send)
        except Malformed as error:
            text = f"The payment cannot be read: {error}."
            raise await self._ask_for_payment(exchange, purchase, text, "invalid_payment") from None
        except PaymentRefused as refusal:
            exchange.headers.extend(refusal.receipt)
            raise await self._ask_for_payment(exchange, purchase, refusal.detail, refusal.reason) from None

    async def _take(
        self, payment: Payment, purchase: Purchase, scope: Scope, receive: Receive, send: Send
    ) -> None:
        exchange: Exchange = scope["exchange"]
        quoted = await self._payments.quotes.claim(purchase)
        if quoted is None:
            _refuse_floods(exchange)
        mine = _idempotent_request(payment, purchase, exchange)
        if (again := await self._repeat(mine)) is not None:
            exchange.headers.append((b"x-idempotent-replayed", b"true"))
            await again.response()(scope, receive, send)
            return
        call = await self._payments.admit(payment, purchase)
        if quoted is not None:
            await self._payments.quotes.give_back(purchase, quoted)
        if exchange.route is not None and exchange.route.order is not None:
            await self._sell_order(call, exchange.route, scope, receive, send)
        else:
            await self._sell(call, mine, scope, receive, send)

    async def _sell(
        self, call: PaidCall, mine: IdempotentRequest | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        exchange: Exchange = scope["exchange"]
        exchange.caller = call.caller
        answer = HeldAnswer()
        async with self._payments.serving(call), AsyncExitStack() as exchange.concluding:
            await self._count(exchange, call)
            await self.app(scope, receive, answer)
            exchange.unpaid = charged = answer.status < 400 and _is_worth_it(exchange.outcome, call)
            if charged:
                await self._settle(call, exchange, receive)
        if not charged:
            await answer.send_to(send)
            return
        async with self._payments.delivering(call):
            await self._keep(mine, answer, call.receipt)
            await answer.send_to(send)

    async def _sell_order(
        self, call: PaidCall, route: Route, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Take the money, and then let the endpoint accept the work."""
        exchange: Exchange = scope["exchange"]
        assert route.order is not None  # noqa: S101  (else it is no order)
        exchange.caller = await self._desk.orders.caller(call.entry)
        if call.repeats:
            await self._count(exchange, call)
            repeated = await self._desk.find(call, exchange)
            assert repeated is not None  # noqa: S101  (this is how it is known to repeat)
            exchange.headers.append((b"x-idempotent-replayed", b"true"))
            await (await self._desk.answer(repeated, route.order, opens=call.is_named))(scope, receive, send)
            return
        async with self._payments.serving(call):
            await self._count(exchange, call)
            order = await self._desk.find(call, exchange)
            if order is None:
                if not call.owed:
                    await self._desk.try_out(exchange, route)
                await self._settle(call, exchange, receive)
                order = await self._desk.place(call, exchange, route)
            call.over = call.over or call.owed  # what is owed is answered now
        answer = await self._desk.answer(order, route.order)
        if order.payment_id == call.entry.id:
            async with self._payments.delivering(call):
                await answer(scope, receive, send)
            return
        if call.over:  # it was placed with another payment in the meantime
            await self._desk.give_back(call)
        exchange.headers.append((b"x-idempotent-replayed", b"true"))
        await answer(scope, receive, send)

    async def _settle(self, call: PaidCall, exchange: Exchange, receive: Receive) -> None:
        async with _watch_client(receive) as is_gone:
            if is_gone():
                raise ClientGone
            exchange.headers.extend(await self._payments.settle(call, is_gone))
            exchange.paid, exchange.unpaid = (call.payee.network.name, call.entry.amount), False
            if call.entry.credit:
                exchange.headers.append((b"x-credit-spent", str(Money(call.entry.credit)).encode()))
            if is_gone():  # the client has paid for the answer, and may come back for it
                await self._payments.settling.let_go(call.entry)
                raise ClientGone

    # The price.

    async def _purchase(self, exchange: Exchange, route: Route) -> Purchase:
        """Refuse an invalid request before it is paid for. One without a body asks for the price, and so does
        a GET without a query."""
        body = await exchange.body()
        is_asked = bool(body or (route.body_type is None and exchange.scope["query_string"]))
        arguments = await route.arguments(exchange) if is_asked else {}
        given = arguments.get("body", arguments.get("query"))
        return Purchase(
            price=route.price(given) if callable(route.price) else route.price,
            endpoint=route.path,
            resource=PaidResource(
                exchange.handover.resource or self._public_url + exchange.path,
                route.summary,
                "application/json",
                SERVICE,
            ),
            extensions=self._extensions(route),
            request_hash=_digest(exchange, body),
            request_id=exchange.request_id,
            client=exchange.client,
            cached=is_asked and route.peek is not None and await route.peek(exchange, **arguments),
            pages=self._pages(route, arguments.get("body")),
        )

    def _pages(self, route: Route, body: Any) -> int | None:
        """A request without a body asks for the price of one page."""
        if route.order is None:
            return None
        return 1 if body is None else self._desk.orders.check_pages(route.order.pages(body))

    def _extensions(self, route: Route) -> Mapping[str, Any]:
        operation = f"{route.method} {route.path}"
        if operation not in self._declared:
            self._declared[operation] = extensions(route)
        return self._declared[operation]

    async def _ask_for_payment(
        self, exchange: Exchange, purchase: Purchase, error: str, reason: str = ""
    ) -> Problem:
        """The 402, with the reason if a payment has failed; or a 429 for clients that leave too many quotes
        unpaid."""
        quotes = self._payments.quotes
        unpaid = await quotes.unpaid(exchange.client)
        _report_limits(exchange, unpaid)
        if not unpaid.tally.allowed:
            self._metrics.count_refusal(unpaid.policy.name)
            return limit_problem(unpaid, None)
        amount = await quotes.ask(purchase, unpaid)
        accepts = await self._payments.terms(amount)
        offer = Offer(purchase.resource, accepts, error, purchase.extensions)
        quote = {
            "endpoint": exchange.path,
            "requestHash": purchase.request_hash,
            "amount": str(amount),
            "price": str(Money(amount)),
            "cached": amount < quotes.full(purchase),
            "expiresAt": iso(self._payments.clock() + quotes.seconds),
        }
        if purchase.pages is not None:
            quote |= {"pages": purchase.pages, "pagePrice": str(Money(quotes.prices.full(purchase.price)))}
        return Problem(
            problems.PAYMENT_FAILED if reason else problems.PAYMENT_REQUIRED,
            error if reason else f"This request costs {Money(amount)}.",
            hint="Pay with an x402 client, or send an API key.",
            headers={"PAYMENT-REQUIRED": offer.header()},
            details={"quote": quote} | ({"reason": reason} if reason else {}),
            **offer.members(),
        )

    async def _count(self, exchange: Exchange, call: PaidCall) -> None:
        status = (await self._limits.take([("wallet", call.entry.payer)]))[0]
        _report_limits(exchange, status)
        if not status.tally.allowed:
            self._metrics.count_refusal(status.policy.name)
            raise limit_problem(status, None)

    # Repeats of a paid request, for clients that name their payments.

    async def _keep(self, mine: IdempotentRequest | None, answer: "HeldAnswer", receipt: Receipt) -> None:
        if mine is None or answer.size > MAX_STORED_BYTES:
            return
        stored = StoredAnswer(answer.status, [*answer.headers, *receipt], answer.body)
        with contextlib.suppress(Unavailable):
            await self._hot.put(f"paid:{mine.scope}", mine.seal(stored), self._repeat_seconds)

    async def _repeat(self, mine: IdempotentRequest | None) -> StoredAnswer | None:
        if mine is None:
            return None
        try:
            kept = await self._hot.get(f"paid:{mine.scope}")
            return None if kept is None else mine.open(kept)
        except (Unavailable, BrokenSeal):
            return None


class HeldAnswer:
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

    async def send_to(self, send: Send) -> None:
        for message in self._messages:
            await send(message)


def _is_worth_it(outcome: str, call: PaidCall) -> bool:
    """An answer that is owed may be a stored one, which has no outcome."""
    return outcome == Outcome.OK or (call.owed and not outcome)


def _refuse_floods(exchange: Exchange) -> None:
    """Ask no facilitator for a client that has left all its quotes unpaid."""
    unpaid = exchange.limit_statuses[0]
    if unpaid.tally.remaining == 0:
        raise limit_problem(unpaid, None)


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


def _idempotent_request(payment: Payment, purchase: Purchase, exchange: Exchange) -> IdempotentRequest | None:
    """The name and seal of the stored answer, for clients that ask for repeats. Only the signed payment
    opens it."""
    if not payment.identifier and exchange.header(b"idempotency-key") is None:
        return None
    signed = msgspec.json.encode(payment.payload, order="deterministic")
    seal = hashlib.sha256(b"gossamer-payment\0" + signed).digest()
    scope = hashlib.sha256(seal + purchase.request_hash.encode()).hexdigest()
    return IdempotentRequest(payment.identifier, scope, purchase.request_hash, Seal(seal))


def _report_limits(exchange: Exchange, status: LimitStatus) -> None:
    """Report this limit instead of those that were only read."""
    exchange.limit_statuses = []
    count_also(exchange, status)


@asynccontextmanager
async def _watch_client(receive: Receive) -> AsyncIterator[Callable[[], bool]]:
    """Yields a function that tells whether the client has gone away. The request has been read completely."""
    going = asyncio.ensure_future(receive())
    await asyncio.sleep(0)
    try:
        yield going.done
    finally:
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)
