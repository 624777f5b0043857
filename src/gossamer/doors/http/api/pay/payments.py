"""Endpoints for the ledger of payments, for admins."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer.doors.http.api.admin.jobs import Cursor
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.core.streaming import Streaming
from gossamer.settings.values import Money
from gossamer.state.db.database import Database
from gossamer.state.pay import orders, payment_list
from gossamer.state.pay.ledger import LedgerEntry, PaymentState, Proof
from gossamer.state.pay.orders import Order, OrderKind
from gossamer.state.pay.payment_list import PaymentFilter
from gossamer.state.pay.payment_totals import PaymentTotals, sum_payments
from gossamer.state.pay.wallet_credit import list_wallets
from gossamer.state.tenants.tenants import Role
from gossamer.web.pay.x402 import NETWORKS

MAX_PAYMENTS_LISTED: Final = 1_000


MAX_WALLETS_LISTED: Final = 100


CSV: Final = "text/csv"


class ShownOrder(msgspec.Struct, rename="camel"):
    """Long work that a payment has bought."""

    kind: OrderKind
    id: Annotated[str, Meta(description="Of the batch, the crawl or the audit.")]
    pages: Annotated[int, Meta(description="That were paid for.")]
    done: Annotated[int | None, Meta(description="That were delivered; `null` until the work is over.")]
    credit: Annotated[str, Meta(description="What has become credit, in dollars.")]


class ShownCredit(msgspec.Struct, rename="camel"):
    """What a wallet has paid and not got, in dollars. It pays for the wallet's next calls."""

    network: str
    payer: str
    credit: str


class ShownPayment(msgspec.Struct, rename="camel"):
    """A payment in the ledger."""

    id: str
    state: PaymentState
    network: str
    payer: str
    pay_to: str
    asset: str
    amount: Annotated[str, Meta(description="In the atomic units of the token.")]
    price: Annotated[str, Meta(description="In dollars.")]
    endpoint: str
    transaction: str
    proof: Annotated[
        Proof,
        Meta(
            description="The proof of the settlement: the `facilitator`, which named the transaction, or "
            "the `chain`, where the transaction was found. Empty: no proof yet."
        ),
    ]
    reason: str
    request_id: str
    created_at: str
    settled_at: str | None
    delivered_at: str | None
    credit: Annotated[str, Meta(description="In dollars: the credit that has paid it instead of money.")]
    order: ShownOrder | None


class ShownTotals(msgspec.Struct, rename="camel"):
    """The settled payments for an endpoint on a network, in dollars."""

    endpoint: str
    network: str
    payments: int
    total: str
    credit: Annotated[str, Meta(description="Paid by credit, and no revenue.")]
    proven: str
    unproven: str
    delivered: Annotated[str, Meta(description="The answer was given.")]
    owed: Annotated[str, Meta(description="The answer was not given yet.")]


