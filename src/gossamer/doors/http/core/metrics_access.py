"""Who may read metrics: they tell of revenue, so not everybody.

Prometheus shows a token, or asks from this machine. A request that a proxy passed on comes from this machine
too, so it counts as one from here only if nothing says that there is a proxy.
"""

import hmac
from ipaddress import ip_address
from typing import Final, Self

from msgspec import Struct

from gossamer.doors.http.core.exchange import Exchange
from gossamer.settings.settings import Settings

_FORWARDING: Final = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"})


class MetricsAccess(Struct, frozen=True):
    token: str
    trusts_loopback: bool

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """We do not speak TLS: with https there is a proxy, and it may be one that adds no header. Only if it
        is named in `trusted_proxies` are its requests known by their headers."""
        is_fronted = settings.public_url.startswith("https:") and not settings.trusted_proxies
        return cls(settings.metrics_token, not is_fronted)

    def admits(self, exchange: Exchange) -> bool:
        """Whether the request may read them, whoever sends it. Admins always may."""
        return self._has_token(exchange) or self._is_local(exchange)

    def _has_token(self, exchange: Exchange) -> bool:
        return bool(self.token) and hmac.compare_digest(
            exchange.secret.encode("latin-1", "replace"), self.token.encode()
        )

    def _is_local(self, exchange: Exchange) -> bool:
        if not self.trusts_loopback or any(name in _FORWARDING for name, _ in exchange.scope["headers"]):
            return False
        peer = exchange.scope.get("client")
        try:
            return peer is not None and ip_address(peer[0].partition("%")[0]).is_loopback
        except ValueError:
            return False
