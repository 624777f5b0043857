"""Pay: a request is served to whoever pays for it, and money moves only for an answer that is worth it.

    1  the payment is compared with what was asked for    else 402
    2  it is reserved in the ledger                       else 409; 402 when it was used before
    3  the facilitator verifies it                        else 402, or 503 when it does not say
    4  the request is served                              when that does not turn out well, it is released
    5  the facilitator settles it                         else 402; when it does not say, it is pending: 503
    6  the answer is given, and known to be given

What a step must not be without is written down before it: the reservation before 3, that the answer is there
before 5, that money was moved before 6. What is pending, or settled without its answer having been given, is
not paid for again: who comes back with the same payment for the same request gets the answer.
"""

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from gossamer import problems
from gossamer.flows.admit import Caller, wallet
from gossamer.flows.quotes import Purchase, Quotes
from gossamer.flows.settling import RENEW_SECONDS, Settling, wire
from gossamer.flows.till import Receipt, Refused, Till, all_terms, in_use, pending
from gossamer.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.state import ledger
from gossamer.state.database import Database
from gossamer.state.ledger import Entry, Key, NewEntry, State
from gossamer.web import x402
from gossamer.web.x402 import Payment, Terms

T = TypeVar("T")
RECONCILE_SECONDS: Final = 5.0
_UNTOUCHED: Final = (State.RESERVED, State.VERIFIED)  # no money can have been moved


class Used(Refused):
    """It was paid with before, and the answer was given."""

    def __init__(self, entry: Entry) -> None:
        super().__init__("payment_already_used", "The payment authorisation has already been used.")
        network = x402.NETWORKS[entry.network]
        self.proof = x402.receipt(network, entry.payer, entry.transaction_id)  # for its answer, given again


@dataclass(slots=True)
class Sale:
    """A request that is being served for a payment."""

    entry: Entry
    till: Till
    caller: Caller
    owed: bool = False  # the money was moved, or may have been, and no answer was given
    over: bool = False  # nothing is left to be released

    @property
    def receipt(self) -> Receipt:
        return x402.receipt(self.till.network, self.entry.payer, self.entry.transaction_id)


