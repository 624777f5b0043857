"""`GET /api/orders/{id}`: what became of an order, for whoever has paid for it."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gossamer import problems
from gossamer.doors.http.api.admin.jobs import tenant_seen_by
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.problems import Problem
from gossamer.settings.values import Money
from gossamer.state.db.database import Database
from gossamer.state.pay import orders, wallet_credit
from gossamer.state.pay.orders import Order, OrderKind
from gossamer.state.tenants.tenants import Role
from gossamer.web.pay.x402 import NETWORKS


class OrderAnswer(msgspec.Struct, rename="camel"):
    """Long work that was bought with a payment."""

    id: Annotated[str, Meta(description="The payment's.")]
    kind: OrderKind
    subject: Annotated[str, Meta(description="The id of the batch, the crawl or the audit.")]
    network: str
    payer: str
    pages: Annotated[int, Meta(description="That were paid for.")]
    page_price: Annotated[str, Meta(description="In dollars.")]
    done: Annotated[int | None, Meta(description="That were delivered; `null` until the work is over.")]
    credit: Annotated[str, Meta(description="What of this order has become credit, in dollars.")]
    wallet_credit: Annotated[str, Meta(description="All credit of the wallet that is not spent, in dollars.")]
    created_at: str
    closed_at: Annotated[str | None, Meta(description="When the rest became credit.")]


class OrdersEndpoints(Struct, frozen=True):
    database: Database

    async def get_order(self, exchange: Exchange, id: str) -> OrderAnswer:
        tenant = tenant_seen_by(exchange.caller)
        async with self.database.read() as connection:
            order = await orders.get(connection, id)
            if order is None or tenant not in (None, order.tenant_id):
                raise Problem(problems.NOT_FOUND, "There is no order with this id.")
            credit = await wallet_credit.balance(connection, order.network, order.payer)
        return _to_api(order, credit)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Payments"}
        return [
            Route(
                method="GET",
                path="/api/orders/{id}",
                handler=self.get_order,
                summary="Get what was delivered of an order, and the credit of its wallet",
                description="The id is the part of the capability between `cap_` and the next `_`.",
                parameters={"id": "The order's id."},
                opened_by_order=True,
                problems=(problems.NOT_FOUND,),
                example=_EXAMPLE,
                **common,
            )
        ]


def _to_api(order: Order, credit: int) -> OrderAnswer:
    return OrderAnswer(
        id=order.payment_id,
        kind=order.kind,
        subject=order.subject,
        network=NETWORKS[order.network].name,
        payer=order.payer,
        pages=order.pages,
        page_price=str(Money(order.page_price)),
        done=order.done,
        credit=str(Money(order.rest if order.closed_at is not None else 0)),
        wallet_credit=str(Money(credit)),
        created_at=timestamps.from_ms(order.created_at),
        closed_at=timestamps.from_ms(order.closed_at),
    )


_EXAMPLE: Final = OrderAnswer(
    id="01JGGR2Z3W8Q4T6V9X0Y1B2C3D",
    kind=OrderKind.BATCH,
    subject="01JGGR2Z3W8Q4T6V9X0Y1B2C3E",
    network="base",
    payer="0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    pages=100,
    page_price="$0.005",
    done=93,
    credit="$0.035",
    wallet_credit="$0.035",
    created_at="2026-01-01T12:00:00.000Z",
    closed_at="2026-01-01T12:01:00.000Z",
)
