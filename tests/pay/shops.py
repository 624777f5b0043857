"""A service that takes payments on the local chains, and buyers at its door."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
from x402.http.utils import decode_payment_required_header, encode_payment_signature_header

from tests.doors.fetches import Fetching, opened, say
from tests.pay import payers
from tests.servers.chains.fixtures import PAYER, Chains
from tests.site.server import Site

BASIC, CACHED = 5_000, 1_500  # what a page costs without a browser, in millionths of a dollar
UNLIMITED = {"limit_wallet": "1000000/60", "limit_unpaid": "1000000/60"}
ARTICLE = "<!doctype html><title>Worth it</title><main><h1>Worth it</h1><p>" + "Words to read. " * 40


@dataclass(frozen=True)
class Shop:
    chains: Chains
    fetching: Fetching

    def page(self, text: str = ARTICLE, **options: Any) -> str:
        """The address of a page that was never fetched."""
        return self.fetching.site.url(say(text, **options))

    def visits(self, url: str) -> int:
        return self.fetching.visits("/" + url.split("/", 3)[3])

    def buyer(self, network: str = "base", *, version: int = 2, name: str = PAYER) -> httpx.AsyncClient:
        wallet = payers.wallet(self.chains, network, name)
        return payers.paying(wallet, self._transport(), version=version)

    async def buy(self, url: str, **options: Any) -> httpx.Response:
        """By a client that pays when it is asked to."""
        asked = {"url": url, **options.pop("body", {})}
        async with self.buyer(**options) as client:
            return await client.post("/fetch/basic", json=asked)

    async def signed(self, url: str, *, network: str = "base", **body: Any) -> dict[str, str]:
        """A payment for the request, not sent yet."""
        return await signed(self.fetching.visit.client, payers.wallet(self.chains, network), url, **body)

    async def send(self, url: str, payment: dict[str, str], **body: Any) -> httpx.Response:
        client = self.fetching.visit.client
        return await client.post("/fetch/basic", json={"url": url, **body}, headers=payment)

    def _transport(self) -> httpx.AsyncBaseTransport:
        return httpx.ASGITransport(self._app, client=("127.0.0.1", 40000))

    @cached_property
    def _app(self) -> Any:
        visit = self.fetching.visit
        return visit.service.app(visit.echo.routes())


async def ended(send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """The answer, after whatever else was under way with the payment has come to its end."""
    async with asyncio.timeout(60):
        while (answer := await send()).status_code == 409:
            await asyncio.sleep(0.05)
    return answer


async def signed(client: httpx.AsyncClient, wallet: Any, url: str, **body: Any) -> dict[str, str]:
    return await signed_for(client, wallet, "/fetch/basic", {"url": url, **body})


async def signed_for(
    client: httpx.AsyncClient, wallet: Any, path: str, body: dict[str, Any]
) -> dict[str, str]:
    offered = await client.post(path, json=body)
    assert offered.status_code == 402, offered.text
    terms: Any = decode_payment_required_header(offered.headers["payment-required"])
    payload = await wallet.create_payment_payload(terms)
    return {"PAYMENT-SIGNATURE": encode_payment_signature_header(payload)}


@asynccontextmanager
async def opened_shop(folder: Path, site: Site, chains: Chains, **flags: Any) -> AsyncIterator[Shop]:
    async with opened(folder, site, **{**chains.settings, **UNLIMITED, **flags}) as fetching:
        yield Shop(chains, fetching)
