"""Paying: pays for calls that cost money, within limits, with x402.

A server answers an unpaid call with 402 and the header PAYMENT-REQUIRED. The payer signs one of the offers,
and the call is sent again with the header PAYMENT-SIGNATURE. Both are JSON in base64.
"""

import base64
import binascii
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.client.errors import GossamerError, PaymentRequired
from gossamer.client.transport import Call, Reply, StreamedReply, Transport

if TYPE_CHECKING:
    from x402 import x402Client

OFFER: Final = "payment-required"
SIGNATURE: Final = "PAYMENT-SIGNATURE"
RECEIPT: Final = "payment-response"
LIMIT_REACHED: Final = "SPENDING_LIMIT_REACHED"
MAX_PER_CALL: Final = 100_000  # millionths of a dollar: ten cents
MAX_IN_TOTAL: Final = 1_000_000  # one dollar


class Payer(Protocol):
    """A wallet."""

    async def pay(self, offer: str) -> str:
        """The value of PAYMENT-SIGNATURE for the value of PAYMENT-REQUIRED."""


class Spending(Struct):
    """What may be spent, and what was, in the smallest unit of the asset: USDC has six decimals."""

    max_per_call: int = MAX_PER_CALL
    max_in_total: int = MAX_IN_TOTAL
    spent: int = 0

    def reserve(self, amount: int) -> None:
        """Raise an error if the amount exceeds a limit. What is reserved is spent, until it is released."""
        if amount > self.max_per_call:
            raise _too_much(f"The call costs {amount}; at most {self.max_per_call} may be paid for one call")
        if self.spent + amount > self.max_in_total:
            raise _too_much(
                f"The call costs {amount}, and {self.spent} of at most {self.max_in_total} was spent already"
            )
        self.spent += amount

    def release(self, amount: int) -> None:
        self.spent -= amount


class Paying(Struct):
    """A transport whose calls are paid for. The attempts at a call share one payment."""

    transport: Transport
    payer: Payer
    spending: Spending = field(default_factory=Spending)

    async def send(self, call: Call) -> Reply:
        reply = await self.transport.send(call)
        offer = reply.headers.get(OFFER)
        if reply.status != 402 or offer is None:
            return reply
        signature = await self.payer.pay(offer)
        amount = signed_amount(signature)
        self.spending.reserve(amount)
        paid = await self.transport.send(replace(call, headers={**call.headers, SIGNATURE: signature}))
        if paid.status == 402 or (paid.status >= 400 and RECEIPT not in paid.headers):
            self.spending.release(amount)  # an answer that is an error is not charged
        return paid

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamedReply]:
        """Streams are the results of work that was paid for when it began."""
        async with self.transport.stream(call) as streamed:
            yield streamed

    async def close(self) -> None:
        await self.transport.close()


class X402Payer(Struct, frozen=True):
    """Pays with the client of the package `x402`, which has the wallet and chooses among the offers."""

    client: "x402Client"

    async def pay(self, offer: str) -> str:
        from x402 import PaymentError
        from x402.http.utils import decode_payment_required_header, encode_payment_signature_header

        try:
            payload = await self.client.create_payment_payload(decode_payment_required_header(offer))
        except PaymentError as error:
            raise PaymentRequired(
                f"The wallet pays none of the offers ({error})", code="PAYMENT_REQUIRED", status=402
            ) from error
        return encode_payment_signature_header(payload)


def signed_amount(signature: str) -> int:
    """What a payment commits to: the amount of the offer that it accepts."""
    try:
        payment: dict[str, Any] = msgspec.json.decode(base64.b64decode(signature, validate=True))
        return int(payment["accepted"]["amount"])
    except (binascii.Error, msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise GossamerError("The payer made no payment of x402 version 2", code="PAYMENT_INVALID") from error


def _too_much(detail: str) -> PaymentRequired:
    return PaymentRequired(
        detail, code=LIMIT_REACHED, status=402, hint="Nothing was paid. Raise the limit if this is intended."
    )
