"""Requests to a service that the operator configured: without the rules for targets, but bounded.

Redirects are not followed. Errors repeat nothing of the request, because it may contain a secret.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from gossamer.problems import Problem, Unavailable
from gossamer.reach.http.client import ExchangeTerms, HttpBounds
from gossamer.reach.http.decode import ACCEPT_ENCODING
from gossamer.reach.http.failures import reason_of
from gossamer.reach.http.pool import ConnectionKey, Pool
from gossamer.reach.net.dial import client_context
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.web.url.url import Url

MAX_BYTES: Final = 5_000_000
BOUNDS: Final = HttpBounds(exchanges=128, exchanges_per_origin=64, idle_connections=32)
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class ServiceReply(Struct, frozen=True):
    status: int
    body: bytes
    retry_after: str | None = None  # the header field


class ServiceSilent(Unavailable):
    """The service was reached and did not answer: it may have acted on the request."""


class ServiceEndpoint:
    """One service and its base URL."""

    def __init__(
        self,
        service: str,
        base_url: str,
        *,
        headers: Mapping[str, str],
        seconds: float,
        context: ssl.SSLContext | None = None,
        bounds: HttpBounds = BOUNDS,
    ) -> None:
        self.service = service
        self._base = Url.parse(f"{base_url}/")
        self.host = self._base.origin.partition("://")[2]  # as in the Host header, with its port
        self._headers = {"accept": "application/json", "accept-encoding": ACCEPT_ENCODING, **headers}
        self._seconds = seconds
        self._pool = Pool(_Unfenced(context), bounds)

    async def get(self, path: str, query: Mapping[str, str]) -> ServiceReply:
        return await self.ask("GET", f"{path}?{urlencode(query, errors='replace')}")

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: Mapping[str, str] = _NONE,
        seconds: float | None = None,
        once: bool = False,
    ) -> ServiceReply:
        """Send a request. Raises `Unavailable` if the service is not reached, `ServiceSilent` if it does not
        answer. With `once`, the request is not repeated when a kept connection breaks."""
        limit = self._seconds if seconds is None else seconds
        deadline = asyncio.get_running_loop().time() + limit
        try:
            answer = await self._pool.exchange(
                ConnectionKey(self._base.scheme == "https", self._base.host, self._base.port),
                self._request(method, path, body, headers),
                ExchangeTerms(deadline, MAX_BYTES, once=once),
            )
        except Problem as problem:
            away = isinstance(problem, Unavailable) or problem.reason == FetchReason.BUSY
            kind = Unavailable if away else ServiceSilent
            raise kind(self.service, reason_of(problem).replace("_", " ")) from None
        return ServiceReply(answer.status, answer.body, answer.header("retry-after"))

    async def close(self) -> None:
        await self._pool.close()

    def target(self, path: str) -> str:
        """The path for the request line."""
        found = self._base.path.rstrip("/") + path
        return found if found.startswith("/") else f"/{found}"

    def _request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        named = {"host": self.host, **self._headers, **headers}
        if body:
            named["content-length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        return f"{method} {self.target(path)} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body


class _Unfenced:
    """A dialer for addresses from the operator, not from a caller or a page."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._given_context = context

    async def dial(
        self,
        host: str,
        port: int,
        *,
        tls: bool,
        deadline: float,
        protocol_factory: Callable[[], asyncio.Protocol],
        tenant: str = "",
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        try:
            async with asyncio.timeout_at(deadline):
                return await asyncio.get_running_loop().create_connection(
                    protocol_factory, host.strip("[]"), port, ssl=self._context if tls else None
                )
        except TimeoutError:
            raise Unavailable(host, "connect timeout") from None
        except OSError as error:
            raise Unavailable(host, _why(error)) from None

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._given_context or client_context()


def _why(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return "no valid certificate" if isinstance(error, ssl.SSLError) else "it cannot be reached"
