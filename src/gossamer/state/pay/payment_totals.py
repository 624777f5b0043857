"""Sums of settled payments, for those who keep the books."""

from typing import NamedTuple

from sqlalchemy import case, func, select

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.pay.ledger import PaymentState, Proof
from gossamer.state.pay.pay_tables import payments


class PaymentTotals(NamedTuple):
    """The settled payments for an endpoint on a network, in atomic units."""

    endpoint: str
    network: str  # CAIP-2
    payments: int
    amount: int
    proven: int  # the part that a facilitator or the chain confirms
    delivered: int  # the part whose answer was given
    credit: int = 0  # the part that was paid by credit, and is no revenue


async def sum_payments(connection: AsyncConnection) -> list[PaymentTotals]:
    columns = payments.c
    proven = func.sum(case((columns.proof != Proof.NONE, columns.amount - columns.credit), else_=0))
    delivered = func.sum(case((columns.delivered_at.is_not(None), columns.amount), else_=0))
    sums = (func.sum(columns.amount), proven, delivered, func.sum(columns.credit))
    query = (
        select(columns.endpoint, columns.network, func.count(), *sums)
        .where(columns.state == PaymentState.SETTLED)
        .group_by(columns.endpoint, columns.network)
        .order_by(columns.endpoint, columns.network)
    )
    rows = await connection.execute(query)
    return [PaymentTotals(row[0], row[1], *(int(value) for value in row[2:])) for row in rows]