@dataclass(frozen=True, slots=True)
class Payments:
    settling: Settling
    quotes: Quotes
    database: Database
    log: Log
    clock: Callable[[], float] = time.time
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def terms(self, amount: int) -> list[Terms]:
        """The ways to pay this much now."""
        return await all_terms(self.settling.tills.values(), amount, self.quotes.seconds)

    async def admit(self, payment: Payment, purchase: Purchase) -> Sale:
        """Raises `Refused`, or the problem that stands in the way."""
        till = self.settling.tills.get(payment.network.id)
        if till is None:
            raise Refused("network_mismatch", f"Payments on {payment.network.name} are not taken here.")
        again = partial(self._again, _key(payment), purchase, till)
        try:
            new = await self._compared(payment, purchase, till)
        except Refused:
            if owed := await again():  # given for what was asked then
                return owed
            raise
        entry = await ledger.reserve(self.database.single, new)
        if entry is None:
            if owed := await again():
                return owed
            entry = await ledger.reserve(self.database.single, new)
        if entry is None:  # another was faster
            raise in_use()
        sale = Sale(entry, till, wallet(entry.payer))
        await self._verified(sale)
        return sale

    @asynccontextmanager
    async def serving(self, sale: Sale) -> AsyncIterator[None]:
        """The payment is held meanwhile, and released at the end unless it was settled."""
        async with self.settling.holding(sale.entry, verified=True):
            try:
                yield
            finally:
                if not sale.over:
                    await self._to_its_end(self._give_up(sale))

    async def settle(self, sale: Sale) -> Receipt:
        """The answer is worth its price: take the money. Goes on when whoever asked goes away."""
        if not sale.owed:
            sale.over = True
            sale.entry = await self._to_its_end(self.settling.settle(sale.entry, sale.till))
        sale.over = True
        return sale.receipt

    async def delivered(self, sale: Sale) -> None:
        with contextlib.suppress(Unavailable):  # else it may be given once more
            if not await ledger.delivered(self.database.single, sale.entry):
                await ledger.released(self.database.single, sale.entry, "given_in_doubt")

    async def keep_up(self) -> None:
        """Run until cancelled; the first time at once, for what the last run left behind."""
        while True:
            # What facilitators need is known before somebody asks, and so is one that refuses us.
            tills = self.settling.tills.values()
            await asyncio.gather(*(till.facilitator.kind(till.network.id) for till in tills))
            try:
                await self.settling.reconcile()
            except Unavailable as away:
                self.log.warning("upkeep_postponed", "upkeep will be tried again", why=away.detail)
            await asyncio.sleep(RECONCILE_SECONDS)

    async def close(self) -> None:
        """What was begun comes to its end; what it stands on has deadlines."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for facilitator in {till.facilitator for till in self.settling.tills.values()}:
            await facilitator.close()

    async def _compared(self, payment: Payment, purchase: Purchase, till: Till) -> NewEntry:
        amount, now = x402.amount(payment), self.clock()
        if not amount or not await self.quotes.takes(purchase, amount):
            raise Refused("amount_mismatch", "The amount is not what was quoted for this request.")
        plain = x402.terms(till.network, till.pay_to, amount, self.quotes.seconds, {})
        asked = x402.for_payment(plain, payment)
        wrong = x402.mismatch(payment, asked, purchase.resource, now)
        if wrong:
            raise Refused(wrong, f"The payment is not what was asked for ({wrong}).")
        on_wire = payment.on_wire(asked, purchase.resource, purchase.extensions)
        return NewEntry(
            network=till.network.id,
            payer=payment.payer,
            nonce=payment.nonce,
            version=payment.version,
            asset=asked.asset,
            pay_to=asked.pay_to,
            amount=amount,
            endpoint=purchase.endpoint,
            request_hash=purchase.request_hash,
            request_id=purchase.request_id,
            identifier=_key(payment).identifier,
            wire_json=msgspec.json.encode(on_wire).decode(),
            lasts_until=round(payment.lasts_until(now) * 1000),
        )

    async def _again(self, key: Key, purchase: Purchase, till: Till) -> Sale | None:
        """If it was seen before, it is at work, at its end, or owed an answer. None: it was not, or was left
        untouched."""
        async with self.database.read() as connection:
            found = await ledger.find(connection, key)
        if found is None:
            return None
        entry = found.entry
        if (entry.network, entry.payer, entry.nonce) != key[:3]:
            raise Problem(
                problems.IDEMPOTENCY_KEY_CONFLICT,
                "The payment-identifier was already used with a different payment.",
                hint="Use a new identifier for a new payment.",
            )
        if found.held:
            raise in_use()
        another = entry.request_hash != purchase.request_hash
        if entry.delivered_at is not None or (another and entry.state not in _UNTOUCHED):
            raise Used(entry)
        taken = await self.settling.take(entry)
        if taken is None:
            raise in_use()
        if taken.state in _UNTOUCHED:
            await self.settling.release(taken, "abandoned")
            return None
        return await self._owed(taken, till)

    async def _owed(self, entry: Entry, till: Till) -> Sale:
        if entry.state is State.PENDING:
            async with self.settling.holding(entry):
                entry = await self.settling.resolve(entry, till, settle=True)
        # What could have been moved unseen, and can be moved no more, is answered all the same.
        if entry.state is not State.SETTLED and self.clock() * 1000 < entry.lasts_until:
            await self.settling.let_go(entry)
            raise pending(till)
        return Sale(entry, till, wallet(entry.payer), owed=True)

    async def _verified(self, sale: Sale) -> None:
        clock, good = asyncio.get_running_loop().time, False
        began = clock()
        try:
            async with self.settling.holding(sale.entry):
                verdict = await sale.till.facilitator.verify(*wire(sale.entry))
            if not verdict.valid:
                raise Refused(verdict.reason, f"The payment was not accepted ({verdict.reason}).")
            # So soon after it was reserved nobody else can have taken it.
            good = clock() - began < RENEW_SECONDS or await ledger.verified(self.database.single, sale.entry)
            if not good:
                raise in_use()
        finally:
            if not good:
                await self._to_its_end(self._forget(sale.entry))

    async def _forget(self, entry: Entry) -> None:
        with contextlib.suppress(Unavailable):  # else it is released when nobody holds it any more
            await ledger.forget(self.database.single, entry)

    async def _give_up(self, sale: Sale) -> None:
        """Served, but not with what is worth the price."""
        if sale.owed:
            await self.settling.let_go(sale.entry)
        else:
            await self.settling.release(sale.entry, "not_charged")

    async def _to_its_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Whoever waits for it may be cancelled; it is not."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # heard by who waits, if anybody still does


def _key(payment: Payment) -> Key:
    """A name is each payer's own: nobody can take another's for a payment."""
    named = f"{payment.payer}\n{payment.identifier}".encode()
    identifier = hashlib.sha256(named).hexdigest() if payment.identifier else None
    return Key(payment.network.id, payment.payer, payment.nonce, identifier)
