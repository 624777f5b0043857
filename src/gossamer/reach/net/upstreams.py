"""Upstreams: the operator's own proxies, and which of them a connection goes through.

The fence stays where it is. The dialer resolves and judges a name as ever, and tells the proxy a judged
address, never the name. Only an upstream with `resolve=proxy` is told the name: then its operator trusts that
proxy to refuse private addresses.

Of the upstreams that fit a host and a tenant, those that name one of them come first; equal ones take turns.
One that cannot be reached is left out for a while, longer each time, and is tried again in the background.
If none is left, the connection fails: it is never made without the proxy that was asked for.
"""

import asyncio
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from gossamer.concurrency.periodic import every
from gossamer.observe.logs import Log
from gossamer.problems import FETCH_FAILED, Problem, Unavailable
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.settings.upstream import Upstream

CHECK_SECONDS: Final = 10.0  # between two looks at upstreams that were down
CONNECT_SECONDS: Final = 5.0  # for an upstream to accept a connection
FIRST_PAUSE: Final = 5.0  # seconds that an upstream is left out after a failure
LONGEST_PAUSE: Final = 300.0
MAX_ADDRESSES: Final = 3  # of a target that are tried through an upstream
# Answers with which a working proxy says that it cannot or may not reach the target.
_TARGET_STATUSES: Final = frozenset({403, 404, 502, 503, 504})  # of HTTP CONNECT
_TARGET_REPLIES: Final = frozenset({1, 2, 3, 4, 5, 6})  # of SOCKS5 (RFC 1928, section 6)


class UpstreamState(Struct):
    failures: int = 0  # in a row
    down_until: float = 0.0


class Upstreams:
    def __init__(
        self, upstreams: Sequence[Upstream], log: Log, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._states = {upstream: UpstreamState() for upstream in upstreams}
        self._tenants = frozenset(tenant for upstream in upstreams for tenant in upstream.tenants)
        self._log = log
        self._clock = clock
        self._turn = 0

    def lane(self, tenant: str) -> str:
        """The name under which connections may be shared: a tenant with upstreams of its own shares none."""
        return tenant if tenant in self._tenants else ""

    def choose(self, host: str, tenant: str) -> list[Upstream]:
        """In the order in which they are tried; empty to connect directly. Raises `Problem` if all of them
        are down."""
        fitting = [upstream for upstream in self._states if upstream.fits(host, tenant)]
        if not fitting:
            return []
        best = max(upstream.precision for upstream in fitting)
        group = [upstream for upstream in fitting if upstream.precision == best]
        now = self._clock()
        ready = [upstream for upstream in group if self._states[upstream].down_until <= now]
        if not ready:
            raise _all_down(group)
        self._turn += 1
        first = self._turn % len(ready)
        return ready[first:] + ready[:first]

    async def connect(
        self, chosen: Iterable[Upstream], host: str, addresses: Sequence[str], port: int
    ) -> socket.socket:
        """A connection to the target through the first upstream that works."""
        chosen = list(chosen)
        for upstream in chosen:
            targets = [host.strip("[]")] if upstream.resolves else addresses[:MAX_ADDRESSES]
            try:
                sock = await _tunnel(upstream, targets, port, host)
            except UpstreamDown as down:
                self._note_failure(upstream, down)
            else:
                self._note_success(upstream)
                return sock
        raise _all_down(chosen)

    async def keep_checked(self) -> None:
        """Run until cancelled: look whether upstreams that were down are back."""
        await every(CHECK_SECONDS, self.check)

    async def check(self) -> None:
        down = [upstream for upstream, state in self._states.items() if state.failures]
        await asyncio.gather(*map(self._check_one, down))

    async def ask(self) -> Mapping[str, Any]:
        """For `/health`. Raises `Unavailable` if one of them is down."""
        down = [str(upstream) for upstream, state in self._states.items() if state.failures]
        if down:
            raise Unavailable("proxy", f"{len(down)} of {len(self._states)} do not work: {', '.join(down)}")
        return {"upstreams": len(self._states)}

    async def _check_one(self, upstream: Upstream) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(upstream.host, upstream.port)
        except (OSError, TimeoutError):
            return
        writer.close()
        self._note_success(upstream)

    def _note_failure(self, upstream: Upstream, down: "UpstreamDown") -> None:
        state = self._states[upstream]
        pause = min(FIRST_PAUSE * 2**state.failures, LONGEST_PAUSE)
        state.failures += 1
        state.down_until = self._clock() + pause
        self._log.warning("upstream_down", "a proxy does not work", proxy=str(upstream), why=str(down))

    def _note_success(self, upstream: Upstream) -> None:
        state = self._states[upstream]
        if state.failures:
            state.failures, state.down_until = 0, 0.0
            self._log.info("upstream_up", "a proxy works again", proxy=str(upstream))


class UpstreamDown(Exception):
    """The proxy itself does not work."""


async def _tunnel(upstream: Upstream, targets: Sequence[str], port: int, host: str) -> socket.socket:
    """Connect through the proxy to the first of the targets that it reaches."""
    from python_socks import ProxyConnectionError, ProxyError, ProxyTimeoutError, ProxyType
    from python_socks.async_.asyncio import Proxy

    kind = ProxyType.SOCKS5 if upstream.scheme == "socks5" else ProxyType.HTTP
    proxy = Proxy(
        kind, upstream.host, upstream.port, upstream.user or None, upstream.password or None, rdns=True
    )
    for target in targets:
        try:
            return await proxy.connect(target, port, timeout=CONNECT_SECONDS)
        except (ProxyConnectionError, ProxyTimeoutError) as error:
            raise UpstreamDown(type(error).__name__) from error
        except ProxyError as error:
            if error.error_code not in (_TARGET_REPLIES if upstream.scheme == "socks5" else _TARGET_STATUSES):
                raise UpstreamDown(f"refused ({error.error_code or 'no proxy'})") from error
    raise Problem(
        FETCH_FAILED,
        f"{host}:{port} cannot be reached through the proxy",
        details={"host": host, "reason": FetchReason.UNREACHABLE.value},
    )


def _all_down(upstreams: Sequence[Upstream]) -> Unavailable:
    return Unavailable("proxy", f"none of {len(upstreams)} upstream proxies works")
