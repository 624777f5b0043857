"""Settle payments: move the money for an answer once, and know whether it was moved.

A facilitator that does not say whether it has moved money leaves a payment pending. Its nonce then decides:
a chain accepts an authorisation once, so a payment whose nonce is spent counts as settled. A pending payment
is settled again only when its client comes back for the answer.

A payment that is found spent has no transaction to show, and is marked as unproven: on EVM chains a nonce
belongs to the payer, and another payment may have used it. The payer gets the answer, since anyone can have
sent the authorisation to the chain; but it is no revenue before it is looked up. Where there is a node to
ask, we look: at once if that decides whether an answer is due, else soon afterwards (`flows/pay/proving`).
There, a transaction that a facilitator names is no revenue either before it was found on the chain.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.concurrency.periodic import every, ignore
from gossamer.flows.pay.payee import Payee, PaymentRefused, pending
from gossamer.flows.pay.payment_events import tell_written, write_and_tell
from gossamer.flows.pay.proving import look_up, transfer_of
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach.services.facilitator import Uncertain
from gossamer.state.db.database import Database
from gossamer.state.pay import ledger
from gossamer.state.pay.ledger import FoundPayment, LedgerEntry, PaymentState, Proof
from gossamer.web.pay import x402
from gossamer.web.pay.transfer import Fate
from gossamer.web.pay.x402 import PaymentTerms
from gossamer.web.webhooks.event_type import EventType

RENEW_SECONDS: Final = ledger.LEASE / 3
OFFERED_MS: Final = 86_400_000  # how long an answer is offered for a payment in doubt
UNPROVEN: Final = "unproven"  # settled, without a transaction
_MAX_REASON_CHARS: Final = 200
_ASKED_FOR: Final = (PaymentState.SERVED, PaymentState.PENDING)  # money was, or may have been


class PaymentSettler(Struct, frozen=True):
    payees: Mapping[str, Payee]  # by the CAIP-2 id of their network
    database: Database
    log: Log
    metrics: Metrics

    async def settle(self, entry: LedgerEntry, payee: Payee) -> LedgerEntry:
        """Raises `PaymentRefused` when no money was moved, and the problem when that is not known."""
        entry = replace(entry, state=PaymentState.SERVED)
        try:
            settlement = await payee.facilitator.settle(*wire(entry))
        except Uncertain as doubt:
            return await self._resolve_doubt(entry, payee, doubt)
        except Unavailable:
            await self.release(entry, "facilitator_away")
            raise
        # It can have been spent since it was verified: anyone can send an authorisation to the chain.
        if settlement.success:
            return await self._write_settled(entry, settlement.transaction)
        if settlement.spent:
            entry = await self._settle_spent(entry, payee)
        if entry.state is PaymentState.SETTLED:
            return entry
        await self.release(entry, settlement.reason)
        failed = x402.receipt(payee.network, entry.payer, settlement.transaction, settlement.reason)
        raise PaymentRefused(settlement.reason, f"The payment failed ({settlement.reason}).", failed)

    async def resolve(self, entry: LedgerEntry, payee: Payee, *, settle: bool) -> LedgerEntry:
        """A payment in doubt as far as it can be resolved: settled, released, or unchanged."""
        entry = await self._look_up(entry, payee)
        if entry.state is not PaymentState.PENDING:
            return entry
        payment, terms = wire(entry)
        try:
            verdict = await payee.facilitator.verify(payment, terms)
            if verdict.spent:
                return await self._settle_spent(entry, payee)
            if verdict.valid and settle:
                settlement = await payee.facilitator.settle(payment, terms)
                if settlement.success:
                    return await self._write_settled(entry, settlement.transaction)
                if settlement.spent:
                    return await self._settle_spent(entry, payee)
        except Unavailable as away:
            self.log.warning("payment_in_doubt", "a payment stays in doubt", id=entry.id, why=away.detail)
        return entry

    async def recall(self, entry: LedgerEntry, payee: Payee, since: int) -> LedgerEntry | None:
        """The payment as settled if the chain has it already: a restore took the ledger back to `since`, and
        it was made after that. None if the chain does not have it, or there is no node to ask; then the
        facilitator refuses what is spent. Raises `Unavailable`, since nothing may be sold in doubt."""
        if payee.chain is None:
            return None
        evidence = await payee.chain.find(transfer_of(entry, since))
        if evidence.fate is not Fate.PAID or not await ledger.mark_served(self.database.single, entry):
            return None
        self.log.warning("payment_recalled", "a payment from before the restore was found", id=entry.id)
        served = replace(entry, state=PaymentState.SERVED)
        return await self._write_settled(served, evidence.transaction, Proof.CHAIN)

    async def release(self, entry: LedgerEntry, reason: str) -> None:
        self.metrics.payment(self._network_name(entry), PaymentState.RELEASED)
        reason = reason[:_MAX_REASON_CHARS]
        with contextlib.suppress(Unavailable):  # else it is released when its lease has run out
            if entry.state in _ASKED_FOR:
                write = partial(ledger.release, entry=entry, reason=reason)
                await write_and_tell(self.database, entry, EventType.PAYMENT_FAILED, write, reason=reason)
            else:
                await ledger.release(self.database.single, entry, reason)

    async def let_go(self, entry: LedgerEntry) -> None:
        with contextlib.suppress(Unavailable):  # else its lease runs out
            await ledger.let_go(self.database.single, entry)

    async def reconcile(self) -> None:
        """Finish payments that a killed server or an uncertain facilitator left behind."""
        async with self.database.read() as connection:
            found = await ledger.find_left_behind(connection)
        for one in found:
            await self._conclude(one)

    @asynccontextmanager
    async def holding(self, entry: LedgerEntry, *, verified: bool = False) -> AsyncIterator[None]:
        """Renew the lease in the background, so that no other request takes the payment."""
        renewing = asyncio.create_task(self._keep(entry, verified))
        try:
            yield
        finally:
            renewing.cancel()

    async def take(self, entry: LedgerEntry) -> LedgerEntry | None:
        """Hold a payment that was left behind. It is in doubt if money may have been asked for."""
        async with self.database.write() as connection:
            taken = await ledger.take(connection, entry)
            if taken is None or taken.state is not PaymentState.SERVED:
                return taken
            written = await ledger.mark_pending(connection, taken, "abandoned")
            await tell_written(connection, taken, EventType.PAYMENT_IN_DOUBT, written, reason="abandoned")
        self.metrics.payment(self._network_name(entry), PaymentState.PENDING)
        return replace(taken, state=PaymentState.PENDING)

    async def _conclude(self, found: FoundPayment) -> None:
        entry, payee = await self.take(found.entry), self.payees.get(found.entry.network)
        if entry is None:
            return
        if entry.state is not PaymentState.PENDING:
            await self.release(entry, "abandoned")
            return
        if payee is not None:
            async with self.holding(entry):
                entry = await self.resolve(entry, payee, settle=False)
        if entry.state is PaymentState.PENDING and found.now > entry.lasts_until + OFFERED_MS:
            await self.release(entry, "expired")
        elif entry.state is not PaymentState.RELEASED:
            await self.let_go(entry)

    async def _resolve_doubt(self, entry: LedgerEntry, payee: Payee, doubt: Uncertain) -> LedgerEntry:
        self.metrics.payment(payee.network.name, PaymentState.PENDING)
        reason = doubt.detail[:_MAX_REASON_CHARS]
        write = partial(ledger.mark_pending, entry=entry, reason=reason)
        await write_and_tell(self.database, entry, EventType.PAYMENT_IN_DOUBT, write, reason=reason)
        entry = await self.resolve(replace(entry, state=PaymentState.PENDING), payee, settle=False)
        if entry.state is PaymentState.SETTLED:
            return entry
        await self.let_go(entry)
        raise pending(payee)

    async def _settle_spent(self, entry: LedgerEntry, payee: Payee) -> LedgerEntry:
        """The nonce is spent: for this payment, unless the chain says otherwise."""
        entry = await self._look_up(entry, payee)
        if entry.state in (PaymentState.SETTLED, PaymentState.RELEASED):
            return entry
        self.log.warning(
            "payment_unproven", "a payment counts as made, and has no transaction to show", id=entry.id
        )
        return await self._write_settled(entry, "")

    async def _look_up(self, entry: LedgerEntry, payee: Payee) -> LedgerEntry:
        """Settled or released if the chain knows, else unchanged."""
        evidence = await look_up(entry, payee, self.log)
        if evidence.fate is Fate.PAID:
            return await self._write_settled(entry, evidence.transaction, Proof.CHAIN)
        if not evidence.is_unpaid:
            return entry
        await self.release(entry, evidence.fate)
        return replace(entry, state=PaymentState.RELEASED)

    async def _write_settled(
        self, entry: LedgerEntry, transaction: str, proof: Proof | None = None
    ) -> LedgerEntry:
        """The money was moved, so the answer is given even if the ledger cannot be written just now."""
        proof = self._proof_of(entry, transaction) if proof is None else proof
        self.metrics.payment(self._network_name(entry), PaymentState.SETTLED if transaction else UNPROVEN)
        if proof:
            self.metrics.revenue(entry.endpoint, entry.amount)
        try:
            write = partial(ledger.mark_settled, entry=entry, transaction=transaction, proof=proof)
            settled = EventType.PAYMENT_SETTLED
            await write_and_tell(self.database, entry, settled, write, transaction=transaction)
        except Unavailable as away:
            self.log.error(
                "payment_unwritten", "the ledger lags behind a settlement", id=entry.id, why=away.detail
            )
        return replace(entry, state=PaymentState.SETTLED, transaction_id=transaction, proof=proof)

    def _proof_of(self, entry: LedgerEntry, transaction: str) -> Proof:
        """The facilitator's word counts where we have no node to ask."""
        payee = self.payees.get(entry.network)
        can_look = payee is not None and payee.chain is not None
        return Proof.FACILITATOR if transaction and not can_look else Proof.NONE

    async def _keep(self, entry: LedgerEntry, verified: bool) -> None:
        hand = self.database.single

        async def renew() -> bool:
            return (verified and await ledger.mark_verified(hand, entry)) or await ledger.renew(hand, entry)

        await every(RENEW_SECONDS, renew, on_outage=ignore)

    def _network_name(self, entry: LedgerEntry) -> str:
        return x402.NETWORKS[entry.network].name


def wire(entry: LedgerEntry) -> tuple[dict[str, Any], PaymentTerms]:
    """The payment and its terms as facilitators get them."""
    payment = msgspec.json.decode(entry.wire_json or "{}", type=dict[str, Any])
    return payment, msgspec.convert(payment["accepted"], PaymentTerms)
