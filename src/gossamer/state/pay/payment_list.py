"""The payments in the ledger, for those who look at them: lists, and the money that was moved."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from sqlalchemy import ColumnElement, func, select

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.pay.ledger import OWED, UNPROVEN, LedgerEntry, PaymentState, Proof, entry_of
from gossamer.state.pay.pay_tables import payments


class PaymentFilter(StrEnum):
    """A filter for lists of payments: their state, or what remains to be done."""

    RESERVED = "reserved"
    VERIFIED = "verified"
    SERVED = "served"
    PENDING = "pending"
    SETTLED = "settled"
    RELEASED = "released"
    OWED = "owed"  # settled, and the answer was not given
    UNPROVEN = "unproven"  # settled, without a proof


_FILTERS: Final[Mapping[PaymentFilter, tuple[ColumnElement[bool], ...]]] = {
    **{PaymentFilter(state): (payments.c.state == state,) for state in PaymentState},
    PaymentFilter.OWED: OWED,
    PaymentFilter.UNPROVEN: UNPROVEN,
}


async def list_entries(
    connection: AsyncConnection,
    *,
    before: str | None = None,
    state: PaymentFilter | None = None,
    payer: str | None = None,
    limit: int,
) -> list[LedgerEntry]:
    """Payments, newest first."""
    query = select(payments).order_by(payments.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(payments.c.id < before)
    if state is not None:
        query = query.where(*_FILTERS[state])
    if payer is not None:
        query = query.where(payments.c.payer == payer)
    return [entry_of(row) for row in await connection.execute(query)]


async def revenue(connection: AsyncConnection, *, proven: bool = True) -> dict[str, int]:
    """The money that was moved, by endpoint, with or without a proof, in atomic units."""
    shown = payments.c.proof != Proof.NONE if proven else payments.c.proof == Proof.NONE
    moved = func.sum(payments.c.amount - payments.c.credit)
    query = select(payments.c.endpoint, moved).group_by(payments.c.endpoint)
    rows = await connection.execute(query.where(payments.c.state == PaymentState.SETTLED, shown))
    return {endpoint: int(total) for endpoint, total in rows}
