"""A facilitator: who checks payments and moves their money, asked over HTTP.

It is asked by the protocol's own client (an extra, `gossamer[pay]`, imported when it is first needed), under
deadlines of ours. What it answers is taken apart here: a refusal is a value, all else is `Unavailable`, and
what leaves open whether money was moved is `Uncertain`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gossamer.breaker import Breaker
from gossamer.problems import Unavailable
from gossamer.web import x402
from gossamer.web.x402 import Terms

if TYPE_CHECKING:
    import httpx
    from x402.http import HTTPFacilitatorClient

KINDS_SECONDS: Final = 300.0  # for so long what it supports is believed
RETRY_SECONDS: Final = 5.0
CONNECTIONS: Final = 100
LONGEST_REASON: Final = 200


class Uncertain(Unavailable):
    """It was asked to move money, and did not say whether it has."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a payment is good."""

    valid: bool
    payer: str
    reason: str = ""
    spent: bool = False  # it has moved its money before


@dataclass(frozen=True, slots=True)
class Settlement:
    """Whether the money was moved."""

    success: bool
    transaction: str
    reason: str = ""
    spent: bool = False


class Facilitator:
    def __init__(
        self,
        name: str,
        url: str,
        breaker: Breaker,
        *,
        verify_seconds: float,
        settle_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self.name = name
        self._url = url
        self._breaker = breaker
        self._verify_seconds = verify_seconds
        self._settle_seconds = settle_seconds
        self._clock = clock
        self._service = f"payment facilitator {name}"
        self._opening = asyncio.Lock()
        self._learning = asyncio.Lock()
        self._http: httpx.AsyncClient | None = None
        self._client: HTTPFacilitatorClient | None = None
        self._kinds: Mapping[str, Mapping[str, Any]] = {}
        self._kinds_until = 0.0

    async def verify(self, wire: Mapping[str, Any], terms: Terms) -> Verdict:
        """Raises `Unavailable`, and nothing else."""
        client = await self._opened()
        payment, asked = msgspec.json.encode(wire), msgspec.json.encode(terms)
        async with self._asking(Unavailable, self._verify_seconds):
            found = await client.verify_from_bytes(payment, asked)
        reason = "" if found.is_valid else (found.invalid_reason or "invalid_payment")[:LONGEST_REASON]
        spent = x402.is_spent(found.invalid_reason, found.invalid_message)
        return Verdict(found.is_valid, found.payer or "", reason, spent and not found.is_valid)

    async def settle(self, wire: Mapping[str, Any], terms: Terms) -> Settlement:
        """Raises `Unavailable` when it was not asked, `Uncertain` when it did not say."""
        client = await self._opened()
        payment, asked = msgspec.json.encode(wire), msgspec.json.encode(terms)
        async with self._asking(Uncertain, self._settle_seconds):
            found = await client.settle_from_bytes(payment, asked)
        reason = "" if found.success else (found.error_reason or "settlement_failed")[:LONGEST_REASON]
        if x402.is_untold(reason):
            raise Uncertain(self._service, "the settlement may still be under way", retry_after=5)
        spent = x402.is_spent(found.error_reason, found.error_message)
        return Settlement(found.success, found.transaction, reason, spent and not found.success)

    async def kind(self, network: str) -> Mapping[str, Any] | None:
        """What it adds to the terms on this network; None where it takes no payments, or has not said."""
        async with self._learning:
            if self._clock() >= self._kinds_until:
                with suppress(Unavailable):  # what it said before holds; it is not asked again at once
                    await self._learn()
                self._kinds_until = max(self._kinds_until, self._clock() + RETRY_SECONDS)
        return self._kinds.get(network)

    async def ping(self) -> Mapping[str, Any]:
        await self._learn()
        return {"networks": sorted(self._kinds)}

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    async def _learn(self) -> None:
        await self._opened()
        from x402.schemas import SupportedResponse

        assert self._http is not None  # noqa: S101  (opened above)
        async with self._asking(Unavailable, self._verify_seconds):
            answer = await self._http.get(f"{self._url}/supported")
            answer.raise_for_status()
            told = SupportedResponse.model_validate(answer.json())
        self._kinds = {
            kind.network: kind.extra or {}
            for kind in told.kinds
            if kind.x402_version == 2 and kind.scheme == x402.SCHEME
        }
        self._kinds_until = self._clock() + KINDS_SECONDS

    @asynccontextmanager
    async def _asking(self, doubt: type[Unavailable], seconds: float) -> AsyncIterator[None]:
        """Whatever goes wrong inside becomes `doubt`, or `Unavailable` where it was not even reached."""
        import httpx

        if not self._breaker.allows(self._clock()):
            raise Unavailable(self._service, "it has failed several times", retry_after=10)
        try:
            async with asyncio.timeout(seconds):
                yield
        except asyncio.CancelledError:
            self._breaker.given_up()
            raise
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            self._breaker.failed(self._clock())
            raise Unavailable(self._service, "it cannot be reached", retry_after=5) from None
        except (TimeoutError, httpx.TimeoutException):
            self._breaker.failed(self._clock())
            raise doubt(self._service, "it takes too long", retry_after=5) from None
        except (httpx.HTTPError, ValueError):
            # Of what it says no more is told: that may be anything.
            self._breaker.failed(self._clock())
            raise doubt(self._service, "its answer makes no sense", retry_after=5) from None
        else:
            self._breaker.succeeded(self._clock())

    async def _opened(self) -> "HTTPFacilitatorClient":
        async with self._opening:
            if self._client is not None:
                return self._client
            self._http, client = await asyncio.to_thread(self._open)
            self._client = client
            return client

    def _open(self) -> "tuple[httpx.AsyncClient, HTTPFacilitatorClient]":
        import httpx
        from x402.http import FacilitatorConfig, HTTPFacilitatorClient

        http = httpx.AsyncClient(
            timeout=httpx.Timeout(self._settle_seconds, connect=self._verify_seconds),
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            trust_env=False,
        )
        return http, HTTPFacilitatorClient(FacilitatorConfig(url=self._url, http_client=http))
