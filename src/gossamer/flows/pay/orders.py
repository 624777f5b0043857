"""Orders: long work for wallets, paid for when it is accepted. What is not delivered becomes credit.

    1  the request is tried: everything but the commit           else it is refused, and nothing is charged
    2  its payment is settled                                    as for any other call, or by credit
    3  one transaction creates the work and the order            a kill before it leaves an owed payment,
                                                                 a kill after it an order without an answer
    4  the answer is given, with a capability                    asked again, the same order is answered
    5  when the work is over, what was delivered is counted      from its rows: pages with the outcome `ok`
    6  the rest becomes credit, once the payment is proven       one transaction closes the order

Each wallet has a tenant of its own for what it orders: its results are in no list, index or cache that
another wallet sees, and wallets take turns as tenants do.
"""

import hashlib
from dataclasses import replace
from typing import Final

from msgspec import Struct, field

from gossamer import problems
from gossamer.flows.tenants.admit import Caller, wallet
from gossamer.observe.logs import Log
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.pay import ledger, orders
from gossamer.state.pay.ledger import LedgerEntry
from gossamer.state.pay.orders import NewOrder, Order
from gossamer.state.pay.wallet_credit import CreditReason, Grant, grant
from gossamer.state.tenants import tenants

MAX_TENANTS: Final = 10_000  # that are remembered


class Orders(Struct, frozen=True):
    database: Database
    log: Log
    max_pages: int  # in one order
    _tenants: dict[tuple[str, str], str] = field(default_factory=dict)  # by wallet

    def check_pages(self, pages: int) -> int:
        """Raises `Problem` for more pages than one order may have."""
        if pages > self.max_pages:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                f"A wallet can buy up to {self.max_pages:,} pages in one order, and this asks for {pages:,}.",
                hint="Ask for fewer, or use an API key.",
                details={"reason": "too_many_pages", "limit": self.max_pages},
            )
        return pages

    async def caller(self, entry: LedgerEntry) -> Caller:
        """The payer, in the tenant that has its orders."""
        tenant = self._tenants.get(entry.wallet)
        if tenant is None:
            async with self.database.write() as connection:
                found = await tenants.ensure_tenant(
                    connection, _email(entry), name=f"{entry.network} {entry.payer}"
                )
            if len(self._tenants) >= MAX_TENANTS:
                self._tenants.clear()
            tenant = self._tenants[entry.wallet] = found.id
        return replace(wallet(entry.payer), tenant_id=tenant)

    async def get(self, payment_id: str) -> Order | None:
        async with self.database.read() as connection:
            return await orders.get(connection, payment_id)

    async def find_repeat(self, entry: LedgerEntry, repeat_key: str | None) -> Order | None:
        """The order that the same wallet has placed with the same Idempotency-Key."""
        if repeat_key is None:
            return None
        async with self.database.read() as connection:
            order = await orders.find_repeat(connection, repeat_key)
        if order is not None and order.request_hash != entry.request_hash:
            raise Problem(
                problems.IDEMPOTENCY_KEY_CONFLICT,
                "This Idempotency-Key was already used with a different request.",
                hint="Use a new key.",
            )
        return order

    async def place(self, connection: AsyncConnection, new: NewOrder) -> Order | None:
        """In the transaction that creates the work. None: roll back, it was ordered before."""
        return await orders.place(connection, new)

    async def give_back(self, entry: LedgerEntry) -> bool:
        """Turn a settled payment into credit, because its work was refused. False: it is not proven yet, and
        stays owed."""
        if not entry.proof:
            return False
        async with self.database.write() as connection:
            given = Grant(entry.id, *entry.wallet, entry.amount, CreditReason.NOT_ACCEPTED)
            return await ledger.mark_delivered(connection, entry) and await grant(connection, given)

    async def reconcile(self) -> None:
        """Count and close the orders whose work is over, and turn into credit what nobody came back for."""
        async with self.database.read() as connection:
            is_due = await orders.has_open(connection)
            unclaimed = await ledger.find_unclaimed(connection)
        if is_due:
            await self._close_orders()
        for entry in unclaimed:
            given = Grant(entry.id, *entry.wallet, entry.amount, CreditReason.NOT_ASKED_FOR)
            async with self.database.write() as connection:
                if await ledger.mark_unclaimed(connection, entry):
                    await grant(connection, given)

    async def _close_orders(self) -> None:
        async with self.database.write() as connection:
            await orders.count_done(connection)
        async with self.database.read() as connection:
            counted = await orders.list_counted(connection)
        for order in counted:
            async with self.database.write() as connection:
                closed = await orders.close(connection, order)
            if closed:
                self.log.info("order_closed", "an order is closed", id=order.payment_id, credit=order.rest)


def repeat_key(entry: LedgerEntry, key: str | None) -> str | None:
    """An Idempotency-Key belongs to its wallet, so it is hashed with the address."""
    if key is None:
        return None
    return hashlib.sha256("\n".join((*entry.wallet, key)).encode()).hexdigest()


def _email(entry: LedgerEntry) -> str:
    """Of nobody: tenants are named by an address in lower case, and some wallets' addresses have both."""
    return f"{hashlib.sha256(chr(10).join(entry.wallet).encode()).hexdigest()[:40]}@wallet.invalid"
