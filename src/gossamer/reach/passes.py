"""Passes: who a connection to the proxy belongs to, and what it may still take.

A visit gets a pass before it begins. Its name and password are the proxy credentials of the visit's browser
context, so every connection names its visit, whatever on the page opened it. What all of them take together
is counted here, and when the pass ends, at its deadline at the latest, they end.
"""

import asyncio
import base64
import binascii
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

MOST_REFUSALS: Final = 100  # of a visit that are remembered
_NOBODY: Final = "-" * 32  # compared with where there is no pass, so that both answers take the same time


class Refusal(NamedTuple):
    """Something that was not done for a visit, and why."""

    host: str
    port: int
    reason: str  # hostname_blocked, port_blocked, dns_not_found, connection_refused, connect, …
    code: str = ""  # of the problem that it is
    rule: str = ""  # for addresses, by which it is


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one visit may take; its time is the life of its pass."""

    max_bytes: int  # to and from the web together
    max_requests: int  # a tunnel counts as one, whatever is asked within it
    max_hosts: int = 200


class Connection(Protocol):
    def cut(self) -> None: ...


class Pass:
    """One visit's. `user` and `password` are what it is known by, and good for as long as it lives."""

    def __init__(
        self, user: str, password: str, allowance: Allowance, ended: Callable[["Pass"], None]
    ) -> None:
        self.user = user
        self.password = password
        self.received = 0  # bytes from the web
        self.sent = 0  # bytes to the web
        self.requests = 0
        self.refused: list[Refusal] = []  # each kind once
        self.refusals = 0  # all of them
        self.exceeded = ""  # the first bound of the allowance that it met
        self.alive = True
        self._allowance = allowance
        self._ended = ended
        self._left = allowance.max_bytes
        self._hosts: set[str] = set()
        self._connections: set[Connection] = set()
        self._timer: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Cut every connection of the visit; may be called twice."""
        if not self.alive:
            return
        self.alive = False
        if self._timer is not None:
            self._timer.cancel()
        self._ended(self)
        for connection in list(self._connections):
            connection.cut()

    # What the proxy calls.

    def end_at(self, deadline: float) -> None:
        self._timer = asyncio.get_running_loop().call_at(deadline, self.close)

    def begin(self, host: str) -> str:
        """Count a request; the name of the bound that it would exceed, if any."""
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

    def refuse(self, refusal: Refusal) -> None:
        self.refusals += 1
        if len(self.refused) < MOST_REFUSALS and refusal not in self.refused:
            self.refused.append(refusal)

    def take(self, size: int) -> None:
        """Bytes came from the web."""
        self.received += size
        self._spend(size)

    def give(self, size: int) -> None:
        """Bytes went to the web."""
        self.sent += size
        self._spend(size)

    def hold(self, connection: Connection) -> None:
        self._connections.add(connection)
        if not self.alive:  # it ended while the connection was being made
            connection.cut()

    def let_go(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0 and self.alive:
            self.exceeded = self.exceeded or "too_many_bytes"
            self.close()


class Passes:
    """The passes that are alive."""

    def __init__(self, token: Callable[[], str] = secrets.token_hex) -> None:
        self._token = token
        self._alive: dict[str, Pass] = {}

    def issue(self, allowance: Allowance, deadline: float) -> Pass:
        issued = Pass(self._token()[:16], self._token(), allowance, self._ended)
        self._alive[issued.user] = issued
        issued.end_at(deadline)
        return issued

    def find(self, authorization: bytes) -> Pass | None:
        """Whose these proxy credentials are: `Basic …`, as RFC 7617 has it."""
        user, password = _credentials(authorization)
        known = self._alive.get(user)
        expected = known.password if known else _NOBODY
        matches = hmac.compare_digest(expected.encode(), password)
        return known if matches and known and known.alive else None

    def close(self) -> None:
        for each in list(self._alive.values()):
            each.close()

    def _ended(self, ended: Pass) -> None:
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
