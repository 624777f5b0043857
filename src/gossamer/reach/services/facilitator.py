"""The client of a facilitator, the service that verifies payments and moves their money.

Requests have deadlines, and an answer counts only if it is well formed: truth is a JSON boolean, a settlement
names a transaction of its network, and both speak of the payer and the network of the request. A refusal is a
value, whether it comes with 200 or, as Coinbase's does, with 400. Everything else is `Unavailable`, or
`Uncertain` if money may have been moved.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from gossamer.concurrency.breaker import Breaker
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.reach.http.client import HttpBounds
from gossamer.reach.http.failures import reason_of
from gossamer.reach.services.endpoint import ServiceEndpoint, ServiceReply, ServiceSilent
from gossamer.web.pay import x402
from gossamer.web.pay.x402 import PaymentTerms

if TYPE_CHECKING:
    from gossamer.reach.services.facilitator_key import FacilitatorKey

KINDS_SECONDS: Final = 300.0  # that its list of networks is used
RETRY_SECONDS: Final = 5.0
CONNECTIONS: Final = 100
MAX_REASON_CHARS: Final = 200
# Statuses for requests that it refused before reading the payment, so no money was moved.
_TURNED_AWAY: Final = {
    401: "key refused",
    402: "it wants its own bill paid",
    403: "key refused",
    429: "it has too much to do",
}


class _TurnedAway(Exception):
    """It refused the request before reading the payment."""

    def __init__(self, status: int) -> None:
        super().__init__(_TURNED_AWAY[status])
        self.status = status


class Uncertain(Unavailable):
    """It was asked to move money, and it is not known whether it did."""


class VerifyReply(Struct, frozen=True):
    """Whether a payment is good."""

    valid: bool
    reason: str = ""
    spent: bool = False  # its authorisation was used before


class SettleReply(Struct, frozen=True):
    """Whether the money was moved."""

    success: bool
    transaction: str
    reason: str = ""
    spent: bool = False


class _Verified(msgspec.Struct, rename="camel"):
    is_valid: bool
    invalid_reason: str | None = None
    invalid_message: str | None = None
    payer: str | None = None


class _Settled(msgspec.Struct, rename="camel"):
    success: bool
    error_reason: str | None = None
    error_message: str | None = None
    payer: str | None = None
    transaction: str | None = None
    network: str | None = None


class _Kind(msgspec.Struct, rename={"version": "x402Version"}):
    version: int
    scheme: str
    network: str
    extra: dict[str, Any] | None = None


class _Supported(msgspec.Struct):
    kinds: list[_Kind]


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
        self.url = url
        self.breaker = breaker
        self._log = log
        self._key = key
        self._settle_seconds = settle_seconds
        self._clock = clock
        self._service = f"payment facilitator {name}"
        self._endpoint = ServiceEndpoint(
            self._service,
            url,
            headers={"content-type": "application/json"},
            seconds=verify_seconds,
            bounds=HttpBounds(
                connect=verify_seconds,
                first_byte=max(verify_seconds, settle_seconds),
                exchanges=CONNECTIONS,
                exchanges_per_origin=CONNECTIONS,
                idle_connections=CONNECTIONS,
            ),
        )
        self._learning = asyncio.Lock()
        self._kinds: Mapping[str, Mapping[str, Any]] = {}
        self.has_answered = False  # it has answered since the start of this process
        self._kinds_until = 0.0
        self._complaint = ""

    async def verify(self, wire: Mapping[str, Any], terms: PaymentTerms) -> VerifyReply:
        """Raises `Unavailable`, and nothing else."""
        with self._asking(Unavailable):
            answer = await self._ask("POST", "/verify", _question(wire, terms))
            said = _decode(answer)
            if answer.status == 400:  # also if it does not understand the payment
                said = {"isValid": False, "invalidReason": said.get("errorType"), **said}
            found = msgspec.convert(said, _Verified)
            if found.is_valid:
                _check_payer(found.payer, wire, terms)
        reason = "" if found.is_valid else (found.invalid_reason or "invalid_payment")[:MAX_REASON_CHARS]
        spent = x402.is_spent(found.invalid_reason, found.invalid_message)
        return VerifyReply(found.is_valid, reason, spent and not found.is_valid)

    async def settle(self, wire: Mapping[str, Any], terms: PaymentTerms) -> SettleReply:
        """Raises `Unavailable` when no money was moved, `Uncertain` when that is not known."""
        question = _question(wire, terms)
        with self._asking(Uncertain):
            answer = await self._ask("POST", "/settle", question, seconds=self._settle_seconds, once=True)
            found = msgspec.convert(_decode(answer), _Settled)
            if found.success:
                _check_settled(found, wire, terms)
        reason = "" if found.success else (found.error_reason or "settlement_failed")[:MAX_REASON_CHARS]
        if x402.is_untold(reason):
            raise Uncertain(self._service, "the settlement may still be under way", retry_after=5)
        spent = x402.is_spent(found.error_reason, found.error_message)
        moved = x402.NETWORKS[terms.network].is_transaction(found.transaction or "")
        transaction = found.transaction or "" if moved else ""  # a refusal may leave it out, or name any
        return SettleReply(found.success, transaction, reason, spent and not found.success)

    async def kind(self, network: str) -> Mapping[str, Any] | None:
        """Its additions to the terms on this network; None if it takes no payments there or is unknown."""
        async with self._learning:
            if self._clock() >= self._kinds_until:
                with suppress(Unavailable):  # its last answer still holds; it is not asked again at once
                    await self._learn()
                self._kinds_until = max(self._kinds_until, self._clock() + RETRY_SECONDS)
        return self._kinds.get(network)

    async def ping(self) -> Mapping[str, Any]:
        await self._learn()
        return {"networks": sorted(self._kinds)}

    async def close(self) -> None:
        await self._endpoint.close()

    async def _learn(self) -> None:
        with self._asking(Unavailable):
            told = msgspec.convert(_decode(await self._ask("GET", "/supported")), _Supported)
        self._kinds = {
            kind.network: kind.extra or {}
            for kind in told.kinds
            if kind.version == 2 and kind.scheme == x402.SCHEME
        }
        self.has_answered = True
        self._kinds_until = self._clock() + KINDS_SECONDS

    async def _ask(self, method: str, path: str, body: bytes = b"", **how: Any) -> ServiceReply:
        headers = {}
        if self._key is not None:
            token = self._key.token(method, self._endpoint.host, self._endpoint.target(path))
            headers["authorization"] = f"Bearer {token}"
        return await self._endpoint.ask(method, path, body, headers=headers, **how)

    @contextmanager
    def _asking(self, doubt: type[Unavailable]) -> Iterator[None]:
        """Errors inside become `doubt`, or `Unavailable` if the facilitator was not reached."""
        if not self.breaker.allows(self._clock()):
            raise Unavailable(self._service, "it has failed several times", retry_after=10)
        try:
            yield
        except asyncio.CancelledError:
            self.breaker.record_unknown()
            raise
        except _TurnedAway as turned:
            self.breaker.record_unknown()  # it answers at once, so it need not be spared
            self._complain(turned)
            raise Unavailable(self._service, str(turned), retry_after=30) from None
        except Unavailable as away:
            self.breaker.record_failure(self._clock())
            kind = doubt if isinstance(away, ServiceSilent) else Unavailable
            raise kind(self._service, reason_of(away), retry_after=5) from None
        except ValueError:
            # The message does not repeat the answer, which may hold anything.
            self.breaker.record_failure(self._clock())
            raise doubt(self._service, "its answer makes no sense", retry_after=5) from None
        else:
            self.breaker.record_success(self._clock())
            self._complaint = ""

    def _complain(self, turned: _TurnedAway) -> None:
        """Log a failure once, because the facilitator is asked every few seconds."""
        if self._complaint != str(turned):
            self._complaint = str(turned)
            self._log.error(
                "facilitator_refuses_us",
                f"the payment facilitator {self.name} takes no payments from us: {turned}",
                status=turned.status,
            )


def _question(wire: Mapping[str, Any], terms: PaymentTerms) -> bytes:
    return msgspec.json.encode(
        {"x402Version": wire["x402Version"], "paymentPayload": wire, "paymentRequirements": terms}
    )


def _decode(answer: ServiceReply) -> dict[str, Any]:
    """The document of a 200 or a 400. Raises `ValueError` if it is malformed."""
    if answer.status in _TURNED_AWAY:
        raise _TurnedAway(answer.status)
    if answer.status not in (200, 400):
        raise ValueError
    said = msgspec.json.decode(answer.body, type=dict[str, Any])
    if answer.status == 400 and (said.get("isValid") or said.get("success")):
        raise ValueError
    return said


def _check_payer(said: str | None, wire: Mapping[str, Any], terms: PaymentTerms) -> None:
    """Raises `ValueError` if the answer is about another payer. It need not name one."""
    if said and not x402.is_same_address(said, x402.payer_of(wire["payload"], terms.network)):
        raise ValueError


def _check_settled(found: _Settled, wire: Mapping[str, Any], terms: PaymentTerms) -> None:
    network = x402.NETWORKS[terms.network]
    if not network.is_transaction(found.transaction or ""):
        raise ValueError
    if found.network and found.network not in (network.id, network.name):
        raise ValueError
    _check_payer(found.payer, wire, terms)
