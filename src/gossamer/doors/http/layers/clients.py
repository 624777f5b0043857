"""Finds the client's address: that of the socket's peer, or the one that a trusted proxy reports."""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer.doors.http.core.exchange import Exchange

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Clients(Struct, frozen=True):
    """Puts the address of the client into the exchange."""

    app: ASGIApp
    trusted: tuple[Network, ...] | str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        outer = exchange.handover.outer
        if outer is not None:
            exchange.client = outer.client
            await self.app(scope, receive, send)
            return
        peer = scope["client"][0] if scope.get("client") else ""
        exchange.client = subject(peer, self._forwarded(scope) if self.trusted else "", self.trusted)
        await self.app(scope, receive, send)

    def _forwarded(self, scope: Scope) -> str:
        """Every proxy appends: several fields are one list."""
        values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
        return b",".join(values).decode("latin-1")


@lru_cache(maxsize=8192)
def subject(peer: str, forwarded_for: str | None, trusted: tuple[Network, ...] | str) -> str:
    """The subject that limits count this client under."""
    return bucket(client_address(peer, forwarded_for, trusted))


def client_address(peer: str, forwarded_for: str | None, trusted: Sequence[Network] | str) -> str:
    """The address that the request came from.

    `trusted` is `"*"` on platforms that overwrite X-Forwarded-For (its first entry is taken), else the
    networks of our own proxies (the right-most entry that is not one of them is taken; the client may have
    written everything left of it).
    """
    if not forwarded_for or not trusted:
        return peer
    entries = [entry.strip() for entry in forwarded_for.split(",")]
    if trusted == "*":
        return entries[0] if _parse(entries[0]) else peer
    hops = [peer, *reversed(entries)]
    for nearer, farther in pairwise(hops):
        if not _is_trusted(nearer, trusted):
            return nearer
        if _parse(farther) is None:
            return nearer
    return hops[-1]


def bucket(address: str) -> str:
    """An IPv4 address, or the /64 of an IPv6 address, because one customer usually has all of it."""
    parsed = _parse(address)
    if parsed is None:
        return address or "local"
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def _parse(text: str) -> Address | None:
    try:
        parsed = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


def _is_trusted(text: str, trusted: Sequence[Network] | str) -> bool:
    parsed = _parse(text)
    return parsed is not None and any(
        parsed in network for network in trusted if not isinstance(network, str)
    )
