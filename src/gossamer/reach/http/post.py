"""Sends a body to an address that somebody named, through the dialer. Redirects are not followed."""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from gossamer.reach.http.client import ExchangeTerms, HttpBounds
from gossamer.reach.http.pool import ConnectionKey, Dials, Pool
from gossamer.web.url.url import Url

SECONDS: Final = 15.0
MAX_ANSWER_BYTES: Final = 4 * 1024  # of which the rest is not read
MAX_RETRY_AFTER: Final = 86_400
BOUNDS: Final = HttpBounds(exchanges=32, exchanges_per_origin=4, idle_connections=8)


class PostAnswer(NamedTuple):
    status: int
    beginning: bytes  # of the body
    retry_after: int | None = None  # seconds


class PostClient:
    def __init__(self, dialer: Dials, user_agent: str, *, bounds: HttpBounds = BOUNDS) -> None:
        self._pool = Pool(dialer, bounds)
        self._user_agent = user_agent

    async def post(self, address: str, headers: Mapping[str, str], body: bytes) -> PostAnswer:
        """Raises `Problem` if there is no answer, or the address is not allowed."""
        url = Url.parse(address)
        named = {
            "host": url.origin.partition("://")[2],
            "user-agent": self._user_agent,
            "accept": "*/*",
            "content-type": "application/json",
            "content-length": str(len(body)),
            **headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        request = f"POST {url.target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body
        terms = ExchangeTerms(
            asyncio.get_running_loop().time() + SECONDS, MAX_ANSWER_BYTES, once=True, beginning=True
        )
        key = ConnectionKey(url.scheme == "https", url.host, url.port)
        answer = await self._pool.exchange(key, request, terms)
        wait = answer.header("retry-after") or ""
        # Dates are not understood: they depend on the receiver's clock.
        seconds = min(int(wait), MAX_RETRY_AFTER) if wait.isascii() and wait.isdecimal() else None
        return PostAnswer(answer.status, answer.body, seconds)

    async def close(self) -> None:
        await self._pool.close()
