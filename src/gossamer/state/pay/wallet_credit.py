"""Credit: what a wallet has paid and not got, until it is spent.

    grant   a payment becomes credit at most once: `credit_grants` has one row for each payment
    spend   credit pays a whole payment or nothing; `wallets` has the sum, which is never negative

Both change the sum in the transaction that writes the reason for it, so the sum of a wallet is what was
granted to it, less what its payments say that credit has paid.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from sqlalchemy import select

from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.pay import ledger
from gossamer.state.pay.ledger import LedgerEntry
from gossamer.state.pay.pay_tables import credit_grants, wallets


class CreditReason(StrEnum):
    NOT_DONE = "not_done"  # pages that were paid for and not delivered
    NOT_ACCEPTED = "not_accepted"  # the work was refused after it was paid for
    NOT_ASKED_FOR = "not_asked_for"  # an answer that was owed, and nobody came back for it


class NotCovered(Exception):
    """There is not enough credit for the payment, or the payment is not held any more."""


class Grant(NamedTuple):
    """An amount that becomes credit of the wallet that has paid it."""

    payment_id: str
    network: str
    payer: str
    amount: int
    reason: CreditReason


class WalletCredit(NamedTuple):
    network: str
    payer: str
    credit: int


_TAKE: Final = bulk(
    """
UPDATE wallets SET credit = credit - {amount}
WHERE network = {network} AND payer = {payer} AND credit >= {amount} RETURNING credit""",
    values={"network": "text", "payer": "text", "amount": "bigint"},
)


async def grant(connection: AsyncConnection, given: Grant, now: int | None = None) -> bool:
    """False if this payment has become credit before."""
    row = insert_into(connection, credit_grants).values(**given._asdict(), created_at=clock(now))
    row = row.on_conflict_do_nothing(index_elements=["payment_id"])
    if (await connection.execute(row.returning(credit_grants.c.payment_id))).first() is None:
        return False
    more = insert_into(connection, wallets).values(
        network=given.network, payer=given.payer, credit=given.amount
    )
    raised = wallets.c.credit + more.excluded.credit
    await connection.execute(
        more.on_conflict_do_update(index_elements=["network", "payer"], set_={"credit": raised})
    )
    return True


async def spend(connection: AsyncConnection, entry: LedgerEntry, now: int | None = None) -> None:
    """Pay a payment by credit. Raises `NotCovered`, which rolls back."""
    network, payer = entry.wallet
    if not await _TAKE(connection, None, network=network, payer=payer, amount=entry.amount):
        raise NotCovered
    if not await ledger.mark_paid_by_credit(connection, entry, now):
        raise NotCovered


async def balance(connection: AsyncConnection, network: str, payer: str) -> int:
    query = select(wallets.c.credit).where(wallets.c.network == network, wallets.c.payer == payer)
    return await connection.scalar(query) or 0


async def list_wallets(
    connection: AsyncConnection, *, payer: str | None = None, limit: int
) -> list[WalletCredit]:
    """The wallets that have credit, those with the most first."""
    query = select(wallets).where(wallets.c.credit > 0).order_by(wallets.c.credit.desc()).limit(limit)
    if payer is not None:
        query = query.where(wallets.c.payer == payer)
    return [WalletCredit(*row) for row in await connection.execute(query)]
