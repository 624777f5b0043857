"""Use what is owed to a payer before its next payment is charged: an answer, or credit.

A server that is killed after it has taken money leaves a payment without an answer. Clients do not send a
payment twice: they ask again, and sign a new one. So before a verified payment is charged, older payments of
the same payer for the same request on the same network are looked up:

    settled, not delivered    the answer is given for it
    in doubt                  it is resolved first: settled, the answer is given for it; else 503
    held by another           it is waited for: soon it is delivered, or let go

Then the new payment is released, and its authorisation is never used. A payment that nobody asks about for a
day becomes credit, as does what was paid for long work and not delivered (`flows/pay/orders`). Credit that
covers a payment pays it, whatever it is for: the payment is settled, and its authorisation is never used.

Either way the payer is authentic, since the facilitator has just verified the signature.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.flows.pay.payee import Payee, in_use, pending
from gossamer.flows.pay.settling import PaymentSettler
from gossamer.state.pay import ledger, wallet_credit
from gossamer.state.pay.ledger import LedgerEntry, PaymentState, Proof
from gossamer.state.pay.wallet_credit import NotCovered

WAIT_SECONDS: Final = 2 * ledger.LEASE  # for a payment that another holds
_POLL_SECONDS: Final = 0.1

IsGone = Callable[[], bool]  # whether the client has gone away


class OwedPayments(Struct, frozen=True):
    settling: PaymentSettler
    clock: Callable[[], float] = time.time
    _attended: dict[str, IsGone] = field(default_factory=dict)  # payments that are being settled here

    async def serve(self, entry: LedgerEntry, payee: Payee) -> LedgerEntry | None:
        """Mark the payment as served and return None: it is to be charged. Or return what is answered
        instead: an older payment, while this one stays as it is, or this one, paid by credit. Raises a
        problem while it is not known which."""
        hand, now = self.settling.database.single, asyncio.get_running_loop().time
        if await ledger.mark_served_if_first(hand, entry):
            return None
        deadline = now() + WAIT_SECONDS
        while True:
            older, waits = await self._look(entry, payee)
            if older is not None:
                return older
            if not waits:
                break
            if now() >= deadline:
                raise in_use("An earlier payment of yours for this request is still being settled.")
            await asyncio.sleep(_POLL_SECONDS)
        if (paid := await self._spend(entry)) is not None:
            return paid
        if not await ledger.mark_served(hand, entry):
            raise in_use()  # by another request, as we were too slow
        return None

    async def make_good(self, entry: LedgerEntry, payee: Payee) -> LedgerEntry | None:
        """An older payment, if an answer is due for it. None when no money was moved."""
        if entry.state is PaymentState.PENDING:
            async with self.settling.holding(entry):
                entry = await self.settling.resolve(entry, payee, settle=True)
        if entry.state is PaymentState.RELEASED:
            return None
        # Money may have moved unnoticed, and can no longer be moved: the payer gets the benefit of the doubt.
        if entry.state is not PaymentState.SETTLED and self.clock() * 1000 < entry.lasts_until:
            await self.settling.let_go(entry)
            raise pending(payee)
        return entry

    async def _spend(self, entry: LedgerEntry) -> LedgerEntry | None:
        """The payment, if credit covers it: settled, and no money is moved."""
        try:
            async with self.settling.database.write() as connection:
                await wallet_credit.spend(connection, entry)
        except NotCovered:
            return None
        return replace(
            entry, state=PaymentState.SETTLED, proof=Proof.FACILITATOR, credit=entry.amount, wire_json=None
        )

    @contextmanager
    def attending(self, entry: LedgerEntry, is_gone: IsGone) -> Iterator[None]:
        """While its client waits, other requests do not wait for this payment: it is no abandoned attempt."""
        self._attended[entry.id] = is_gone
        try:
            yield
        finally:
            del self._attended[entry.id]

    async def _look(self, entry: LedgerEntry, payee: Payee) -> tuple[LedgerEntry | None, bool]:
        """An older payment to answer, which is held now; or whether there is one to wait for."""
        async with self.settling.database.read() as connection:
            found = await ledger.find_open(connection, entry)
        waits = False
        for one in found:
            if one.held:
                waits = waits or not self._is_attended(one.entry)
            elif (taken := await self.settling.take(one.entry)) is None:
                waits = True  # another request was faster
            elif (older := await self.make_good(taken, payee)) is not None:
                return older, False
        return None, waits

    def _is_attended(self, entry: LedgerEntry) -> bool:
        is_gone = self._attended.get(entry.id)
        return is_gone is not None and not is_gone()
