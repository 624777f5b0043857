"""The one place where a name becomes a socket: every address that a caller or a page chose is dialled here.

    1  the port must be allowed, and the host must not be a refused name or address
    2  the name is resolved once, and refused if any of its addresses is
    3  a connection is made to one of the judged addresses, never to the name; through the operator's proxy
       if there is one for it (`reach/net/upstreams`)
    4  TLS is spoken to the name, and the certificate must be for it

Step 3 uses the addresses of step 2, so a name that resolves differently a moment later changes nothing.

Failures leave as a Problem: INVALID_URL when the written address is not allowed, FETCH_TIMEOUT when a limit
passed, FETCH_FAILED when the target cannot be reached. `details.reason` says why. A name whose addresses are
refused gets the same answer as one that does not exist, or callers could list the names of an internal
network. The operator's log has the name and the rule.
"""

import asyncio
import errno
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property
from typing import Final, Literal, TypeVar

from msgspec import Struct

from gossamer.observe.logs import Log, current_request
from gossamer.observe.traces import span
from gossamer.problems import FETCH_FAILED, FETCH_TIMEOUT, INVALID_URL, Problem, Unavailable
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.reach.net.names import Names, unresolved
from gossamer.reach.net.upstreams import Upstreams
from gossamer.settings.upstream import Upstream
from gossamer.web.url.address import Address, Network, Verdict, classify, judge_host, literal, unmap

PORTS: Final = (80, 443, 8080, 8443)
ATTEMPT_SECONDS: Final = 0.25  # until the next address is tried beside the last one (RFC 8305)
MAX_ADDRESSES: Final = 8  # of one name that are tried

_Protocol = TypeVar("_Protocol", bound=asyncio.BaseProtocol)


class DialLimits(Struct, frozen=True):
    """Seconds that each step may take, whatever the caller's deadline."""

    connect: float = 5.0
    handshake: float = 5.0


LIMITS: Final = DialLimits()
BLOCKED: Final = {
    FetchReason.HOSTNAME_BLOCKED: (
        "Private, local and reserved addresses are not allowed",
        "Only public addresses can be visited; GOSSAMER_EGRESS_ALLOW opens others.",
    ),
    FetchReason.PORT_BLOCKED: ("Port {} is not allowed", "GOSSAMER_EGRESS_PORTS allows further ports."),
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
        limits: DialLimits = LIMITS,
        upstreams: Upstreams | None = None,
        log: Log | None = None,
    ) -> None:
        self._names = names
        self._upstreams = upstreams
        self._allow = allow
        self._ports = ports
        self._given_context = context
        self._limits = limits
        self._log = log

    def admit(self, host: str, port: int) -> None:
        """Raise `Problem` for a port or a host that is never allowed; `host` is spelt as `Url.host` is."""
        if self._ports != "*" and port not in self._ports:
            raise blocked(host, port, FetchReason.PORT_BLOCKED)
        verdict = judge_host(host, self._allow)
        if not verdict.allowed:
            raise blocked(host, port, FetchReason.HOSTNAME_BLOCKED, verdict.reason)

    def lane(self, tenant: str) -> str:
        """The name under which a tenant's connections may be shared with others."""
        return "" if self._upstreams is None else self._upstreams.lane(tenant)

    async def locate(self, host: str, port: int, *, deadline: float) -> tuple[Address, ...]:
        """Every address of the host. Raises `Problem` if one of them is not allowed."""
        self.admit(host, port)
        address = literal(host)
        if address is not None:
            return (unmap(address),)
        name = host.removesuffix(".")
        async with _until(deadline, FetchReason.DNS_TIMEOUT, host, port):
            found = await self._names.addresses(name)
        for verdict in (classify(address, self._allow) for address in found):
            if not verdict.allowed:
                raise self._hidden(name, port, verdict)
        return tuple(unmap(address) for address in found)

    async def dial(
        self,
        host: str,
        port: int,
        *,
        tls: bool,
        deadline: float,
        protocol_factory: Callable[[], _Protocol],
        tenant: str = "",
    ) -> tuple[asyncio.Transport, _Protocol]:
        """Connect to the host before `deadline`, on the event loop's clock, on behalf of the tenant."""
        with span("dial", port=port):
            sock = await self._connect(host, port, tenant, deadline)
            handshake = min(deadline, asyncio.get_running_loop().time() + self._limits.handshake)
            async with _until(handshake, FetchReason.TLS_TIMEOUT, host, port):
                return await self._handshake(sock, host if tls else None, protocol_factory)

    async def _connect(self, host: str, port: int, tenant: str, deadline: float) -> socket.socket:
        if self._upstreams is not None:
            upstreams = self._upstreams.choose(host, tenant)
            if upstreams:
                return await self._connect_through(self._upstreams, upstreams, host, port, deadline)
        addresses = await self.locate(host, port, deadline=deadline)
        async with self._connecting(host, port, deadline):
            return await _race(_alternating(addresses), port)

    async def _connect_through(
        self, through: Upstreams, chosen: Sequence[Upstream], host: str, port: int, deadline: float
    ) -> socket.socket:
        """If all of them resolve names themselves, only what is written is judged here."""
        self.admit(host, port)
        judged: tuple[Address, ...] = ()
        if not all(upstream.resolves for upstream in chosen):
            judged = await self.locate(host, port, deadline=deadline)
        async with self._connecting(host, port, deadline):
            return await through.connect(chosen, host, [str(address) for address in judged], port)

    def _connecting(self, host: str, port: int, deadline: float) -> AbstractAsyncContextManager[None]:
        when = min(deadline, asyncio.get_running_loop().time() + self._limits.connect)
        return _until(when, FetchReason.CONNECT_TIMEOUT, host, port)

    def _hidden(self, name: str, port: int, verdict: Verdict) -> Problem:
        """The refusal of a name because of one of its addresses. Only the operator learns the reason."""
        self._names.forget_soon(name)
        if self._log is not None:
            self._log.warning(
                "address_refused",
                host=name,
                port=port,
                rule=verdict.reason,
                requestId=current_request() or None,
            )
        return unresolved(name, FetchReason.DNS_NOT_FOUND)

    async def _handshake(
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
                ssl_shutdown_timeout=1.0,  # a peer that never closes TLS must not keep the socket
            )
        except BaseException:
            sock.close()
            raise

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._given_context or client_context()


