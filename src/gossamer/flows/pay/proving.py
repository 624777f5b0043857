"""Prove payments: look up on the chain whether their money has come, where there is a node to ask.

A settled payment that has no proof is looked up until the chain knows: then it is revenue, or it is released
because no money came. As long as the chain does not know, the payment is looked up less and less often.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import Struct, field

from gossamer.flows.pay.payee import Payee
from gossamer.flows.pay.payment_events import write_and_tell
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.db.database import Database
from gossamer.state.pay import ledger
from gossamer.state.pay.ledger import LedgerEntry, PaymentState
from gossamer.web.pay.transfer import Evidence, Fate, Transfer
from gossamer.web.webhooks.event_type import EventType

FIRST_PAUSE: Final = 5.0  # seconds until one is looked up again; then twice as many each time
MAX_PAUSE: Final = 3_600.0


async def look_up(entry: LedgerEntry, payee: Payee, log: Log) -> Evidence:
    """What the chain says of a payment; nothing where there is none to ask, or it does not answer."""
    if payee.chain is None:
        return Evidence(Fate.OPEN)
    try:
        return await payee.chain.find(transfer_of(entry, entry.created_at), entry.transaction_id)
    except Unavailable as away:
        log.warning("chain_away", "a payment cannot be looked up on its chain", id=entry.id, why=away.detail)
        return Evidence(Fate.OPEN)


class _Pause(Struct):
    until: float
    seconds: float


class PaymentProver(Struct, frozen=True):
    payees: Mapping[str, Payee]  # by the CAIP-2 id of their network
    database: Database
    log: Log
    metrics: Metrics
    clock: Callable[[], float]
    _pauses: dict[str, _Pause] = field(default_factory=dict)  # by the id of the payment

    async def prove(self) -> None:
        """Look up the payments that are due. Raises `Unavailable` without the database."""
        asked = [network for network, payee in self.payees.items() if payee.chain is not None]
        if not asked:
            return
        async with self.database.read() as connection:
            found = [one.entry for one in await ledger.find_unproven(connection, asked)]
        self._forget_all_but({entry.id for entry in found})
        for entry in found:
            if self._is_due(entry):
                await self._look(entry)

    async def _look(self, entry: LedgerEntry) -> None:
        payee = self.payees[entry.network]
        evidence = await look_up(entry, payee, self.log)
        if evidence.fate is Fate.PAID:
            if await ledger.mark_proven(self.database.single, entry, evidence.transaction):
                self.metrics.revenue(entry.endpoint, entry.amount)
        elif evidence.is_unpaid:
            write = partial(ledger.mark_disproven, entry=entry, reason=evidence.fate)
            failed, why = EventType.PAYMENT_FAILED, str(evidence.fate)
            if await write_and_tell(self.database, entry, failed, write, reason=why):
                self.metrics.payment(payee.network.name, PaymentState.RELEASED)
                self._complain(entry, evidence)
        else:
            self._put_off(entry)

    def _complain(self, entry: LedgerEntry, evidence: Evidence) -> None:
        self.log.error(
            "payment_disproven",
            "a payment counted as made, and the chain shows that no money came",
            id=entry.id,
            transaction=entry.transaction_id,
            why=evidence.fate,
        )

    def _is_due(self, entry: LedgerEntry) -> bool:
        pause = self._pauses.get(entry.id)
        return pause is None or self.clock() >= pause.until

    def _put_off(self, entry: LedgerEntry) -> None:
        before = self._pauses.get(entry.id)
        seconds = FIRST_PAUSE if before is None else min(2 * before.seconds, MAX_PAUSE)
        self._pauses[entry.id] = _Pause(self.clock() + seconds, seconds)

    def _forget_all_but(self, ids: set[str]) -> None:
        for gone in self._pauses.keys() - ids:
            del self._pauses[gone]


def transfer_of(entry: LedgerEntry, since: int) -> Transfer:
    """The transfer of a payment, which was made after `since`, in milliseconds."""
    return Transfer(
        asset=entry.asset,
        payer=entry.payer,
        pay_to=entry.pay_to,
        amount=entry.amount,
        nonce=entry.nonce,
        since=since / 1000,
        until=entry.lasts_until / 1000,
    )
