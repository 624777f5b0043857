"""BrowserGuard: keeps pages of strangers, which a browser runs near us, away from the tools.

A page can point a name of its own at our address (DNS rebinding). The browser then sends that name as `Host`
and as `Origin`. Programs send no `Origin`.
"""

import ipaddress
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.problems import Problem

_HINT: Final = (
    "Set GOSSAMER_PUBLIC_URL to the address that clients use, or name the origin in GOSSAMER_CORS_ORIGINS."
)


class BrowserGuard(Struct, frozen=True):
    host: str  # of the public address
    origins: frozenset[str]  # that may call us from a browser
    behind_proxy: bool  # which passes on names that it knows, and may change them

    @classmethod
    def of(cls, public_url: str, cors_origins: Iterable[str], *, behind_proxy: bool) -> "BrowserGuard":
        ours = urlsplit(public_url)
        origins = frozenset({f"{ours.scheme}://{ours.netloc}".lower(), *cors_origins})
        return cls((ours.hostname or "").lower(), origins, behind_proxy)

    def check(self, exchange: Exchange) -> None:
        origin, host = exchange.header(b"origin"), exchange.header(b"host") or ""
        if origin is not None and not self._is_ours(origin):
            raise _refusal("origin", "Pages of this origin may not use the tools.")
        if not self.behind_proxy and not self._names_us(host):
            raise _refusal("host", "The server does not know itself by this name.")

    def _is_ours(self, origin: str) -> bool:
        return origin.lower() in self.origins or _is_local(urlsplit(origin.lower()).hostname or "")

    def _names_us(self, host: str) -> bool:
        """A name can be pointed at us, a number cannot."""
        name = (_hostname(host) or "").lower()
        return name == self.host or _is_local(name) or _is_address(name) or ("." not in name and name != "")


def _hostname(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _is_local(name: str) -> bool:
    return name in ("localhost", "127.0.0.1", "::1") or name.endswith(".localhost")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _refusal(reason: str, detail: str) -> Problem:
    return Problem(problems.FORBIDDEN, detail, hint=_HINT, details={"reason": reason})
