"""Sends a body to an address that somebody named, through the dialer. Redirects are not followed."""

import asyncio
from collections.abc import Mapping
from typing import Final

from gossamer.reach.http.client import ExchangeTerms, HttpBounds
from gossamer.reach.http.pool import ConnectionKey, Dials, Pool
from gossamer.web.url.url import Url

SECONDS: Final = 15.0
MAX_ANSWER_BYTES: Final = 64 * 1024
BOUNDS: Final = HttpBounds(exchanges=32, exchanges_per_origin=4, idle_connections=8)


class PostClient:
    def __init__(self, dialer: Dials, user_agent: str, *, bounds: HttpBounds = BOUNDS) -> None:
        self._pool = Pool(dialer, bounds)
        self._user_agent = user_agent

    async def post(self, address: str, headers: Mapping[str, str], body: bytes) -> int:
        """The status of the answer. Raises `Problem` if there is none, or the address is not allowed."""
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
            asyncio.get_running_loop().time() + SECONDS, MAX_ANSWER_BYTES, head_only=True, once=True
        )
        key = ConnectionKey(url.scheme == "https", url.host, url.port)
        return (await self._pool.exchange(key, request, terms)).status

    async def close(self) -> None:
        await self._pool.close()
