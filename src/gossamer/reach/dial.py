"""The one place where a name becomes a socket: everything that a caller or a page chose goes out through it.

    1  the port is one that is allowed, the host neither a refused name nor a refused address
    2  the name is resolved once, and refused if any of its addresses is
    3  a connection is made to one of the addresses that were judged, never to the name
    4  TLS is spoken to the name, and the certificate must be for it

Step 3 pins what step 2 judged, so a name that resolves differently a moment later changes nothing.

What goes wrong leaves as a Problem: INVALID_URL when the fence refuses, FETCH_TIMEOUT when a limit passed,
FETCH_FAILED when the target cannot be had. `details.reason` says why; the addresses of a name are not told.
"""

import asyncio
import errno
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeVar

from gossamer.problems import FETCH_FAILED, FETCH_TIMEOUT, INVALID_URL, Problem, Unavailable
from gossamer.reach.names import Names
from gossamer.web.address import Address, Network, Verdict, classify, literal, refused_name, unmapped

PORTS: Final = (80, 443, 8080, 8443)
PAUSE: Final = 0.25  # seconds until the next address is tried beside the last one (RFC 8305)
MOST_ATTEMPTS: Final = 8  # addresses of one name that are tried

_Protocol = TypeVar("_Protocol", bound=asyncio.BaseProtocol)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that each step may take, whatever the caller's deadline."""

    connect: float = 5.0
    handshake: float = 5.0


LIMITS: Final = Limits()
BLOCKED: Final = {
    "hostname_blocked": (
        "Private, local and reserved addresses are not allowed",
        "Only public addresses can be visited; GOSSAMER_EGRESS_ALLOW opens others.",
    ),
    "port_blocked": ("Port {} is not allowed", "GOSSAMER_EGRESS_PORTS allows further ports."),
}


def client_context(alpn: Sequence[str] = ("http/1.1",), authorities: str | None = None) -> ssl.SSLContext:
    """TLS 1.2 or later, verified against the system's authorities or those in a file."""
    context = ssl.create_default_context(cafile=authorities)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(list(alpn))
    return context


