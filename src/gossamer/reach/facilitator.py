"""A facilitator: who checks payments and moves their money, asked over HTTP.

What it says is read by the protocol's own schemas (an extra, `gossamer[pay]`, imported when it is first
needed), and asked for under deadlines of ours. It is taken apart here: a refusal is a value, whether it comes
with 200 or, as Coinbase's does, with 400; all else is `Unavailable`, and what leaves open whether money was
moved is `Uncertain`.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gossamer.breaker import Breaker
from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.reach.endpoint import Answer, Endpoint, Unanswered
from gossamer.reach.failures import reason_of
from gossamer.reach.http import Bounds
from gossamer.web import x402
from gossamer.web.x402 import Terms

if TYPE_CHECKING:
    from gossamer.reach.facilitator_key import FacilitatorKey

KINDS_SECONDS: Final = 300.0  # for so long what it supports is believed
RETRY_SECONDS: Final = 5.0
CONNECTIONS: Final = 100
LONGEST_REASON: Final = 200
# What it answers before it has looked at a payment. Nothing was moved.
_TURNED_AWAY: Final = {
    401: "key refused",
    402: "it wants its own bill paid",
    403: "key refused",
    429: "it has too much to do",
}


class _TurnedAway(Exception):
    """It answered, and to us it says nothing."""

    def __init__(self, status: int) -> None:
        super().__init__(_TURNED_AWAY[status])
        self.status = status


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
        log: Log,
        *,
        key: "FacilitatorKey | None" = None,
        verify_seconds: float,
        settle_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self.name = name
        self._breaker = breaker
        self._log = log
        self._key = key
        self._settle_seconds = settle_seconds
        self._clock = clock
        self._service = f"payment facilitator {name}"
        self._endpoint = Endpoint(
            self._service,
            url,
            headers={"content-type": "application/json"},
            seconds=verify_seconds,
            bounds=Bounds(
                connect=verify_seconds,
                first_byte=max(verify_seconds, settle_seconds),
                exchanges=CONNECTIONS,
                exchanges_per_place=CONNECTIONS,
                idle_connections=CONNECTIONS,
            ),
        )
        self._importing = asyncio.Lock()
        self._learning = asyncio.Lock()
        self._known_schemas: Any = None
        self._kinds: Mapping[str, Mapping[str, Any]] = {}
        self._kinds_until = 0.0
        self._complaint = ""

    async def verify(self, wire: Mapping[str, Any], terms: Terms) -> Verdict:
        """Raises `Unavailable`, and nothing else."""
        schemas = await self._schemas()
        with self._asking(Unavailable):
            answer = await self._ask("POST", "/verify", _question(wire, terms))
            said = _said(answer)
            if answer.status == 400:  # also where it does not even understand the payment
                said = {"isValid": False, "invalidReason": said.get("errorType"), **said}
            found = schemas.VerifyResponse.model_validate(said)
        reason = "" if found.is_valid else (found.invalid_reason or "invalid_payment")[:LONGEST_REASON]
        spent = x402.is_spent(found.invalid_reason, found.invalid_message)
        return Verdict(found.is_valid, found.payer or "", reason, spent and not found.is_valid)

    async def settle(self, wire: Mapping[str, Any], terms: Terms) -> Settlement:
        """Raises `Unavailable` when it was not asked or did not listen, `Uncertain` when it did not say."""
        schemas, question = await self._schemas(), _question(wire, terms)
        with self._asking(Uncertain):
            answer = await self._ask("POST", "/settle", question, seconds=self._settle_seconds, once=True)
            # A refusal may leave out what there is not.
            found = schemas.SettleResponse.model_validate(
                {"transaction": "", "network": terms.network, **_said(answer)}
            )
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
        await self._endpoint.close()

    async def _learn(self) -> None:
        schemas = await self._schemas()
        with self._asking(Unavailable):
            told = schemas.SupportedResponse.model_validate(_said(await self._ask("GET", "/supported")))
        self._kinds = {
            kind.network: kind.extra or {}
            for kind in told.kinds
            if kind.x402_version == 2 and kind.scheme == x402.SCHEME
        }
        self._kinds_until = self._clock() + KINDS_SECONDS

    async def _ask(self, method: str, path: str, body: bytes = b"", **how: Any) -> Answer:
        headers = {}
        if self._key is not None:
            token = self._key.token(method, self._endpoint.host, self._endpoint.target(path))
            headers["authorization"] = f"Bearer {token}"
        return await self._endpoint.ask(method, path, body, headers=headers, **how)

    @contextmanager
    def _asking(self, doubt: type[Unavailable]) -> Iterator[None]:
        """Whatever goes wrong inside becomes `doubt`, or `Unavailable` where it was not even reached."""
        if not self._breaker.allows(self._clock()):
            raise Unavailable(self._service, "it has failed several times", retry_after=10)
        try:
            yield
        except asyncio.CancelledError:
            self._breaker.given_up()
            raise
        except _TurnedAway as turned:
            self._breaker.given_up()  # it answers at once, so it need not be left alone
            self._complain(turned)
            raise Unavailable(self._service, str(turned), retry_after=30) from None
        except Unavailable as away:
            self._breaker.failed(self._clock())
            kind = doubt if isinstance(away, Unanswered) else Unavailable
            raise kind(self._service, reason_of(away), retry_after=5) from None
        except ValueError:
            # Of what it says no more is told: that may be anything.
            self._breaker.failed(self._clock())
            raise doubt(self._service, "its answer makes no sense", retry_after=5) from None
        else:
            self._breaker.succeeded(self._clock())
            self._complaint = ""

    def _complain(self, turned: _TurnedAway) -> None:
        """Once, as it is asked every few seconds."""
        if self._complaint != str(turned):
            self._complaint = str(turned)
            self._log.error(
                "facilitator_refuses_us",
                f"the payment facilitator {self.name} takes no payments from us: {turned}",
                status=turned.status,
            )

    async def _schemas(self) -> Any:
        async with self._importing:
            if self._known_schemas is None:
                self._known_schemas = await asyncio.to_thread(import_module, "x402.schemas")  # takes a while
            return self._known_schemas


def _question(wire: Mapping[str, Any], terms: Terms) -> bytes:
    return msgspec.json.encode(
        {"x402Version": wire["x402Version"], "paymentPayload": wire, "paymentRequirements": terms}
    )


def _said(answer: Answer) -> dict[str, Any]:
    """What it says to 200, and what it refuses with 400; `ValueError` where that makes no sense."""
    if answer.status in _TURNED_AWAY:
        raise _TurnedAway(answer.status)
    if answer.status not in (200, 400):
        raise ValueError
    said = msgspec.json.decode(answer.body, type=dict[str, Any])
    if answer.status == 400 and (said.get("isValid") or said.get("success")):
        raise ValueError
    return said
