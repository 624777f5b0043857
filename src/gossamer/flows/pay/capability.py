"""Capabilities: the payer of an order opens exactly what was ordered, without a key.

A capability names its order and is signed with a secret that all servers share, so it is the same each time
that the answer to an order is given. It opens the order's own routes and nothing else, until the data of the
work is removed.
"""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct, field

from gossamer.flows.tenants.admit import Caller, unauthorized, wallet_name
from gossamer.settings.settings import Settings
from gossamer.state.db.database import Database
from gossamer.state.pay import orders
from gossamer.state.pay.orders import Order, OrderKind
from gossamer.state.pay.server_secrets import ensure_secret
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.tenants import Role, Tier

PREFIX: Final = "cap_"
_SECRET: Final = "capabilities"  # noqa: S105  (its name)
_ID_CHARS: Final = 26


class Capabilities(Struct, frozen=True):
    database: Database
    kept_seconds: Mapping[OrderKind, float]  # after the work is over; 0: forever
    clock: Callable[[], float] = time.time
    _secrets: list[bytes] = field(default_factory=list)  # looked up once

    async def issue(self, order: Order) -> str:
        return f"{PREFIX}{order.payment_id}_{await self._sign(order.payment_id)}"

    async def open(self, text: str) -> Caller:
        """The caller that a capability makes. Raises `Problem` if it is forged or over."""
        named, signature = text[len(PREFIX) :][:_ID_CHARS], text[len(PREFIX) + _ID_CHARS + 1 :]
        if not hmac.compare_digest((await self._sign(named)).encode(), signature.encode("utf-8", "replace")):
            raise unauthorized("The capability is not valid.")
        async with self.database.read() as connection:
            order = await orders.get(connection, named)
        if order is None or self._is_over(order):
            raise unauthorized("The capability has expired, with what it opens.")
        opened = frozenset({order.payment_id, order.subject, order.job_id or order.subject})
        name = wallet_name(order.payer)
        return Caller(
            Role.USER, order.payer, order.tenant_id, Tier.ENTERPRISE, name, Via.WALLET, opens=opened
        )

    def _is_over(self, order: Order) -> bool:
        kept = self.kept_seconds[order.kind]
        return bool(kept) and order.closed_at is not None and self.clock() > order.closed_at / 1000 + kept

    async def _sign(self, payment_id: str) -> str:
        if not self._secrets:
            async with self.database.write() as connection:
                self._secrets.append(await ensure_secret(connection, _SECRET))
        signed = hmac.digest(self._secrets[0], payment_id.encode("utf-8", "replace"), hashlib.sha256)
        return base64.urlsafe_b64encode(signed).decode().rstrip("=")


def open_capabilities(settings: Settings, database: Database) -> Capabilities:
    kept = {
        OrderKind.BATCH: settings.keep_jobs,
        OrderKind.CRAWL: settings.keep_pages,
        OrderKind.AUDIT: settings.keep_audits,
    }
    return Capabilities(database, {kind: lifetime.seconds for kind, lifetime in kept.items()})
