"""Sending: one attempt at one delivery, and what became of it."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from gossamer import problems
from gossamer.flows.webhooks import signing
from gossamer.flows.webhooks.composing import Composer, OutgoingWebhook
from gossamer.observe.logs import Log
from gossamer.observe.redaction import REDACTED, redact
from gossamer.problems import Problem
from gossamer.reach.http.post import PostAnswer, PostClient
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.state.webhooks.deliveries import WebhookDelivery
from gossamer.web.webhooks.attempt import AttemptReason, DeliveryAttempt

MAX_ANSWER_CHARS: Final = 500
MIN_HIDDEN_CHARS: Final = 4  # shorter values hide nothing, and would tear up every text
_GONE: Final = 410
_FORBIDDEN: Final = frozenset({FetchReason.HOSTNAME_BLOCKED, FetchReason.PORT_BLOCKED})
_TIMEOUTS: Final = frozenset(
    {
        FetchReason.DNS_TIMEOUT,
        FetchReason.CONNECT_TIMEOUT,
        FetchReason.TLS_TIMEOUT,
        FetchReason.FIRST_BYTE_TIMEOUT,
        FetchReason.TOO_SLOW,
        FetchReason.WHOLE_TIMEOUT,
    }
)


class WebhookSender(Struct, frozen=True):
    client: PostClient
    secrets: Mapping[str, str]  # of senders that settings know
    composer: Composer
    log: Log
    clock: Callable[[], float] = time.time

    async def send(self, delivery: WebhookDelivery, *, though_disabled: bool = False) -> DeliveryAttempt:
        """Raises nothing that one delivery could cause."""
        started = self.clock()
        try:
            made = await self._try(delivery, int(started), though_disabled=though_disabled)
        except Problem as problem:
            made = _failed(problem)
        except Exception as error:  # noqa: BLE001  (a defect that one event reveals must not stop the others)
            self.log.error("webhook_defect", "a webhook could not be written", cause=error)
            made = _Made(AttemptReason.DEFECT, "it could not be written")
        return DeliveryAttempt(
            at=round(started * 1000),
            reason=made.reason,
            detail=made.detail,
            duration_ms=max(0, round((self.clock() - started) * 1000)),
            status=made.answer.status if made.answer else None,
            answer=made.shown,
            retry_after=made.answer.retry_after if made.answer else None,
        )

    async def _try(self, delivery: WebhookDelivery, timestamp: int, *, though_disabled: bool) -> "_Made":
        if delivery.url:
            secret = self.secrets.get(delivery.sender, "")
            signed = signing.headers([secret] if secret else [], delivery.id, timestamp, delivery.body)
            return await self._post(OutgoingWebhook(delivery.url, signed, delivery.body))
        endpoint = await self.composer.find(delivery)
        if endpoint is None:
            return _Made(AttemptReason.DEFECT, "its endpoint is not known")
        if endpoint.disabled_at is not None and not though_disabled:
            return _Made(AttemptReason.DISABLED, "its endpoint is disabled")
        outgoing = await self.composer.compose(delivery, endpoint, timestamp)
        if outgoing is None:
            return _Made(AttemptReason.NOTHING_TO_TELL)
        return await self._post(outgoing)

    async def _post(self, outgoing: OutgoingWebhook) -> "_Made":
        answer = await self.client.post(outgoing.url, outgoing.headers, outgoing.body.encode())
        shown = _show(answer.beginning, outgoing.hidden)
        if 200 <= answer.status < 300:
            return _Made(AttemptReason.DELIVERED, "", answer, shown)
        reason = AttemptReason.GONE if answer.status == _GONE else AttemptReason.STATUS
        return _Made(reason, f"the receiver answered {answer.status}", answer, shown)


class _Made(Struct, frozen=True):
    reason: AttemptReason
    detail: str = ""
    answer: PostAnswer | None = None
    shown: str = ""


def _failed(problem: Problem) -> _Made:
    reason = AttemptReason.UNREACHABLE
    if problem.kind is problems.INVALID_URL or problem.reason in _FORBIDDEN:
        reason = AttemptReason.FORBIDDEN
    elif problem.kind is problems.FETCH_TIMEOUT or problem.reason in _TIMEOUTS:
        reason = AttemptReason.TIMEOUT
    return _Made(reason, problem.reason or problem.detail)


def _show(body: bytes, hidden: tuple[str, ...]) -> str:
    """The beginning of an answer for people: without what we sent in confidence, without secrets, bounded."""
    text = body.decode("utf-8", "replace").replace("\0", "\\0")
    for value in sorted(hidden, key=len, reverse=True):
        if len(value) >= MIN_HIDDEN_CHARS:
            text = text.replace(value, REDACTED)
    text = redact(text)
    return text if len(text) <= MAX_ANSWER_CHARS else text[: MAX_ANSWER_CHARS - 1] + "…"
