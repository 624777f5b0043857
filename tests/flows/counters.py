"""A shop's counter: the flow of payments, a chain that knows one thing, and a facilitator in between."""

import base64
import io
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import update
from tests.servers.chains import facilitator as servers
from x402.schemas import SettleResponse, SupportedKind, SupportedResponse, VerifyResponse

from gossamer.concurrency.breaker import Breaker
from gossamer.flows.pay.orders import Orders
from gossamer.flows.pay.owed import OwedPayments
from gossamer.flows.pay.pay import PaidCall, Payments, PaymentUsed
from gossamer.flows.pay.payee import Payee, PaymentRefused
from gossamer.flows.pay.proving import PaymentProver
from gossamer.flows.pay.quotes import Prices, Purchase, Quotes
from gossamer.flows.pay.settling import PaymentSettler
from gossamer.flows.pay.terms import AllTerms
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Problem, Unavailable
from gossamer.reach.services.facilitator import Facilitator
from gossamer.settings.values import Rate
from gossamer.state.db.database import Database, open_database
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.pay import payment_list
from gossamer.state.pay.ledger import LedgerEntry
from gossamer.state.pay.pay_tables import payments as table
from gossamer.state.tenants.limits import Limits, Policy
from gossamer.web.pay import x402
from gossamer.web.pay.x402 import BASE_SEPOLIA, PaidResource, Payment

PAYEE = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
NOW = 1_800_000_000.0
PRICE = 5_000
RESOURCE = PaidResource("https://gossamer.example/fetch/basic")
TRANSACTION = "0x" + "5c" * 32
numbers = itertools.count(1)


class Ledgerless:
    """A chain that knows one thing: which authorisations have moved their money."""

    network = BASE_SEPOLIA.id
    asset = BASE_SEPOLIA.asset

    def __init__(self) -> None:
        self.moved: list[str] = []
        self.moves = True
        self.says: str | None = None  # of every settlement, whatever becomes of it

    def supported(self) -> SupportedResponse:
        return SupportedResponse(kinds=[SupportedKind(x402_version=2, scheme="exact", network=self.network)])

    def verify(self, payload: Any, requirements: Any) -> VerifyResponse:
        used = _of(payload, "nonce") in self.moved
        reason = "invalid_exact_evm_nonce_already_used" if used else None
        return VerifyResponse(is_valid=not used, invalid_reason=reason, payer=_of(payload, "from"))

    def settle(self, payload: Any, requirements: Any) -> SettleResponse:
        verdict = self.verify(payload, requirements)
        if verdict.is_valid and self.moves:
            self.moved.append(_of(payload, "nonce"))
        reason = self.says or verdict.invalid_reason
        return SettleResponse(
            success=reason is None,
            error_reason=reason,
            payer=_of(payload, "from"),
            transaction=TRANSACTION,
            network=self.network,
        )

    def fund(self, owner: str, units: int) -> None: ...
    def balances(self, *owners: str) -> list[int]:
        return [len(self.moved)] * len(owners)

    def close(self) -> None: ...


def _of(payload: Any, name: str) -> str:
    return str(payload.payload["authorization"][name])


@dataclass
class Clock:
    now: float = NOW

    def __call__(self) -> float:
        return self.now


@dataclass
class Counter:
    """A shop's counter: the flow, the chain behind it, and who stands in between."""

    payments: Payments
    chain: Ledgerless
    server: servers.Facilitator
    database: Database
    clock: Clock
    metrics: Metrics
    given: list[str] = field(default_factory=list)  # the payments that an answer was given for

    async def send(self, payment: Payment, *, ends: str = "", page: str = "page") -> str:
        """What becomes of a request with this payment; `ends` is where its server is killed."""
        try:
            call = await self.payments.admit(payment, purchase(page))
        except PaymentUsed:
            return "used"
        except PaymentRefused as refusal:
            return f"refused: {refusal.reason}"
        except Unavailable:
            return "unavailable"
        except Problem as problem:
            return problem.kind.code
        return "killed" if ends == "verified" else await self.serve(call, payment, ends)

    async def serve(self, call: PaidCall, payment: Payment, ends: str) -> str:
        try:
            async with self.payments.serving(call):
                if ends == "failed":
                    return "failed"
                await self.payments.settle(call)
        except Unavailable:
            return "unavailable"
        except PaymentRefused as refusal:
            return f"refused: {refusal.reason}"
        if ends == "settled":
            return "killed"
        async with self.payments.delivering(call):
            self.given.append(call.entry.nonce)
        return "served"

    async def time_passes(self) -> None:
        """Whoever held something has lost it."""
        async with self.database.write() as connection:
            await connection.execute(update(table).values(held_until=0))

    async def entry(self, payment: Payment) -> LedgerEntry:
        async with self.database.read() as connection:
            listed = await payment_list.list_entries(connection, limit=100)
        return next(entry for entry in listed if entry.nonce == payment.nonce)


def purchase(page: str = "page") -> Purchase:
    return Purchase(
        price="fetch-basic",
        endpoint="/fetch/basic",
        resource=RESOURCE,
        extensions={},
        request_hash=page.rjust(64, "0"),
        request_id="wl_1",
        client="127.0.0.1",
        cached=False,
    )


def signed(**changes: Any) -> Payment:
    """By a payer of its own, unless a test names one."""
    number = next(numbers)
    authorization = {
        "from": f"0x{number:040x}",
        "to": PAYEE,
        "value": str(PRICE),
        "validAfter": "0",
        "validBefore": str(int(NOW) + 300),
        "nonce": f"0x{number:064x}",
        **changes,
    }
    wire = {
        "x402Version": 1,
        "scheme": "exact",
        "network": "base-sepolia",
        "payload": {"signature": "0x11", "authorization": authorization},
    }
    return x402.read(base64.b64encode(json.dumps(wire).encode()).decode(), 1)


@asynccontextmanager
async def opened_counter(folder: Path) -> AsyncIterator[Counter]:
    chain, clock, log = Ledgerless(), Clock(), Log(io.StringIO())
    server = servers.Facilitator(chain)
    database = open_database(f"sqlite:///{folder}/gossamer.db")
    await database.migrate()
    hot, metrics = MemoryHot(), Metrics("0")
    limits = Limits(hot, {"unpaid": Policy("unpaid", Rate(50, 60), "network address")}, log)
    asked = Facilitator(
        "cdp",
        server.url,
        Breaker(failures=1_000_000),
        log,
        verify_seconds=5.0,
        settle_seconds=5.0,
        clock=clock,
    )
    payees = {BASE_SEPOLIA.id: Payee(BASE_SEPOLIA, PAYEE, asked)}
    quotes = Quotes(Prices({"fetch-basic": PRICE}, 0.7), hot, limits, seconds=300)
    settling = PaymentSettler(payees, database, log, metrics)
    proving = PaymentProver(payees, database, log, metrics, clock)
    terms = AllTerms(database, log)
    owed, orders = OwedPayments(settling, clock), Orders(database, log, 1_000)
    payments = Payments(settling, owed, proving, terms, quotes, orders, database, log, clock)
    yield Counter(payments, chain, server, database, clock, metrics)
    await payments.close()
    server.close()
    await hot.close()
    await database.close()
