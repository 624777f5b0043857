"""Long work at the HTTP door: callers without a key can order batches, crawls and audits.

The endpoint is run twice. The first time it is rolled back at its end, so that whatever it would refuse is
refused before money moves. The second time, after the payment is settled, the order is written in its
transaction. The endpoints know nothing of this: they call `exchange.remember`, as they do for every request.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.core.exchange import Exchange, Replay
from gossamer.doors.http.core.routing import OrderTerms, Route
from gossamer.flows.pay.capability import Capabilities
from gossamer.flows.pay.orders import Orders, repeat_key
from gossamer.flows.pay.pay import PaidCall
from gossamer.flows.pay.settling import PaymentSettler
from gossamer.problems import Problem, Unavailable
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.pay.orders import NewOrder, Order

CAPABILITY_HEADER: Final = "X-Order-Capability"


class OrderDesk(Struct, frozen=True):
    orders: Orders
    capabilities: Capabilities
    settling: PaymentSettler

    async def find(self, call: PaidCall, exchange: Exchange) -> Order | None:
        """What was ordered before: for this payment, or with the same Idempotency-Key."""
        key = repeat_key(call.entry, exchange.header(b"idempotency-key"))
        return await self.orders.get(call.entry.id) or await self.orders.find_repeat(call.entry, key)

    async def try_out(self, exchange: Exchange, route: Route) -> None:
        """Raises what the endpoint would refuse the request for. Nothing is written."""
        exchange.remember = _roll_back
        try:
            await route.run(exchange)
        except Replay:
            return
        raise AssertionError(f"{route.path} creates its work without `exchange.remember`")

    async def place(self, call: PaidCall, exchange: Exchange, route: Route) -> Order:
        """Create the work and its order, for a settled payment. If the endpoint refuses it now, the payment
        becomes credit."""
        placed = await self.orders.get(call.entry.id)
        if placed is not None:  # a request that was cut short has placed it
            return placed
        exchange.remember = _Placing(self.orders, call, exchange, route)
        try:
            await route.run(exchange)
        except Replay:
            pass  # another request was faster
        except Unavailable:
            await self.settling.let_go(call.entry)
            raise
        except Problem as problem:
            if await self.give_back(call):
                problem.hint = "The payment has become credit of your wallet, and pays for your next request."
            raise
        order = await self.find(call, exchange)
        if order is None:
            raise AssertionError("an order that was placed is not there")
        return order

    async def answer(self, order: Order, terms: OrderTerms, *, opens: bool = True) -> Response:
        headers = {"Location": terms.location.format(id=order.subject)}
        if opens:
            headers[CAPABILITY_HEADER] = await self.capabilities.issue(order)
        return Response(order.answer_json, 202, headers, media_type="application/json")

    async def give_back(self, call: PaidCall) -> bool:
        """A settled payment that bought nothing becomes credit. False: it is not proven, and stays owed."""
        if await self.orders.give_back(call.entry):
            return True
        await self.settling.let_go(call.entry)
        return False


class _Placing(Struct, frozen=True):
    """Writes the order in the transaction that creates its work."""

    orders: Orders
    call: PaidCall
    exchange: Exchange
    route: Route

    async def __call__(self, connection: AsyncConnection, answer: Response) -> None:
        if await self.orders.place(connection, await self._new_order(answer)) is None:
            raise Replay(answer)

    async def _new_order(self, answer: Response) -> NewOrder:
        entry, terms = self.call.entry, self.route.order
        assert terms is not None  # noqa: S101  (only such routes are sold here)
        body = (await self.route.arguments(self.exchange))["body"]
        shown: dict[str, Any] = msgspec.json.decode(answer.body)
        pages = terms.pages(body)
        return NewOrder(
            payment_id=entry.id,
            network=entry.network,
            payer=entry.payer,
            tenant_id=self.exchange.caller.tenant_id,
            kind=terms.kind,
            subject=shown[terms.subject],
            job_id=shown[terms.job] if terms.job else None,
            request_hash=entry.request_hash,
            repeat_key=repeat_key(entry, self.exchange.header(b"idempotency-key")),
            pages=pages,
            page_price=entry.amount // pages,
            answer_json=bytes(answer.body).decode(),
        )


async def _roll_back(connection: AsyncConnection, answer: Response) -> None:
    raise Replay(answer)
