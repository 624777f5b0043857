"""What can go wrong in a call of the library.

    GossamerError           the server refused or failed; `code` says why
    ├── PaymentRequired     402: the call must be paid for, and was not
    ├── RateLimited         429: too many calls, or too much of something; `retry_after` says how long to wait
    └── ConnectionFailed    no answer: the server is not there, the connection broke, or time was up

The server's error is an RFC 9457 problem document. Its page lists causes and fixes: `docs_url`.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gossamer.client.transport import Reply

CONNECTION_FAILED: Final = "CONNECTION_FAILED"
UNREADABLE_ANSWER: Final = "UNREADABLE_ANSWER"


class GossamerError(Exception):
    """A call that did not succeed."""

    def __init__(
        self,
        detail: str,
        *,
        code: str,
        status: int = 0,
        hint: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
        docs_url: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code  # such as FETCH_TIMEOUT
        self.status = status  # of the answer; 0 if there was none
        self.detail = detail
        self.hint = hint
        self.request_id = request_id  # for the server's operator, who finds it in the log
        self.retry_after = retry_after  # seconds
        self.details = dict(details or {})
        self.docs_url = docs_url

    def __str__(self) -> str:
        sentence = self.detail if self.detail.endswith((".", "?", "!")) else f"{self.detail}."
        return f"{self.code}: {sentence} {self.hint}" if self.hint else f"{self.code}: {sentence}"

    @property
    def reason(self) -> str | None:
        """`details.reason`: the precise reason, if there is one."""
        reason = self.details.get("reason")
        return None if reason is None else str(reason)


class PaymentRequired(GossamerError):
    """The call costs money. `offer` is what the server asks for, as x402 encodes it."""

    offer: str | None = None


class RateLimited(GossamerError):
    """There were too many calls, or there is too much of something already."""


class ConnectionFailed(GossamerError):
    """There was no answer. A call that changes something may have happened."""

    def __init__(self, detail: str, hint: str | None = None) -> None:
        super().__init__(detail, code=CONNECTION_FAILED, hint=hint)


_CLASSES: Final[Mapping[int, type[GossamerError]]] = {402: PaymentRequired, 429: RateLimited}


def raise_for(reply: Reply) -> None:
    """Raise the error of an answer that is one."""
    if reply.status >= 400:
        raise error_of(reply)


def error_of(reply: Reply) -> GossamerError:
    document = _document(reply.body)
    error = _CLASSES.get(reply.status, GossamerError)(
        str(document.get("detail") or f"The server answered with status {reply.status}"),
        code=str(document.get("code") or f"HTTP_{reply.status}"),
        status=reply.status,
        hint=document.get("hint"),
        request_id=document.get("requestId") or reply.headers.get("x-request-id"),
        retry_after=_seconds(reply.headers.get("retry-after")) or _seconds(document.get("retryAfter")),
        details=document.get("details"),
        docs_url=document.get("docsUrl"),
    )
    if isinstance(error, PaymentRequired):
        error.offer = reply.headers.get("payment-required")
    return error


def unreadable(reply: Reply, why: str) -> GossamerError:
    return GossamerError(
        f"The server's answer is not understood: {why}",
        code=UNREADABLE_ANSWER,
        status=reply.status,
        hint="Is the address that of a Gossamer server, and is the server as new as this library?",
        request_id=reply.headers.get("x-request-id"),
    )


def _document(body: bytes) -> dict[str, Any]:
    """The problem document; empty if it is something else, as from a proxy in between."""
    try:
        document = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return document if isinstance(document.get("code"), str) else {}


def _seconds(value: Any) -> float | None:
    try:
        return max(0.0, float(value))
    except (TypeError, ValueError):
        return None
