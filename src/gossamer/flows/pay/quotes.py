"""Quotes: what a request costs, and how long the quote is valid.

The full price is always accepted. The lower price is accepted while the cache has the answer, or while a
quote for the same request is valid: a client that signs its quote is not refused because the cache has
changed. Quotes are kept in Hot; when one is lost, the full price applies.
"""

import contextlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.problems import Unavailable
from gossamer.settings.settings import Settings
from gossamer.settings.values import Money
from gossamer.state.kv.hot import Hot, Tally
from gossamer.state.tenants.limits import Limits, LimitStatus
from gossamer.web.pay.x402 import PaidResource

UNPAID: Final = "unpaid"


class Prices(Struct, frozen=True):
    """The one table of prices, in the atomic units of a dollar token."""

    table: Mapping[str, int]
    discount: float

    def full(self, name: str) -> int:
        return self.table[name]

    def cached(self, name: str) -> int:
        return max(1, round(self.table[name] * (1 - self.discount)))


def prices(settings: Settings) -> Prices:
    table: dict[str, Money] = {
        "fetch-basic": settings.price_fetch_basic,
        "fetch-pro": settings.price_fetch_pro,
        "screenshot": settings.price_screenshot,
        "pdf": settings.price_screenshot,
        "search": settings.price_search,
        "extract": settings.price_extract,
        "map": settings.price_map,
        "render": settings.price_render,
        "batch-basic": settings.price_fetch_basic,
        "batch-pro": settings.price_fetch_pro,
        "crawl": settings.price_crawl,
        "crawl-rendered": settings.price_crawl_rendered,
        "audit": settings.price_audit,
        "memory": settings.price_memory,
        "memory-page": settings.price_memory_page,
    }
    return Prices({name: money.millionths for name, money in table.items()}, settings.cache_discount)


class Purchase(Struct, frozen=True, kw_only=True):
    """A request that is to be paid for."""

    price: str  # its row in the table
    endpoint: str
    resource: PaidResource
    extensions: Mapping[str, Any]
    request_hash: str  # SHA-256 of the address with its query, and of the body
    request_id: str
    client: str
    cached: bool  # the cache has the answer now
    pages: int | None = (
        None  # that long work asks for at most, which has a price for each; None: a single call
    )


class Quotes:
    def __init__(self, prices: Prices, hot: Hot, limits: Limits, *, seconds: int) -> None:
        self.prices = prices
        self.seconds = seconds
        self._hot = hot
        self._limits = limits

    async def ask(self, purchase: Purchase, unpaid: LimitStatus) -> int:
        """The amount to ask for now. It will be accepted, and `unpaid` can be given back when it is paid."""
        amount = self.prices.cached(purchase.price) if purchase.cached else self.full(purchase)
        try:
            await self._hot.put(_quote_key(purchase, amount), b"1", self.seconds)
            stamp = msgspec.msgpack.encode(unpaid.tally.stamp)
            await self._hot.put(_unpaid_key(purchase), stamp, self.seconds)
        except Unavailable:
            return self.full(purchase)
        return amount

    def full(self, purchase: Purchase) -> int:
        return self.prices.full(purchase.price) * (purchase.pages or 1)

    async def takes(self, purchase: Purchase, amount: int) -> bool:
        """Whether this much may be paid for it."""
        if amount == self.full(purchase):
            return True
        if purchase.cached and amount == self.prices.cached(purchase.price):
            return True
        try:
            return await self._hot.get(_quote_key(purchase, amount)) is not None
        except Unavailable:
            return False

    async def claim(self, purchase: Purchase) -> int | None:
        """A client may try once to pay its quote. Returns what `give_back` needs if that succeeds."""
        with contextlib.suppress(Unavailable):
            kept = await self._hot.get(_unpaid_key(purchase))
            if kept is not None and await self._hot.drop(_unpaid_key(purchase)):
                return msgspec.msgpack.decode(kept, type=int)
        return None

    async def give_back(self, purchase: Purchase, stamp: int) -> None:
        """The quote was paid, so its 402 no longer counts against the client."""
        tally = Tally(True, 0, 0, 0.0, stamp)
        await self._limits.give_back(LimitStatus(self._limits.table[UNPAID], purchase.client, tally))

    async def unpaid(self, client: str) -> LimitStatus:
        """Count a 402 that is about to be answered."""
        return (await self._limits.take([(UNPAID, client)]))[0]


def _quote_key(purchase: Purchase, amount: int) -> str:
    return f"quote:{purchase.request_hash}:{amount}"


def _unpaid_key(purchase: Purchase) -> str:
    return f"unpaid:{purchase.client}:{purchase.request_hash}"
