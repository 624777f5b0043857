"""Settling: the money for an answer, moved once, and known to be moved.

A facilitator that does not say whether it has moved money leaves a payment pending. What became of it is
asked by its nonce: the chain takes an authorisation once, so one that is found spent counts as settled. It is
settled anew only for who comes back for the answer, which is kept for them while money may have moved unseen.

One that is found spent has no transaction to show, and is told apart as unproven: on EVM chains a nonce is
its payer's, and may have gone with another payment. They get their answer, as others too can have sent it to
the chain; but it is no revenue before somebody has looked.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from gossamer.flows.till import Refused, Till, in_use, pending
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach.facilitator import Uncertain
from gossamer.state import ledger
from gossamer.state.database import Database
from gossamer.state.ledger import Entry, Found, State
from gossamer.web import x402
from gossamer.web.x402 import Terms

RENEW_SECONDS: Final = ledger.LEASE / 3
OFFERED_MS: Final = 86_400_000  # how long the answer to a payment in doubt is offered
UNPROVEN: Final = "unproven"  # settled, without a transaction
_LONGEST_REASON: Final = 200


@dataclass(frozen=True, slots=True)
class Settling:
    tills: Mapping[str, Till]  # by the CAIP-2 id of their network
    database: Database
    log: Log
    metrics: Metrics

    async def settle(self, entry: Entry, till: Till) -> Entry:
        """Raises `Refused` when no money was moved, and the problem when that is not known."""
        if not await ledger.served(self.database.single, entry):
            raise in_use()  # by another, as we were too slow
        try:
            settlement = await till.facilitator.settle(*wire(entry))
        except Uncertain as doubt:
            return await self._doubted(entry, till, doubt)
        except Unavailable:
            await self.release(entry, "facilitator_away")
            raise
        # Spent since it was verified a moment ago: anybody can have sent it to the chain.
        if settlement.success or settlement.spent:
            return await self._settled(entry, settlement.transaction)
        await self.release(entry, settlement.reason)
        failed = x402.receipt(till.network, entry.payer, settlement.transaction, settlement.reason)
        raise Refused(settlement.reason, f"The payment failed ({settlement.reason}).", failed)

    async def resolve(self, entry: Entry, till: Till, *, settle: bool) -> Entry:
        """What became of a payment in doubt, as far as it can be told."""
        payment, terms = wire(entry)
        try:
            verdict = await till.facilitator.verify(payment, terms)
            if verdict.spent:
                return await self._settled(entry, "")
            if verdict.valid and settle:
                settlement = await till.facilitator.settle(payment, terms)
                if settlement.success or settlement.spent:
                    return await self._settled(entry, settlement.transaction)
        except Unavailable as away:
            self.log.warning("payment_in_doubt", "a payment stays in doubt", id=entry.id, why=away.detail)
        return entry

    async def release(self, entry: Entry, reason: str) -> None:
        self.metrics.payment(self._named(entry), State.RELEASED)
        with contextlib.suppress(Unavailable):  # else it is released when nobody holds it any more
            await ledger.released(self.database.single, entry, reason[:_LONGEST_REASON])

    async def let_go(self, entry: Entry) -> None:
        with contextlib.suppress(Unavailable):  # else it is let go when its time is over
            await ledger.let_go(self.database.single, entry)

    async def reconcile(self) -> None:
        """Bring to an end what was left behind by a server that was killed, or by a facilitator in doubt."""
        async with self.database.read() as connection:
            found = await ledger.left_behind(connection)
        for one in found:
            await self._conclude(one)

    @asynccontextmanager
    async def holding(self, entry: Entry, *, verified: bool = False) -> AsyncIterator[None]:
        """Nobody else takes it meanwhile, however long that is."""
        renewing = asyncio.create_task(self._keep(entry, verified))
        try:
            yield
        finally:
            renewing.cancel()

    async def take(self, entry: Entry) -> Entry | None:
        """Hold what was left behind; one that money may have been asked for is in doubt from now on."""
        async with self.database.write() as connection:
            taken = await ledger.take(connection, entry)
            if taken is None or taken.state is not State.SERVED:
                return taken
            await ledger.pending(connection, taken, "abandoned")
        self.metrics.payment(self._named(entry), State.PENDING)
        return replace(taken, state=State.PENDING)

    async def _conclude(self, found: Found) -> None:
        entry, till = await self.take(found.entry), self.tills.get(found.entry.network)
        if entry is None:
            return
        if entry.state is not State.PENDING:
            await self.release(entry, "abandoned")
            return
        if till is not None:
            async with self.holding(entry):
                entry = await self.resolve(entry, till, settle=False)
        if entry.state is State.PENDING and found.now > entry.lasts_until + OFFERED_MS:
            await self.release(entry, "expired")
        else:
            await self.let_go(entry)

    async def _doubted(self, entry: Entry, till: Till, doubt: Uncertain) -> Entry:
        self.metrics.payment(till.network.name, State.PENDING)
        await ledger.pending(self.database.single, entry, doubt.detail[:_LONGEST_REASON])
        entry = await self.resolve(replace(entry, state=State.PENDING), till, settle=False)
        if entry.state is not State.SETTLED:
            await self.let_go(entry)
            raise pending(till)
        return entry

    async def _settled(self, entry: Entry, transaction: str) -> Entry:
        """The money was moved, so the answer is given, also when that cannot be written down just now."""
        self.metrics.payment(self._named(entry), State.SETTLED if transaction else UNPROVEN)
        if transaction:
            self.metrics.revenue(entry.endpoint, entry.amount)
        else:
            self.log.warning(
                "payment_unproven", "a payment counts as made, and has no transaction to show", id=entry.id
            )
        try:
            await ledger.settled(self.database.single, entry, transaction)
        except Unavailable as away:
            self.log.error(
                "payment_unwritten", "the ledger lags behind a settlement", id=entry.id, why=away.detail
            )
        return replace(entry, state=State.SETTLED, transaction_id=transaction)

    async def _keep(self, entry: Entry, verified: bool) -> None:
        hand, held = self.database.single, True
        while held:
            await asyncio.sleep(RENEW_SECONDS)
            with contextlib.suppress(Unavailable):
                held = (verified and await ledger.verified(hand, entry)) or await ledger.hold_on(hand, entry)

    def _named(self, entry: Entry) -> str:
        return x402.NETWORKS[entry.network].name


def wire(entry: Entry) -> tuple[dict[str, Any], Terms]:
    """The payment and its terms as facilitators are told of them."""
    payment = msgspec.json.decode(entry.wire_json or "{}", type=dict[str, Any])
    return payment, msgspec.convert(payment["accepted"], Terms)
