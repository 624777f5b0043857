"""Payments for tools, as x402 does them over MCP: in `_meta` of the request and of the result.

A tool that is not paid for answers with the terms, in one of two forms: as the result of the tool, which
every client can read, or as the result type of the extension `org.x402/payment`, for clients of 2026-07-28
that announce it.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gossamer.doors.mcp.identity import PAYMENT

PAID_WITH: Final = "x402/payment"
RECEIPT: Final = "x402/payment-response"
_HEADERS: Final = {1: "x-payment", 2: "payment-signature"}
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"


def resource_of(tool: str) -> str:
    """The address under which a tool is bought."""
    return f"mcp://tool/{tool}"


def payment_headers(meta: Mapping[str, Any]) -> dict[str, str]:
    """The payment of a call, as the API takes it. What is no payment is refused there."""
    sent = meta.get(PAID_WITH)
    if sent is None:
        return {}
    version = sent.get("x402Version") if isinstance(sent, dict) else None
    name = _HEADERS.get(version if isinstance(version, int) else 2, _HEADERS[2])
    return {name: base64.b64encode(msgspec.json.encode(sent)).decode()}


def is_announced(meta: Mapping[str, Any]) -> bool:
    """Whether the client takes the extension's form."""
    capabilities = meta.get(_CAPABILITIES)
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return isinstance(extensions, dict) and PAYMENT in extensions


def ask_for_payment(terms: dict[str, Any], *, as_extension: bool) -> dict[str, Any]:
    """The result of a tool that is not paid for."""
    if as_extension:
        return {"resultType": "payment_required", "paymentRequired": terms}
    words = msgspec.json.encode(terms).decode()
    return {"content": [{"type": "text", "text": words}], "isError": True, "structuredContent": terms}


def with_receipt(result: dict[str, Any], receipt: str | None) -> dict[str, Any]:
    decoded = decode_header(receipt)
    return result if decoded is None else {**result, "_meta": {RECEIPT: decoded}}


def decode_header(header: str | None) -> dict[str, Any] | None:
    """The JSON of a payment header."""
    if header is None:
        return None
    try:
        decoded = msgspec.json.decode(base64.b64decode(header))
    except (binascii.Error, msgspec.DecodeError):
        return None
    return decoded if isinstance(decoded, dict) else None
