"""x402: what is asked and given for a request that is paid for, on the wire, in both versions of it.

    version 2   the terms stand in the header PAYMENT-REQUIRED, the payment in PAYMENT-SIGNATURE, the receipt
                in PAYMENT-RESPONSE; networks are called by their CAIP-2 ids
    version 1   the terms stand in the body of the 402, the payment in X-PAYMENT, the receipt in
                X-PAYMENT-RESPONSE; networks have names

What is signed is the same in both, so a payment of version 1 goes on as one of version 2. Clients of version
1 refuse a whole offer for one entry that they do not know, so theirs lists Base alone. Money is counted in
the atomic units of a token, as integers.
"""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.web.pay import evm, solana

SCHEME: Final = "exact"
IDENTIFIER: Final = "payment-identifier"
MAX_PAYMENT_CHARS: Final = 32_768  # characters of its header
MAX_OFFER_CHARS: Final = 6_000  # of the header; clients send it back, and servers bound their headers
IDENTIFIER_LENGTHS: Final = range(16, 129)
_SETTLES_WITHIN: Final = 60  # seconds; a Solana transaction expires with its block hash
_MAX_LIFETIME: Final = 86_400  # seconds; no payment is followed for longer
# Facilitators' reasons for an authorisation that has already moved its money.
_SPENT: Final = (
    "already_used",
    "already used",
    "duplicate_settlement",
    "already_settled",
    "alreadyprocessed",
)

# Their reasons for one whose result is unknown: it was sent to the chain and may still be executed.
_UNTOLD: Final = (
    "pending",
    "transaction_failed",
    "failed_onchain",
    "confirmation",
    "receipt",
    "node_failure",
    "unexpected",
    "unknown_error",
    "timeout",
    "timed_out",
)


class Malformed(ValueError):
    """A payment that cannot be read; the text says why."""


class Network(Struct, frozen=True):
    """A chain, and the dollar on it."""

    id: str  # CAIP-2
    name: str
    asset: str
    domain: Mapping[str, str] = msgspec.field(default_factory=dict)  # of the token, for EIP-712
    in_version_1: bool = False

    @property
    def is_evm(self) -> bool:
        return self.id.startswith("eip155:")

    def is_transaction(self, text: str) -> bool:
        """Whether this is a valid transaction id on this network."""
        return evm.is_transaction(text) if self.is_evm else solana.is_signature(text)


