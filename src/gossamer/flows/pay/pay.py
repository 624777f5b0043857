"""Serve a request for a payment, and take the money only for an answer that is worth its price.

    1  the payment is compared with what was asked for    else 402
    2  it is reserved in the ledger                       else 409; 402 when it was used before
       if the ledger was restored, the chain is asked     if it has the payment, it is owed an answer
    3  the facilitator verifies it                        else 402, or 503 when it does not say
    4  the request is served                              when that does not turn out well, it is released
    5  what is owed to the payer is looked up             an older payment for this request is answered, and
                                                          this one released; or credit pays this one
    6  the facilitator settles it                         else 402; when it does not say, it is pending: 503
    7  the answer is given, and known to be given

The ledger is written before each step that relies on it: the reservation before 3, that the answer is there
before 6, that money was moved before 7. A payment that is pending, or settled without a delivered answer, is
not charged again: a client that comes back with the same payment, or with a new one for the same request,
gets the answer (`flows/pay/owed`). Long work is settled before it is accepted (`flows/pay/orders`).
"""

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field

from gossamer import problems
from gossamer.concurrency.periodic import every
from gossamer.flows.pay.orders import Orders
from gossamer.flows.pay.owed import IsGone, OwedPayments
from gossamer.flows.pay.payee import Payee, PaymentRefused, Receipt, in_use
from gossamer.flows.pay.proving import PaymentProver
from gossamer.flows.pay.quotes import Purchase, Quotes
from gossamer.flows.pay.settling import RENEW_SECONDS, PaymentSettler, wire
from gossamer.flows.pay.terms import AllTerms
from gossamer.flows.tenants.admit import Caller, wallet
from gossamer.observe.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.state.backup.records import last_restore
from gossamer.state.db.database import Database
from gossamer.state.pay import ledger
from gossamer.state.pay.ledger import LedgerEntry, NewEntry, PaymentKey, PaymentState
from gossamer.web.pay import x402
from gossamer.web.pay.x402 import Payment, PaymentTerms

T = TypeVar("T")
RECONCILE_SECONDS: Final = 5.0
_UNTOUCHED: Final = (PaymentState.RESERVED, PaymentState.VERIFIED)  # no money can have been moved


class PaymentUsed(PaymentRefused):
    """The payment was used before, and its answer was delivered."""

    def __init__(self) -> None:
        super().__init__("payment_already_used", "The payment authorisation has already been used.")


class PaidCall(Struct):
    """A request that is being served for a payment."""

    entry: LedgerEntry
    payee: Payee
    caller: Caller
    owed: bool = False  # the money was moved, or may have been, and no answer was given
    over: bool = False  # there is nothing left to release
    repeats: bool = False  # its order was answered before
    is_named: bool = False  # the client has named the payment, which nobody else can know

    @property
    def receipt(self) -> Receipt:
        return x402.receipt(self.payee.network, self.entry.payer, self.entry.transaction_id)


