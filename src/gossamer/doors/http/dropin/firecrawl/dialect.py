"""Errors and keys, as Firecrawl's clients read and send them."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.responses import Response

from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.websocket import offered_protocols, wants_websocket
from gossamer.problems import Problem

PREFIXES: Final = ("/v1", "/v2", "//v1", "//v2")  # a base URL that ends with a slash doubles it
# Its clients send a request again after a 502, so a page that cannot be had is none.
_STATUSES: Final = {"FETCH_TIMEOUT": 408, "FETCH_FAILED": 500, "RENDER_FAILED": 500}
_CODES: Final = {
    "FETCH_TIMEOUT": "SCRAPE_TIMEOUT",
    "FETCH_FAILED": "SCRAPE_SITE_ERROR",
    "RENDER_FAILED": "SCRAPE_SITE_ERROR",
    "ACTION_FAILED": "SCRAPE_ACTION_ERROR",
}
_REASON_CODES: Final = {
    "dns_not_found": "SCRAPE_DNS_RESOLUTION_ERROR",
    "dns_failed": "SCRAPE_DNS_RESOLUTION_ERROR",
    "tls_failed": "SCRAPE_SSL_ERROR",
    "tls_invalid_certificate": "SCRAPE_SSL_ERROR",
}


def refuse(problem: Problem, exchange: Exchange) -> Response:
    code = problem.kind.code
    status = _STATUSES.get(code, 500 if problem.kind.status == 502 else problem.kind.status)
    text = f"{problem.detail} {problem.hint}" if problem.hint else problem.detail
    told: dict[str, Any] = {
        **problem.members,
        "success": False,
        "error": text,
        "code": error_code(code, problem.reason),
        "requestId": exchange.request_id,
    }
    body = msgspec.json.encode(told)
    return Response(body, status, problem.headers, media_type="application/json")


def error_code(code: str, reason: str | None) -> str:
    """The code that clients have classes for, otherwise ours."""
    return _REASON_CODES.get(reason or "") or _CODES.get(code, code)


def secret(exchange: Exchange) -> str | None:
    """In a browser and in Node a WebSocket can carry no header, so the key is offered as a subprotocol."""
    if exchange.header(b"authorization") is not None or not wants_websocket(exchange):
        return None
    offered = offered_protocols(exchange)
    return offered[0] if len(offered) == 1 else None


DIALECT: Final = Dialect(
    "Firecrawl",
    refuse,
    prefixes=tuple(f"{prefix}/" for prefix in PREFIXES),
    secret=secret,
    idempotency_header=b"x-idempotency-key",
)


def succeed(value: Mapping[str, Any], warnings: list[str] | None = None) -> dict[str, Any]:
    """Its clients take an answer without `success` for an error."""
    warned = {"warning": " ".join(warnings)} if warnings else {}
    return {"success": True, **value, **warned}