def blocked(host: str, port: int, reason: FetchReason, rule: str = "") -> Problem:
    """The refusal of a written address, for a reason in `BLOCKED`; `rule` is the rule about the address."""
    words, hint = BLOCKED[reason]
    details = {"host": host, "port": port, "reason": reason.value}
    return Problem(
        INVALID_URL, words.format(port), hint=hint, details={**details, "rule": rule} if rule else details
    )


# Connecting.


def _alternating(addresses: Sequence[Address]) -> list[Address]:
    """IPv6 and IPv4 in turns, so that a broken family costs one pause."""
    families = [[address for address in addresses if address.version == version] for version in (6, 4)]
    longest = max(map(len, families))
    return [family[turn] for turn in range(longest) for family in families if turn < len(family)]


async def _race(addresses: Sequence[Address], port: int) -> socket.socket:
    """The first connection that succeeds. If an address does not answer soon, the next one is tried too."""
    waiting = deque(addresses[:MAX_ADDRESSES])
    attempts: set[asyncio.Task[socket.socket]] = set()
    failures: list[BaseException] = []
    try:
        while waiting or attempts:
            if waiting:
                attempts.add(asyncio.create_task(_attempt(waiting.popleft(), port)))
            pause = ATTEMPT_SECONDS if waiting else None
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
    # A refusal by one address family says more than a missing route for the other.
    raise min(failures, key=lambda failure: _reason(failure) is FetchReason.UNREACHABLE)


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
    """Close the connection of an attempt that succeeded too late."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


# Errors, translated once.

_FAILURES: Final = {
    FetchReason.CONNECTION_REFUSED: "refused the connection",
    FetchReason.CONNECTION_RESET: "broke the connection off",
    FetchReason.TLS_INVALID_CERTIFICATE: "has no valid certificate",
    FetchReason.TLS_FAILED: "could not be spoken to with TLS",
    FetchReason.UNREACHABLE: "cannot be reached",
}
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@asynccontextmanager
async def _until(when: float, late: FetchReason, host: str, port: int) -> AsyncIterator[None]:
    """End the block by `when`, on the event loop's clock, and translate its errors into problems."""
    try:
        async with asyncio.timeout_at(when):
            yield
    except TimeoutError:
        detail = f"{host}:{port} did not answer in time"
        raise Problem(FETCH_TIMEOUT, detail, details={"host": host, "reason": late.value}) from None
    except OSError as error:
        raise _problem(error, host, port) from error


def _problem(error: OSError, host: str, port: int) -> Problem:
    if error.errno in _EXHAUSTED:
        return Unavailable("network", "no more connections can be opened")
    reason = _reason(error)
    detail = f"{host}:{port} {_FAILURES[reason]}"
    if isinstance(error, ssl.SSLCertVerificationError):
        detail += f": {error.verify_message}"
    return Problem(FETCH_FAILED, detail, details={"host": host, "reason": reason.value})


def _reason(error: BaseException) -> FetchReason:
    match error:
        case ConnectionRefusedError():
            return FetchReason.CONNECTION_REFUSED
        case ConnectionError():
            return FetchReason.CONNECTION_RESET
        case ssl.SSLCertVerificationError():
            return FetchReason.TLS_INVALID_CERTIFICATE
        case ssl.SSLError():
            return FetchReason.TLS_FAILED
    return FetchReason.UNREACHABLE