class Dialer:
    def __init__(
        self,
        names: Names,
        *,
        allow: Sequence[Network] = (),
        ports: Sequence[int] | Literal["*"] = PORTS,
        context: ssl.SSLContext | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._names = names
        self._allow = allow
        self._ports = ports
        self._given_context = context
        self._limits = limits

    def admit(self, host: str, port: int) -> None:
        """Refuse what can be refused before anything leaves; `host` is canonical, as `Url.host` is."""
        if self._ports != "*" and port not in self._ports:
            raise blocked(host, port, "port_blocked")
        _demand(refused_name(host, self._allow), host, port)

    async def locate(self, host: str, port: int, *, deadline: float) -> tuple[Address, ...]:
        """Every address of the host, each of them judged."""
        self.admit(host, port)
        address = literal(host)
        if address is not None:
            return (unmapped(address),)
        async with _until(deadline, "dns", host, port):
            found = await self._names.addresses(host.removesuffix("."))
        for address in found:
            _demand(classify(address, self._allow), host, port)
        return tuple(unmapped(address) for address in found)

    async def dial(
        self,
        host: str,
        port: int,
        *,
        tls: bool,
        deadline: float,
        protocol_factory: Callable[[], _Protocol],
    ) -> tuple[asyncio.Transport, _Protocol]:
        """A connection to the host, made before the event loop's clock says `deadline`."""
        addresses = await self.locate(host, port, deadline=deadline)
        loop = asyncio.get_running_loop()
        async with _until(min(deadline, loop.time() + self._limits.connect), "connect", host, port):
            sock = await _connected(_alternating(addresses), port)
        async with _until(min(deadline, loop.time() + self._limits.handshake), "tls", host, port):
            return await self._spoken_to(sock, host if tls else None, protocol_factory)

    async def _spoken_to(
        self, sock: socket.socket, name: str | None, protocol_factory: Callable[[], _Protocol]
    ) -> tuple[asyncio.Transport, _Protocol]:
        loop = asyncio.get_running_loop()
        try:
            if name is None:
                return await loop.create_connection(protocol_factory, sock=sock)
            return await loop.create_connection(
                protocol_factory,
                sock=sock,
                ssl=self._context,
                server_hostname=name.strip("[]").removesuffix("."),
                ssl_shutdown_timeout=1.0,  # a peer that never says goodbye must not keep the socket
            )
        except BaseException:
            sock.close()
            raise

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._given_context or client_context()


def _demand(verdict: Verdict, host: str, port: int) -> None:
    if not verdict.allowed:
        raise blocked(host, port, "hostname_blocked", verdict.reason)


def blocked(host: str, port: int, reason: str, rule: str = "") -> Problem:
    """The refusal of a target, for one of the reasons in `BLOCKED`; `rule` is that of the address."""
    words, hint = BLOCKED[reason]
    details = {"host": host, "port": port, "reason": reason}
    return Problem(
        INVALID_URL, words.format(port), hint=hint, details={**details, "rule": rule} if rule else details
    )


# Connecting.


def _alternating(addresses: Sequence[Address]) -> list[Address]:
    """IPv6 and IPv4 in turns, so that one family being broken costs one pause."""
    families = [[address for address in addresses if address.version == version] for version in (6, 4)]
    longest = max(map(len, families))
    return [family[turn] for turn in range(longest) for family in families if turn < len(family)]


async def _connected(addresses: Sequence[Address], port: int) -> socket.socket:
    """The first connection that stands: an address that does not answer soon gets company, not patience."""
    waiting = deque(addresses[:MOST_ATTEMPTS])
    attempts: set[asyncio.Task[socket.socket]] = set()
    failures: list[BaseException] = []
    try:
        while waiting or attempts:
            if waiting:
                attempts.add(asyncio.create_task(_attempt(waiting.popleft(), port)))
            pause = PAUSE if waiting else None
            done, _ = await asyncio.wait(attempts, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            for attempt in done:
                attempts.remove(attempt)
                failure = attempt.exception()
                if failure is None:
                    return attempt.result()
                failures.append(failure)
    finally:
        for attempt in attempts:
            attempt.cancel()
            attempt.add_done_callback(_discard)
    # One family having no route says less than the other being refused.
    raise min(failures, key=lambda failure: _reason(failure) == "unreachable")


async def _attempt(address: Address, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, (str(address), port))
    except BaseException:
        sock.close()
        raise
    return sock


def _discard(attempt: asyncio.Task[socket.socket]) -> None:
    """An attempt that came too late may have succeeded all the same."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


# Errors, translated once.

_SAID: Final = {
    "connection_refused": "refused the connection",
    "connection_reset": "broke the connection off",
    "tls_invalid_certificate": "has no valid certificate",
    "tls_failed": "could not be spoken to with TLS",
    "unreachable": "cannot be reached",
}
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@asynccontextmanager
async def _until(when: float, late: str, host: str, port: int) -> AsyncIterator[None]:
    """What is within ends by `when`, on the event loop's clock, and its errors leave as problems."""
    try:
        async with asyncio.timeout_at(when):
            yield
    except TimeoutError:
        detail = f"{host}:{port} did not answer in time"
        raise Problem(FETCH_TIMEOUT, detail, details={"host": host, "reason": late}) from None
    except OSError as error:
        raise _problem(error, host, port) from error


def _problem(error: OSError, host: str, port: int) -> Problem:
    if error.errno in _EXHAUSTED:
        return Unavailable("network", "no more connections can be opened")
    reason = _reason(error)
    detail = f"{host}:{port} {_SAID[reason]}"
    if isinstance(error, ssl.SSLCertVerificationError):
        detail += f": {error.verify_message}"
    return Problem(FETCH_FAILED, detail, details={"host": host, "reason": reason})


def _reason(error: BaseException) -> str:
    match error:
        case ConnectionRefusedError():
            return "connection_refused"
        case ConnectionError():
            return "connection_reset"
        case ssl.SSLCertVerificationError():
            return "tls_invalid_certificate"
        case ssl.SSLError():
            return "tls_failed"
    return "unreachable"