class PaymentList(msgspec.Struct, rename="camel"):
    """Payments, newest first."""

    payments: list[ShownPayment]
    revenue: Annotated[
        dict[str, str], Meta(description="Payments that were settled with a proof, by endpoint, in dollars.")
    ]
    unproven: Annotated[
        dict[str, str],
        Meta(description="Payments that were settled without a proof: check whether they have arrived."),
    ]
    totals: Annotated[list[ShownTotals], Meta(description="Settled payments by endpoint and network.")]
    credit: Annotated[
        list[ShownCredit],
        Meta(
            description=f"The wallets with the most credit, up to {MAX_WALLETS_LISTED}; or the one asked for."
        ),
    ]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class PaymentQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which payments to list."""

    cursor: Annotated[Cursor | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAYMENTS_LISTED, description="Payments in a page.")] = 50
    state: Annotated[
        PaymentFilter | None,
        Meta(
            description="Only payments in this state; `owed` is settled but not answered, `unproven` is "
            "settled without a proof."
        ),
    ] = None
    payer: Annotated[
        Annotated[str, Meta(max_length=64)] | None, Meta(description="Only payments of this wallet.")
    ] = None

    def __post_init__(self) -> None:
        """Wallets show EVM addresses in mixed case, which is only a checksum (EIP-55)."""
        if self.payer is not None and self.payer[:2].lower() == "0x":
            self.payer = self.payer.lower()


class PaymentsEndpoints(Struct, frozen=True):
    database: Database

    async def list_payments(self, exchange: Exchange, query: PaymentQuery) -> Response:
        if CSV in (exchange.header(b"accept") or ""):
            return self.export(query)
        return answer(await self.find(query))

    async def find(self, query: PaymentQuery) -> PaymentList:
        async with self.database.scan() as connection:
            found = await payment_list.list_entries(
                connection, before=query.cursor, state=query.state, payer=query.payer, limit=query.limit + 1
            )
            revenue = await payment_list.revenue(connection)
            unproven = await payment_list.revenue(connection, proven=False)
            totals = await sum_payments(connection)
            page = found[: query.limit]
            bought = await orders.list_some(connection, [entry.id for entry in page])
            credit = await list_wallets(connection, payer=query.payer, limit=MAX_WALLETS_LISTED)
        return PaymentList(
            [_to_api(entry, bought.get(entry.id)) for entry in page],
            _dollars(revenue),
            _dollars(unproven),
            [_to_totals(each) for each in totals],
            [
                ShownCredit(NETWORKS[each.network].name, each.payer, str(Money(each.credit)))
                for each in credit
            ],
            page[-1].id if len(found) > query.limit else None,
        )

    def export(self, query: PaymentQuery) -> Response:
        """All payments from the cursor on, as a table."""
        headers = {"content-disposition": 'attachment; filename="payments.csv"'}
        return Streaming(self._export(query), headers=headers, media_type=CSV)

    async def _export(self, query: PaymentQuery) -> AsyncIterator[str]:
        """All payments from the cursor on, a batch at a time."""
        yield _to_csv([_CSV_FIELDS])
        before = query.cursor
        while True:
            async with self.database.scan() as connection:
                found = await payment_list.list_entries(
                    connection, before=before, state=query.state, payer=query.payer, limit=MAX_PAYMENTS_LISTED
                )
            yield _to_csv(_to_line(entry) for entry in found)
            if len(found) < MAX_PAYMENTS_LISTED:
                return
            before = found[-1].id

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/payments",
                handler=self.list_payments,
                needs=Role.ADMIN,
                tag="Payments",
                summary="List payments, newest first",
                description="With `Accept: text/csv`, all payments from the cursor on, as a table.",
                answers=PaymentList,
                example=_EXAMPLE_LIST,
            )
        ]


_CSV_FIELDS: Final = tuple(name for name in ShownPayment.__struct_encode_fields__ if name != "order")


def _to_line(entry: LedgerEntry) -> list[Any]:
    shown = msgspec.to_builtins(_to_api(entry, None))
    return [shown[name] for name in _CSV_FIELDS]


def _to_order(order: Order) -> ShownOrder:
    credit = str(Money(order.rest if order.closed_at is not None else 0))
    return ShownOrder(order.kind, order.subject, order.pages, order.done, credit)


def _to_api(entry: LedgerEntry, order: Order | None) -> ShownPayment:
    return ShownPayment(
        id=entry.id,
        state=entry.state,
        network=NETWORKS[entry.network].name,
        payer=entry.payer,
        pay_to=entry.pay_to,
        asset=entry.asset,
        amount=str(entry.amount),
        price=str(Money(entry.amount)),
        endpoint=entry.endpoint,
        transaction=entry.transaction_id,
        proof=entry.proof,
        reason=entry.reason,
        request_id=entry.request_id,
        created_at=timestamps.from_ms(entry.created_at),
        settled_at=timestamps.from_ms(entry.settled_at),
        delivered_at=timestamps.from_ms(entry.delivered_at),
        credit=str(Money(entry.credit)),
        order=None if order is None else _to_order(order),
    )


def _to_totals(totals: PaymentTotals) -> ShownTotals:
    return ShownTotals(
        endpoint=totals.endpoint,
        network=NETWORKS[totals.network].name,
        payments=totals.payments,
        total=str(Money(totals.amount)),
        credit=str(Money(totals.credit)),
        proven=str(Money(totals.proven)),
        unproven=str(Money(totals.amount - totals.credit - totals.proven)),
        delivered=str(Money(totals.delivered)),
        owed=str(Money(totals.amount - totals.delivered)),
    )


def _dollars(sums: Mapping[str, int]) -> dict[str, str]:
    return {endpoint: str(Money(total)) for endpoint, total in sums.items()}


def _to_csv(rows: Iterable[Iterable[Any]]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows(["" if value is None else value for value in row] for row in rows)
    return lines.getvalue()


_EXAMPLE_PAYMENT: Final = ShownPayment(
    id="01JGGR2Z3W8Q4T6V9X0Y1B2C3D",
    state=PaymentState.SETTLED,
    network="base",
    payer="0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    pay_to="0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    asset="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    amount="5000",
    price="$0.005",
    endpoint="/fetch/basic",
    transaction="0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
    proof=Proof.CHAIN,
    reason="",
    request_id="wl_m5x7k2qa_a3b9c1",
    created_at="2026-01-01T12:00:00.000Z",
    settled_at="2026-01-01T12:00:01.000Z",
    delivered_at="2026-01-01T12:00:01.000Z",
    credit="$0",
    order=None,
)


_EXAMPLE_TOTALS: Final = ShownTotals(
    endpoint="/fetch/basic",
    network="base",
    payments=250,
    total="$1.25",
    credit="$0",
    proven="$1.25",
    unproven="$0",
    delivered="$1.245",
    owed="$0.005",
)


_EXAMPLE_LIST: Final = PaymentList(
    [_EXAMPLE_PAYMENT],
    {"/fetch/basic": "$1.25"},
    {},
    [_EXAMPLE_TOTALS],
    [ShownCredit("base", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", "$0.035")],
    None,
)
