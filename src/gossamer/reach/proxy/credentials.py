"""The credentials of visits at the proxy: which visit a connection belongs to, and what it may still take.

A visit gets credentials before it begins. Its browser context sends them with every connection, whatever on
the page opened it. The bytes and requests of all its connections are counted here. The connections are cut
when the credentials end, at the deadline of the visit at the latest.
"""

import asyncio
import base64
import binascii
import hmac
import secrets
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from gossamer.observe.logs import current_request

MAX_REFUSALS: Final = 100  # of a visit that are remembered
_UNKNOWN: Final = "-" * 32  # compared for an unknown user, so that both answers take the same time


class VisitRefusal(NamedTuple):
    """A request of a visit that was refused, and the reason."""

    host: str
    port: int
    reason: str  # hostname_blocked, port_blocked, dns_not_found, connection_refused, connect, …
    code: str = ""  # of the problem
    rule: str = ""  # the rule that refused an address


class Allowance(Struct, frozen=True):
    """Bounds of one visit. Its time is the lifetime of its credentials."""

    max_bytes: int  # to and from the web together
    max_requests: int  # a tunnel counts as one, however many requests it carries
    max_hosts: int = 200
    tenant: str = ""  # on whose behalf; it may have proxies of its own


class VisitConnection(Protocol):
    def cut(self) -> None: ...


class VisitCredentials:
    """The credentials of one visit, and its traffic so far."""

    def __init__(
        self, user: str, password: str, allowance: Allowance, on_end: Callable[["VisitCredentials"], None]
    ) -> None:
        self.user = user
        self.password = password
        self.received = 0  # bytes from the web
        self.sent = 0  # bytes to the web
        self.requests = 0
        self.refused: list[VisitRefusal] = []  # without repetitions
        self.refusals = 0  # all of them, with repetitions
        self.exceeded = ""  # the first bound of the allowance that was exceeded
        self.alive = True
        self.tenant = allowance.tenant
        self.request_id = current_request()  # the request that caused the visit
        self._allowance = allowance
        self._on_end = on_end
        self._left = allowance.max_bytes
        self._hosts: set[str] = set()
        self._connections: set[VisitConnection] = set()
        self._timer: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Cut every connection of the visit. A second call does nothing."""
        if not self.alive:
            return
        self.alive = False
        if self._timer is not None:
            self._timer.cancel()
        self._on_end(self)
        for connection in list(self._connections):
            connection.cut()

    # Called by the proxy.

    def end_at(self, deadline: float) -> None:
        self._timer = asyncio.get_running_loop().call_at(deadline, self.close)

    def begin(self, host: str) -> str:
        """Count a request. Returns the bound that it would exceed, or an empty string."""
        exceeded = ""
        if self.requests >= self._allowance.max_requests:
            exceeded = "too_many_requests"
        elif host not in self._hosts and len(self._hosts) >= self._allowance.max_hosts:
            exceeded = "too_many_hosts"
        else:
            self.requests += 1
            self._hosts.add(host)
        self.exceeded = self.exceeded or exceeded
        return exceeded

    def refuse(self, refusal: VisitRefusal) -> None:
        self.refusals += 1
        if len(self.refused) < MAX_REFUSALS and refusal not in self.refused:
            self.refused.append(refusal)

    def take(self, size: int) -> None:
        """Count bytes from the web."""
        self.received += size
        self._spend(size)

    def give(self, size: int) -> None:
        """Count bytes to the web."""
        self.sent += size
        self._spend(size)

    def hold(self, connection: VisitConnection) -> None:
        self._connections.add(connection)
        if not self.alive:  # it ended while the connection was being made
            connection.cut()

    def let_go(self, connection: VisitConnection) -> None:
        self._connections.discard(connection)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0 and self.alive:
            self.exceeded = self.exceeded or "too_many_bytes"
            self.close()


class VisitRegistry:
    """The credentials of the visits under way."""

    def __init__(self, token: Callable[[], str] = secrets.token_hex) -> None:
        self._token = token
        self._alive: dict[str, VisitCredentials] = {}

    def issue(self, allowance: Allowance, deadline: float) -> VisitCredentials:
        issued = VisitCredentials(self._token()[:16], self._token(), allowance, self._on_end)
        self._alive[issued.user] = issued
        issued.end_at(deadline)
        return issued

    def find(self, authorization: bytes) -> VisitCredentials | None:
        """The visit that these proxy credentials belong to (`Basic …`, RFC 7617)."""
        user, password = _credentials(authorization)
        known = self._alive.get(user)
        expected = known.password if known else _UNKNOWN
        matches = hmac.compare_digest(expected.encode(), password)
        return known if matches and known and known.alive else None

    def close(self) -> None:
        for each in list(self._alive.values()):
            each.close()

    def _on_end(self, ended: VisitCredentials) -> None:
        self._alive.pop(ended.user, None)


def _credentials(authorization: bytes) -> tuple[str, bytes]:
    scheme, _, encoded = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        return "", b""
    try:
        user, _, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
    except binascii.Error:
        return "", b""
    return user.decode("latin-1"), password