class Payments(Struct, frozen=True):
    settling: PaymentSettler
    owed: OwedPayments
    prover: PaymentProver
    all_terms: AllTerms
    quotes: Quotes
    orders: Orders
    database: Database
    log: Log
    clock: Callable[[], float] = time.time
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def terms(self, amount: int) -> list[PaymentTerms]:
        """The ways to pay this much now."""
        return await self.all_terms.quote(self.settling.payees.values(), amount, self.quotes.seconds)

    async def admit(self, payment: Payment, purchase: Purchase) -> PaidCall:
        """Raises `PaymentRefused`, or the problem that stands in the way."""
        payee = self.settling.payees.get(payment.network.id)
        if payee is None:
            raise PaymentRefused(
                "network_mismatch", f"Payments on {payment.network.name} are not taken here."
            )
        resume = partial(self._resume, _key(payment), purchase, payee)
        try:
            new = await self._compare(payment, purchase, payee)
        except PaymentRefused:
            if owed := await resume():  # signed for an earlier quote
                return owed
            raise
        entry = await ledger.reserve(self.database.single, new)
        if entry is None:
            if owed := await resume():
                return owed
            entry = await ledger.reserve(self.database.single, new)
        if entry is None:  # another request was faster
            raise in_use()
        if recalled := await self._recall(entry, payment, payee):
            return recalled
        call = PaidCall(entry, payee, wallet(entry.payer))
        await self._verify(call)
        return call

    @asynccontextmanager
    async def serving(self, call: PaidCall) -> AsyncIterator[None]:
        """Hold the payment meanwhile, and release it at the end unless it was settled."""
        async with self.settling.holding(call.entry, verified=True):
            try:
                yield
            finally:
                if not call.over:
                    await self._finish(self._give_up(call))

    async def settle(self, call: PaidCall, is_gone: IsGone = lambda: False) -> Receipt:
        """The answer is worth its price: take the money. Goes on when the client goes away."""
        with self.owed.attending(call.entry, is_gone):
            if not call.owed and not await self._honour(call):
                call.over = True
                call.entry = await self._finish(self.settling.settle(call.entry, call.payee))
        call.over = True
        return call.receipt

    @asynccontextmanager
    async def delivering(self, call: PaidCall) -> AsyncIterator[None]:
        """Hold the payment while its answer is sent, which may be slow; then mark it as delivered."""
        async with self.settling.holding(call.entry):
            yield
        with contextlib.suppress(Unavailable):  # else it may be given once more
            if not await ledger.mark_delivered(self.database.single, call.entry):
                await ledger.release(self.database.single, call.entry, "given_in_doubt")

    async def keep_up(self) -> None:
        """Run until cancelled; the first time at once, for what the last run left behind."""
        await every(RECONCILE_SECONDS, self._reconcile, at_once=True, on_outage=self._postpone)

    async def _reconcile(self) -> None:
        # So that the facilitators' needs and refusals are known before the first request.
        payees = self.settling.payees.values()
        await asyncio.gather(*map(self.all_terms.learn, payees))
        await self.settling.reconcile()
        await self.prover.prove()
        await self.orders.reconcile()

    def _postpone(self, away: Unavailable) -> None:
        self.log.warning("upkeep_postponed", "upkeep will be tried again", why=away.detail)

    async def close(self) -> None:
        """Wait for tasks under way. They end, since everything that they call has a deadline."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for facilitator in {payee.facilitator for payee in self.settling.payees.values()}:
            await facilitator.close()
        for payee in self.settling.payees.values():
            if payee.chain is not None:
                await payee.chain.close()

    async def _compare(self, payment: Payment, purchase: Purchase, payee: Payee) -> NewEntry:
        amount, now = x402.amount(payment), self.clock()
        if not amount or not await self.quotes.takes(purchase, amount):
            raise PaymentRefused("amount_mismatch", "The amount is not what was quoted for this request.")
        plain = x402.terms(payee.network, payee.address, amount, self.quotes.seconds, {})
        asked = x402.for_payment(plain, payment)
        wrong = x402.mismatch(payment, asked, purchase.resource, now)
        if wrong:
            raise PaymentRefused(wrong, f"The payment is not what was asked for ({wrong}).")
        on_wire = payment.on_wire(asked, purchase.resource, purchase.extensions)
        return NewEntry(
            network=payee.network.id,
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

    async def _resume(self, key: PaymentKey, purchase: Purchase, payee: Payee) -> PaidCall | None:
        """The call, if this payment was seen before and is owed an answer. None: it was not seen, or no money
        was moved. Raises when it is in use or was used."""
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
        if not another and entry.delivered_at is not None and await self.orders.get(entry.id) is not None:
            named = key.identifier is not None and key.identifier == entry.identifier
            return PaidCall(entry, payee, wallet(entry.payer), over=True, repeats=True, is_named=named)
        if entry.delivered_at is not None or (another and entry.state not in _UNTOUCHED):
            raise PaymentUsed
        taken = await self.settling.take(entry)
        if taken is None:
            raise in_use()
        if taken.state in _UNTOUCHED:
            await self.settling.release(taken, "abandoned")
            return None
        owed = await self.owed.make_good(taken, payee)
        return None if owed is None else PaidCall(owed, payee, wallet(owed.payer), owed=True)

    async def _recall(self, entry: LedgerEntry, payment: Payment, payee: Payee) -> PaidCall | None:
        """The call, if the payment was made before a restore that took its row away. Its answer may have been
        given: the payer has the benefit of the doubt, once."""
        async with self.database.read() as connection:
            restored = await last_restore(connection)
        if restored is None or not x402.could_be_made(payment, restored.finished_at / 1000, self.clock()):
            return None
        try:
            made = await self.settling.recall(entry, payee, restored.snapshot_at)
        except Unavailable:
            await self._finish(self._forget(entry))
            raise
        return None if made is None else PaidCall(made, payee, wallet(made.payer), owed=True)

    async def _honour(self, call: PaidCall) -> bool:
        """Whether the answer is given for an older payment. Then this one is not charged."""
        older = await self.owed.serve(call.entry, call.payee)
        if older is None:
            return False
        if older.id != call.entry.id:  # else credit has paid it
            await self.settling.release(call.entry, "owed_before")
        call.entry, call.owed = older, True
        return True

    async def _verify(self, call: PaidCall) -> None:
        clock, good = asyncio.get_running_loop().time, False
        began = clock()
        try:
            async with self.settling.holding(call.entry):
                verdict = await call.payee.facilitator.verify(*wire(call.entry))
            if not verdict.valid:
                raise PaymentRefused(verdict.reason, f"The payment was not accepted ({verdict.reason}).")
            # So soon after the reservation no other request can have taken it.
            good = clock() - began < RENEW_SECONDS or await ledger.mark_verified(
                self.database.single, call.entry
            )
            if not good:
                raise in_use()
        finally:
            if not good:
                await self._finish(self._forget(call.entry))

    async def _forget(self, entry: LedgerEntry) -> None:
        with contextlib.suppress(Unavailable):  # else it is released when its lease has run out
            await ledger.forget(self.database.single, entry)

    async def _give_up(self, call: PaidCall) -> None:
        """The request was served, but not with an answer that is worth the price."""
        if call.owed:
            await self.settling.let_go(call.entry)
        else:
            await self.settling.release(call.entry, "not_charged")

    async def _finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` to its end, even if the caller is cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget_task)
        return await asyncio.shield(task)

    def _forget_task(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, in case the caller is gone


def _key(payment: Payment) -> PaymentKey:
    """An identifier belongs to its payer, so it is hashed with the payer's address."""
    named = f"{payment.payer}\n{payment.identifier}".encode()
    identifier = hashlib.sha256(named).hexdigest() if payment.identifier else None
    return PaymentKey(payment.network.id, payment.payer, payment.nonce, identifier)
