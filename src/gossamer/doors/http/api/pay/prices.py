"""Endpoints for prices, open to all."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.pay.payee import Payee
from gossamer.flows.pay.quotes import Prices
from gossamer.settings.values import Money
from gossamer.state.tenants.tenants import Role


class ShownPrice(msgspec.Struct, rename="camel"):
    """The price of a call."""

    name: str
    unit: Annotated[
        Literal["call", "page"],
        Meta(description="`page`: long work is paid for when it is accepted, by the pages that it asks for."),
    ]
    price: Annotated[str, Meta(description="In dollars.")]
    amount: Annotated[str, Meta(description="In the atomic units of the token.")]
    cached_price: Annotated[
        str, Meta(description="If the cache has the answer; the same as `price` where there is no cache.")
    ]
    cached_amount: str
    endpoints: list[str]


class ShownNetwork(msgspec.Struct, rename="camel"):
    """A network for payments."""

    network: Annotated[str, Meta(description="The CAIP-2 id.")]
    name: str
    asset: str
    pay_to: str
    facilitator: str


class PriceList(msgspec.Struct, rename="camel"):
    """The prices of calls without an API key."""

    payments: Annotated[bool, Meta(description="Whether payments are accepted; otherwise a key is needed.")]
    quote_seconds: Annotated[int, Meta(description="Seconds for which a quoted price is honoured.")]
    prices: list[ShownPrice]
    networks: list[ShownNetwork]


class PricesEndpoints:
    def __init__(
        self, prices: Prices, payees: Iterable[Payee], quote_seconds: int, routes: Sequence[Route]
    ) -> None:
        self._prices = prices
        self._payees = list(payees)
        self._quote_seconds = quote_seconds
        self._priced = _endpoints(routes)
        self._by_page = {name for route in routes if route.order for name in route.order.prices}
        peeking = [route for route in routes if route.peek is not None]
        self._cached = _endpoints(peeking).keys() - self._by_page

    async def get_prices(self, exchange: Exchange) -> PriceList:
        return PriceList(
            payments=bool(self._payees),
            quote_seconds=self._quote_seconds,
            prices=[self._price(name, paths) for name, paths in self._priced.items()],
            networks=[
                ShownNetwork(
                    payee.network.id,
                    payee.network.name,
                    payee.network.asset,
                    payee.address,
                    payee.facilitator.name,
                )
                for payee in self._payees
            ],
        )

    def _price(self, name: str, paths: list[str]) -> ShownPrice:
        full = self._prices.full(name)
        cached = self._prices.cached(name) if name in self._cached else full
        unit: Literal["call", "page"] = "page" if name in self._by_page else "call"
        return ShownPrice(name, unit, str(Money(full)), str(full), str(Money(cached)), str(cached), paths)

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/prices",
                handler=self.get_prices,
                needs=Role.NOBODY,
                tag="Payments",
                summary="Get the prices of calls without an API key, and the networks",
                example=_EXAMPLE_PRICES,
            )
        ]


def with_price(route: Route, prices: Prices, payees: Iterable[Payee]) -> Route:
    """The route with its price and the networks in its description."""
    if not route.price:
        return route
    name = route.price(None) if callable(route.price) else route.price
    networks = " or ".join(payee.network.name for payee in payees)
    if route.order is not None:
        each = " or ".join(str(Money(prices.full(name))) for name in route.order.prices)
        price = (
            f" Without a key it costs {each} for each page that it asks for, paid by x402 on {networks} when "
            "it is accepted; pages that are not delivered become credit. The header `X-Order-Capability` "
            "of the answer opens the results; see `GET /api/prices`."
        )
        return replace(route, description=route.description + price)
    lower = f", {Money(prices.cached(name))} if the cache has the answer" if route.peek is not None else ""
    price = (
        f" Without a key it costs {Money(prices.full(name))} a call{lower}, paid by x402 on {networks}; "
        "see `GET /api/prices`."
    )
    return replace(route, description=route.description + price)


def _endpoints(routes: Sequence[Route]) -> dict[str, list[str]]:
    """The names of prices, each with the endpoints that it applies to."""
    found: dict[str, dict[str, None]] = {}  # paths with several methods are named once
    for route in routes:
        if route.order is not None:
            names = route.order.prices
        else:
            names = (route.price(None) if callable(route.price) else route.price,)
        for name in names:
            found.setdefault(name, {})[route.path.replace("*}", "}")] = None
    return {name: list(paths) for name, paths in found.items()}


_EXAMPLE_PRICES: Final = PriceList(
    payments=True,
    quote_seconds=300,
    prices=[
        ShownPrice("fetch-basic", "call", "$0.005", "5000", "$0.0015", "1500", ["/fetch", "/fetch/basic"])
    ],
    networks=[
        ShownNetwork(
            "eip155:8453",
            "base",
            "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
            "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
            "cdp",
        )
    ],
)
