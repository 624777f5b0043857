"""An endpoint that whoever runs the server has set: asked directly, not through the fence, and bounded.

Redirects are not followed, and what went wrong is told without anything that was sent: it may be a secret.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from gossamer.problems import Problem, Unavailable
from gossamer.reach.decode import ACCEPT_ENCODING
from gossamer.reach.dial import client_context
from gossamer.reach.failures import reason_of
from gossamer.reach.http import Bounds, Terms
from gossamer.reach.pool import Place, Pool
from gossamer.web.url import Url

MOST_BYTES: Final = 5_000_000
BOUNDS: Final = Bounds(exchanges=128, exchanges_per_place=64, idle_connections=32)
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


class Unanswered(Unavailable):
    """It was reached, and what became of what it was sent is not known."""


class Endpoint:
    """One service and its base URL."""

    def __init__(
        self,
        service: str,
        base_url: str,
        *,
        headers: Mapping[str, str],
        seconds: float,
        context: ssl.SSLContext | None = None,
        bounds: Bounds = BOUNDS,
    ) -> None:
        self.service = service
        self._base = Url.parse(f"{base_url}/")
        self.host = self._base.origin.partition("://")[2]  # as it is called in requests, with its port
        self._headers = {"accept": "application/json", "accept-encoding": ACCEPT_ENCODING, **headers}
        self._seconds = seconds
        self._pool = Pool(_Unfenced(context), bounds)

    async def get(self, path: str, query: Mapping[str, str]) -> Answer:
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
    ) -> Answer:
        """Whatever it answers. Raises `Unavailable` when it is not reached, `Unanswered` when it then says
        nothing; what is asked `once` is not sent anew where a kept connection breaks."""
        limit = self._seconds if seconds is None else seconds
        deadline = asyncio.get_running_loop().time() + limit
        try:
            answer = await self._pool.exchange(
                Place(self._base.scheme == "https", self._base.host, self._base.port),
                self._request(method, path, body, headers),
                Terms(deadline, MOST_BYTES, once=once),
            )
        except Problem as problem:
            away = isinstance(problem, Unavailable) or reason_of(problem) == "busy"
            kind = Unavailable if away else Unanswered
            raise kind(self.service, reason_of(problem).replace("_", " ")) from None
        return Answer(answer.status, answer.body)

    async def close(self) -> None:
        await self._pool.close()

    def target(self, path: str) -> str:
        """What is asked for, as it is called in requests."""
        return self._base.path.rstrip("/") + path

    def _request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        named = {"host": self.host, **self._headers, **headers}
        if body:
            named["content-length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        return f"{method} {self.target(path)} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body


class _Unfenced:
    """A dialer for addresses that neither a caller nor a page has chosen."""

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
