"""Payments, for servers that take them."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from gossamer.doors.http.api.pay.prices import with_price
from gossamer.doors.http.core.routing import Route, ServedSubject
from gossamer.doors.http.layers.ordering import OrderDesk
from gossamer.doors.http.layers.paying import TakePayment
from gossamer.flows.pay.orders import Orders
from gossamer.flows.pay.owed import OwedPayments
from gossamer.flows.pay.pay import Payments
from gossamer.flows.pay.payee import check_wallets, open_payees
from gossamer.flows.pay.proving import PaymentProver
from gossamer.flows.pay.quotes import Quotes, prices
from gossamer.flows.pay.settling import PaymentSettler
from gossamer.flows.pay.terms import AllTerms
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.settings.settings import Settings
from gossamer.state.db.database import Database
from gossamer.state.kv.hot import Hot
from gossamer.state.tenants.limits import Limits

if TYPE_CHECKING:
    from gossamer.app import Service


def take_payments(
    settings: Settings, hot: Hot, limits: Limits, database: Database, log: Log, metrics: Metrics
) -> Payments:
    check_wallets(settings)
    quotes = Quotes(prices(settings), hot, limits, seconds=settings.quote_seconds)
    taken = {payee.network.id: payee for payee in open_payees(settings, log)}
    settling = PaymentSettler(taken, database, log, metrics)
    proving = PaymentProver(taken, database, log, metrics, time.monotonic)
    orders = Orders(database, log, settings.pay_max_pages)
    owed, terms = OwedPayments(settling), AllTerms(database, log)
    return Payments(settling, owed, proving, terms, quotes, orders, database, log)


def with_prices(
    subjects: Iterable[ServedSubject], settings: Settings, payments: Payments
) -> list[ServedSubject]:
    """The subjects with prices in the descriptions of their routes."""
    taken = payments.settling.payees.values()

    def build(subject: ServedSubject) -> list[Route]:
        return [with_price(route, prices(settings), taken) for route in subject.routes]

    return [ServedSubject(subject.heads, partial(build, subject)) for subject in subjects]


def paying_layer(service: "Service", payments: Payments) -> Callable[[ASGIApp], ASGIApp]:
    return partial(
        TakePayment,
        payments=payments,
        limits=service.limits,
        hot=service.hot,
        public_url=service.settings.public_url,
        repeat_seconds=service.settings.quote_seconds,
        metrics=service.metrics,
        desk=OrderDesk(payments.orders, service.capabilities, payments.settling),
    )
