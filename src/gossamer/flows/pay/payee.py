"""Payees: the networks on which we take payments, and how a payment is refused."""

import secrets
import time
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from gossamer import problems
from gossamer.concurrency.breaker import Breaker
from gossamer.observe.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.reach.services.chain import Chain
from gossamer.reach.services.chain_evm import EvmChain
from gossamer.reach.services.chain_solana import SolanaChain
from gossamer.reach.services.facilitator import Facilitator
from gossamer.reach.services.json_rpc import JsonRpc
from gossamer.settings.settings import CDP_FACILITATOR, TEST_FACILITATOR, SettingError, Settings
from gossamer.web.pay import evm, solana, x402
from gossamer.web.pay.x402 import Network

if TYPE_CHECKING:
    from gossamer.reach.services.facilitator_key import FacilitatorKey

Receipt = list[tuple[bytes, bytes]]


class PaymentRefused(Exception):
    """A payment is not accepted: `reason` is for programs, the text for people."""

    def __init__(self, reason: str, detail: str, receipt: Receipt | None = None) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.receipt = receipt or []


class Payee(Struct, frozen=True):
    """A network, our address there, the facilitator that settles, and perhaps a node of the chain."""

    network: Network
    address: str
    facilitator: Facilitator
    chain: Chain | None = None


def open_payees(settings: Settings, log: Log) -> list[Payee]:
    """The networks on which we take payments: Base and Solana or their test networks, and perhaps Polygon."""
    if settings.pay_polygon and settings.network != "base":
        raise SettingError("pay_polygon needs network=base: x402 clients pay on no test network of Polygon")
    asked = _facilitators(settings, log)
    real = settings.network == "base"
    base, solana = (x402.BASE, x402.SOLANA) if real else (x402.BASE_SEPOLIA, x402.SOLANA_DEVNET)
    found = [
        Payee(base, settings.wallet_address, asked["cdp"], _chain(base, settings.base_rpc_url)),
        Payee(solana, settings.wallet_svm, asked["payai"], _chain(solana, settings.solana_rpc_url)),
    ]
    if settings.pay_polygon:
        node = _chain(x402.POLYGON, settings.polygon_rpc_url)
        found.append(Payee(x402.POLYGON, settings.wallet_address, asked["payai"], node))
    return found


def _chain(network: Network, url: str) -> Chain | None:
    if not url:
        return None
    rpc = JsonRpc(f"node of {network.name}", url)
    return EvmChain(network.id, rpc) if network.is_evm else SolanaChain(network.id, rpc)


def check_wallets(settings: Settings) -> None:
    """Raises `SettingError` for a malformed address: money that is sent there would be lost."""
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
            key=key if url == settings.cdp_facilitator_url else None,  # only Coinbase may see it
            verify_seconds=settings.facilitator_verify_seconds,
            settle_seconds=settings.facilitator_settle_seconds,
            clock=time.monotonic,
        )
        for name, url in urls.items()
    }


def facilitator_key(settings: Settings) -> "FacilitatorKey | None":
    """Raises `SettingError` if no payment on Base could ever be settled."""
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
    from gossamer.reach.services.facilitator_key import FacilitatorKey, read_private  # few have a key

    try:
        return FacilitatorKey(named, read_private(secret), time.time, partial(secrets.token_hex, 16))
    except ValueError as wrong:
        raise SettingError(
            f"cdp_api_key_secret is not valid: {wrong}; expected the secret of a CDP API key as it was "
            "downloaded, 88 characters of base64 (Ed25519) or PEM (EC)"
        ) from None


def in_use(why: str = "This payment is being used by another request.") -> Problem:
    return Problem(
        problems.PAYMENT_IN_USE,
        why,
        headers={"Retry-After": "1"},
        retryAfter=1,
    )


def pending(payee: Payee) -> Problem:
    doubt = Unavailable(
        f"payment facilitator {payee.facilitator.name}", "it did not say whether it was paid", retry_after=5
    )
    doubt.hint = (
        "Nothing is paid twice: send the same request after Retry-After, with this payment or a new one."
    )
    doubt.add_details(reason="settlement_pending")
    return doubt