BASE: Final = Network(
    "eip155:8453",
    "base",
    "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    {"name": "USD Coin", "version": "2"},
    in_version_1=True,
)
BASE_SEPOLIA: Final = Network(
    "eip155:84532",
    "base-sepolia",
    "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    {"name": "USDC", "version": "2"},
    in_version_1=True,
)
POLYGON: Final = Network(
    "eip155:137",
    "polygon",
    "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
    {"name": "USD Coin", "version": "2"},
)
SOLANA: Final = Network(
    "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "solana", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)
SOLANA_DEVNET: Final = Network(
    "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
    "solana-devnet",
    "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
)
NETWORKS: Final[Mapping[str, Network]] = {
    network.id: network for network in (BASE, BASE_SEPOLIA, POLYGON, SOLANA, SOLANA_DEVNET)
}
_BY_NAME: Final = {network.name: network for network in NETWORKS.values()}


class PaymentTerms(msgspec.Struct, frozen=True, rename="camel"):
    """One way to pay: an entry of `accepts`."""

    scheme: str
    network: str
    asset: str
    amount: str
    pay_to: str
    max_timeout_seconds: int
    extra: dict[str, Any] = {}


class PaidResource(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The resource that is paid for."""

    url: str
    description: str = ""
    mime_type: str = ""
    service_name: str = ""


class Offer(Struct, frozen=True):
    """The content of a 402: the ways to pay."""

    resource: PaidResource
    accepts: Sequence[PaymentTerms]
    error: str
    extensions: Mapping[str, Any]

    def header(self) -> str:
        """The header of version 2."""
        offer = {"x402Version": 2, "error": self.error, "resource": self.resource, "accepts": self.accepts}
        return _encoded({**offer, "extensions": self.extensions} if self.extensions else offer)

    def members(self) -> dict[str, Any]:
        """The members of the body for version 1."""
        entries = [self._entry(terms, NETWORKS[terms.network]) for terms in self.accepts]
        return {"x402Version": 1, "accepts": [entry for entry in entries if entry], "error": self.error}

    def _output(self) -> dict[str, Any]:
        """The description of an answer, which version 2 has too."""
        told = self.extensions.get("bazaar", {}).get("info", {}).get("output")
        return {"output": told} if told else {}

    def _entry(self, terms: PaymentTerms, network: Network) -> dict[str, Any]:
        if not network.in_version_1:
            return {}
        return {
            "scheme": terms.scheme,
            "network": network.name,
            "maxAmountRequired": terms.amount,
            "resource": self.resource.url,
            "description": self.resource.description,
            "mimeType": self.resource.mime_type,
            "outputSchema": {
                "input": {"type": "http", "method": "POST", "discoverable": True},
                **self._output(),
            },
            "payTo": terms.pay_to,
            "maxTimeoutSeconds": terms.max_timeout_seconds,
            "asset": terms.asset,
            "extra": terms.extra,
        }


def terms(network: Network, pay_to: str, amount: int, seconds: int, extra: Mapping[str, Any]) -> PaymentTerms:
    lasting = seconds if network.is_evm else min(seconds, _SETTLES_WITHIN)
    return PaymentTerms(
        SCHEME, network.id, network.asset, str(amount), pay_to, lasting, {**network.domain, **extra}
    )


class Authorization(msgspec.Struct, frozen=True):
    """An EIP-3009 TransferWithAuthorization."""

    from_: str = msgspec.field(name="from")
    to: str
    value: str
    valid_after: str = msgspec.field(name="validAfter")
    valid_before: str = msgspec.field(name="validBefore")
    nonce: str


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment as it was sent, before any verification."""

    version: int
    network: Network
    payload: Mapping[str, Any] = field(repr=False)  # the signed part, for the facilitator
    payer: str
    nonce: str  # no two payments of a payer have the same
    accepted: PaymentTerms | None  # version 1 does not repeat the terms
    authorization: Authorization | None  # on EVM chains
    resource: str
    identifier: str

    def lasts_until(self, now: float) -> float:
        """Unix seconds after which it cannot move money any more."""
        if self.authorization is not None:
            return min(float(self.authorization.valid_before), now + _MAX_LIFETIME)
        return now + 2.5 * _SETTLES_WITHIN

    def on_wire(
        self, terms: PaymentTerms, resource: PaidResource, extensions: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The request to a facilitator, in version 2. It is stored, so that it can be sent again."""
        return {
            "x402Version": 2,
            "payload": self.payload,
            "accepted": terms,
            "resource": resource,
            "extensions": extensions,
        }


class _Wire(msgspec.Struct, rename="camel"):
    x402_version: int = msgspec.field(name="x402Version")
    payload: dict[str, Any]
    accepted: PaymentTerms | None = None
    scheme: str = ""
    network: str = ""
    resource: dict[str, Any] | None = None
    extensions: dict[str, Any] | None = None


def read(header: str, version: int) -> Payment:
    """The payment in PAYMENT-SIGNATURE (2) or X-PAYMENT (1). Raises `Malformed`."""
    wire = _decoded(header)
    if wire.x402_version != version:
        raise Malformed(f"it is of x402 version {wire.x402_version}, in the header of version {version}")
    if version == 2 and wire.accepted is None:
        raise Malformed("`accepted` is missing")
    scheme = wire.accepted.scheme if wire.accepted else wire.scheme
    network = NETWORKS.get(wire.accepted.network) if wire.accepted else _BY_NAME.get(wire.network)
    if scheme != SCHEME or network is None:
        raise Malformed("its scheme or network is not among those that are offered")
    authorization = _authorization(wire.payload) if network.is_evm else None
    payer, nonce = _evm_key(authorization) if authorization else _solana_key(wire.payload)
    return Payment(
        version=version,
        network=network,
        payload=wire.payload,
        payer=payer,
        nonce=nonce,
        accepted=wire.accepted,
        authorization=authorization,
        resource=str((wire.resource or {}).get("url", "")),
        identifier=_identifier(wire.extensions or {}),
    )


def payer_of(payload: Mapping[str, Any], network: str) -> str:
    """The address that has signed a payment on this network. Raises `Malformed`."""
    if NETWORKS[network].is_evm:
        return _evm_key(_authorization(payload))[0]
    return _solana_key(payload)[0]


def mismatch(payment: Payment, terms: PaymentTerms, resource: PaidResource, now: float) -> str:
    """How a payment deviates from these terms; empty if it does not."""
    if payment.resource and payment.resource != resource.url:
        return "resource_mismatch"
    accepted, authorization = payment.accepted, payment.authorization
    if accepted is not None:
        if not is_same_address(accepted.asset, terms.asset):
            return "asset_mismatch"
        if not is_same_address(accepted.pay_to, terms.pay_to):
            return "recipient_mismatch"
    if authorization is not None:
        if not is_same_address(authorization.to, terms.pay_to):
            return "recipient_mismatch"
        if authorization.value != terms.amount:
            return "amount_mismatch"
        if float(authorization.valid_before) <= now:
            return "authorization_expired"
    return "" if accepted is None or accepted.amount == terms.amount else "amount_mismatch"


def could_be_made(payment: Payment, before: float, now: float) -> bool:
    """Whether it can have moved money before a moment, in Unix seconds."""
    if payment.authorization is not None:
        return float(payment.authorization.valid_after) <= before
    return now <= before + 2.5 * _SETTLES_WITHIN


def amount(payment: Payment) -> int:
    """The amount that it claims."""
    said = (
        payment.authorization.value if payment.authorization else payment.accepted and payment.accepted.amount
    )
    return int(said) if said and said.isascii() and said.isdigit() and len(said) < 19 else 0


def for_payment(terms: PaymentTerms, payment: Payment) -> PaymentTerms:
    """The terms of a payment. The payer of the fee is chosen again for every offer."""
    fee_payer = payment.accepted and payment.accepted.extra.get("feePayer")
    if not fee_payer or payment.network.is_evm:
        return terms
    return msgspec.structs.replace(terms, extra={**terms.extra, "feePayer": fee_payer})


def is_spent(*said: str | None) -> bool:
    """Whether a facilitator's reason means that this very payment was made before."""
    return any(word in (text or "").lower() for text in said for word in _SPENT)


def is_untold(reason: str) -> bool:
    """Whether a facilitator's reason leaves open whether the money was moved."""
    return any(word in reason.lower() for word in _UNTOLD)


def receipt(network: Network, payer: str, transaction: str, reason: str = "") -> list[tuple[bytes, bytes]]:
    """The headers with the result of a payment, for both versions."""
    told: dict[str, Any] = {"success": not reason, "payer": payer, "transaction": transaction}
    if reason:
        told["errorReason"] = reason
    second = _encoded({**told, "network": network.id}).encode()
    first = _encoded({**told, "network": network.name}).encode()
    return [(b"payment-response", second), (b"x-payment-response", first)]


def _encoded(value: Any) -> str:
    return b64encode(msgspec.json.encode(value)).decode()


def _decoded(header: str) -> _Wire:
    if len(header) > MAX_PAYMENT_CHARS:
        raise Malformed(f"it has more than {MAX_PAYMENT_CHARS:,} characters")
    try:
        return msgspec.json.decode(b64decode(header, validate=True), type=_Wire)
    except (binascii.Error, ValueError, RecursionError):
        raise Malformed("it is not the base64 of a payment in JSON") from None


def _authorization(payload: Mapping[str, Any]) -> Authorization:
    try:
        found = msgspec.convert(payload.get("authorization"), Authorization)
    except msgspec.ValidationError:
        raise Malformed("there is no EIP-3009 authorization in it") from None
    numbers = (found.value, found.valid_after, found.valid_before)
    if not all(text.isascii() and text.isdigit() and len(text) < 79 for text in numbers):
        raise Malformed("the numbers of its authorization are not decimal")
    return found


def _evm_key(authorization: Authorization) -> tuple[str, str]:
    payer, nonce = authorization.from_.lower(), authorization.nonce.lower()
    if not _is_hex(payer, 20) or not _is_hex(nonce, 32):
        raise Malformed("its payer or nonce is not hexadecimal of the right length")
    return payer, nonce


def _solana_key(payload: Mapping[str, Any]) -> tuple[str, str]:
    try:
        signed = solana.read_signatures(b64decode(str(payload.get("transaction")), validate=True))
    except ValueError:
        raise Malformed("there is no Solana transaction in it") from None
    return signed.signers[-1], signed.digest


def _identifier(extensions: Mapping[str, Any]) -> str:
    said = extensions.get(IDENTIFIER)
    info = said.get("info") if isinstance(said, dict) else None
    found = info.get("id") if isinstance(info, dict) else None
    if found is None:
        return ""
    plain = isinstance(found, str) and found.isascii() and found.replace("-", "").replace("_", "").isalnum()
    if not plain or len(found) not in IDENTIFIER_LENGTHS:
        raise Malformed("its payment-identifier is not 16 to 128 letters, digits, - and _")
    return str(found)


def _is_hex(text: str, length: int) -> bool:
    digits = text.removeprefix("0x")
    return len(text) == 2 + 2 * length and text[:2] == "0x" and all(d in "0123456789abcdef" for d in digits)


def is_same_address(one: str, other: str) -> bool:
    """Addresses of EVM chains are written in either case."""
    return one == other or (one[:2] == "0x" and one.lower() == other.lower())
