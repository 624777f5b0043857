"""The page about payments: what was earned, what is owed, what is not proven. For admins."""

from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.pay.payments import PaymentQuery, PaymentsEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import address, filters, list_links
from gossamer.state.pay.payment_list import PaymentFilter
from gossamer.state.tenants.tenants import Role

_PATH: Final = "/app/payments"
_EXPORT: Final = "/app/payments/export"
STATES: Final = (
    ("", "all payments"),
    (PaymentFilter.SETTLED, "settled: the money was moved"),
    (PaymentFilter.OWED, "owed: settled, but the answer was not given"),
    (PaymentFilter.UNPROVEN, "unproven: settled, but nothing confirms it yet"),
    (PaymentFilter.PENDING, "pending: it is not known whether the money was moved"),
    (PaymentFilter.SERVED, "served: the money is being asked for"),
    (PaymentFilter.VERIFIED, "verified: its request is being served"),
    (PaymentFilter.RESERVED, "reserved: seen, not verified yet"),
    (PaymentFilter.RELEASED, "released: no money was moved"),
)


class PaymentsView(msgspec.Struct):
    """Which payments to show."""

    state: str = ""
    payer: str = ""
    cursor: str = ""


class PaymentsPages(Struct, frozen=True):
    dashboard: Dashboard
    endpoints: PaymentsEndpoints
    are_on: bool  # whether this server accepts payments

    async def show(self, exchange: Exchange, query: PaymentsView) -> Response:
        chosen = filters(query)
        found = await self.endpoints.find(chosen.to(PaymentQuery))
        return self.dashboard.render(
            exchange,
            "account/payments.html",
            here="payments",
            found=found,
            are_on=self.are_on,
            chosen=chosen,
            states=STATES,
            export=address(_EXPORT, chosen),
            **list_links(_PATH, chosen, found.next_cursor),
        )

    async def export(self, exchange: Exchange, query: PaymentsView) -> Response:
        return self.endpoints.export(filters(query).to(PaymentQuery))

    def routes(self) -> list[Route]:
        page, admin = self.dashboard.page, Role.ADMIN
        return [
            page(_PATH, self.show, "Payments", needs=admin),
            page(_EXPORT, self.export, "Payments as a table", needs=admin),
        ]
