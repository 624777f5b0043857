"""Till: where money is taken, and what is said when it is not."""

import asyncio
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gossamer import problems
from gossamer.breaker import Breaker
from gossamer.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.reach.facilitator import Facilitator
from gossamer.settings import CDP_FACILITATOR, TEST_FACILITATOR, SettingError, Settings
from gossamer.web import evm, solana, x402
from gossamer.web.x402 import Network, Terms

if TYPE_CHECKING:
    from gossamer.reach.facilitator_key import FacilitatorKey

Receipt = list[tuple[bytes, bytes]]


class Refused(Exception):
    """A payment is not taken, and why: `reason` for programs, the text for people."""

    def __init__(self, reason: str, detail: str, receipt: Receipt | None = None) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.receipt = receipt or []


@dataclass(frozen=True, slots=True)
class Till:
    """A network, our address there, and who moves the money."""

    network: Network
    pay_to: str
    facilitator: Facilitator

    async def terms(self, amount: int, seconds: int) -> Terms | None:
        """How to pay this much here; None while the facilitator does not say what it needs for it."""
        extra: Mapping[str, Any] | None = {}
        if not self.network.is_evm:
            extra = await self.facilitator.kind(self.network.id)
        return None if extra is None else x402.terms(self.network, self.pay_to, amount, seconds, extra)


def tills(settings: Settings, log: Log) -> list[Till]:
    """Where money is taken: Base and Solana, their test networks, or Polygon besides."""
    if settings.pay_polygon and settings.network != "base":
        raise SettingError("pay_polygon needs network=base: x402 clients pay on no test network of Polygon")
    asked = _facilitators(settings, log)
    real = settings.network == "base"
    base, solana = (x402.BASE, x402.SOLANA) if real else (x402.BASE_SEPOLIA, x402.SOLANA_DEVNET)
    found = [
        Till(base, settings.wallet_address, asked["cdp"]),
        Till(solana, settings.wallet_svm, asked["payai"]),
    ]
    polygon = Till(x402.POLYGON, settings.wallet_address, asked["payai"])
    return [*found, polygon] if settings.pay_polygon else found


def check_wallets(settings: Settings) -> None:
    """Raises `SettingError` for one where nobody is paid: what is sent to a mistyped address is lost."""
    faults = {
        "wallet_address": evm.fault(settings.wallet_address),
        "wallet_svm": solana.fault(settings.wallet_svm),
    }
    for name, wrong in faults.items():
        if wrong:
            raise SettingError(f"{name} is {getattr(settings, name)}, which is not valid: {wrong}")


def _facilitators(settings: Settings, log: Log) -> dict[str, Facilitator]:
    urls = {"cdp": settings.cdp_facilitator_url, "payai": settings.payai_facilitator_url}
    key = facilitator_key(settings)
    return {
        name: Facilitator(
            name,
            url,
            Breaker(),
            log,
            key=key if url == settings.cdp_facilitator_url else None,  # nobody else is shown it
            verify_seconds=settings.facilitator_verify_seconds,
            settle_seconds=settings.facilitator_settle_seconds,
            clock=time.monotonic,
        )
        for name, url in urls.items()
    }


def facilitator_key(settings: Settings) -> "FacilitatorKey | None":
    """Raises `SettingError` where no payment on Base could ever be taken."""
    url, named, secret = settings.cdp_facilitator_url, settings.cdp_api_key_id, settings.cdp_api_key_secret
    if bool(named) != bool(secret):
        raise SettingError("cdp_api_key_id and cdp_api_key_secret belong together: set both, or none")
    if settings.network == "base" and url == TEST_FACILITATOR:
        raise SettingError(
            f"network=base is real money, which the facilitator {url} does not move: set cdp_api_key_id and "
            "cdp_api_key_secret to use Coinbase's, or cdp_facilitator_url to use another"
        )
    if secret:
        return _read_key(named, secret)
    if urlsplit(url).hostname == urlsplit(CDP_FACILITATOR).hostname:
        raise SettingError(
            "cdp_facilitator_url is Coinbase's, which needs a key: set cdp_api_key_id and cdp_api_key_secret"
        )
    return None


def _read_key(named: str, secret: str) -> "FacilitatorKey":
    from gossamer.reach.facilitator_key import FacilitatorKey, read_private  # few have a key

    try:
        return FacilitatorKey(named, read_private(secret), time.time, partial(secrets.token_hex, 16))
    except ValueError as wrong:
        raise SettingError(
            f"cdp_api_key_secret is not valid: {wrong}; expected the secret of a CDP API key as it was "
            "downloaded, 88 characters of base64 (Ed25519) or PEM (EC)"
        ) from None


async def all_terms(tills: Iterable[Till], amount: int, seconds: int) -> list[Terms]:
    made = await asyncio.gather(*(till.terms(amount, seconds) for till in tills))
    return [terms for terms in made if terms is not None]


def in_use() -> Problem:
    return Problem(
        problems.PAYMENT_IN_USE,
        "This payment is being used by another request.",
        headers={"Retry-After": "1"},
        retryAfter=1,
    )


def pending(till: Till) -> Problem:
    doubt = Unavailable(
        f"payment facilitator {till.facilitator.name}", "it did not say whether it was paid", retry_after=5
    )
    doubt.hint = "Nothing is paid twice: send the same request with the same payment after Retry-After."
    doubt.members["details"] = {**doubt.members["details"], "reason": "settlement_pending"}
    return doubt
