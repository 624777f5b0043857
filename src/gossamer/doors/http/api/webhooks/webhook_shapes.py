"""Webhooks and deliveries as the API shows them."""

from typing import Any, Final

from gossamer.doors.http.core.timestamps import from_ms
from gossamer.state.webhooks.delivery_log import LoggedDelivery
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.web.webhooks.attempt import AttemptReason, DeliveryAttempt, DeliveryState
from gossamer.web.webhooks.delivery import DeliveryDetail, ShownAttempt, ShownDelivery
from gossamer.web.webhooks.endpoint import CreatedWebhook, ShownWebhook

EXAMPLE_SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105
_TIME: Final = "2026-01-01T12:00:00.000Z"

_EXAMPLE: Final[dict[str, Any]] = {
    "id": "01JGGR2Z3W8Q4T6V9X0Y1B2C3D",
    "tenant_id": "01JGGQ0000000000000000000A",
    "url": "https://example.com/hooks/gossamer",
    "events": ("crawl.*", "batch.completed"),
    "description": "our queue",
    "header_names": ("Authorization",),
    "hears_operator_events": False,
    "created_at": _TIME,
    "updated_at": _TIME,
}
EXAMPLE_WEBHOOK: Final = ShownWebhook(**_EXAMPLE)
EXAMPLE_CREATED: Final = CreatedWebhook(**_EXAMPLE, secret=EXAMPLE_SECRET)
_EXAMPLE_DELIVERY: Final[dict[str, Any]] = {
    "id": "01JGGR9ZKQ0000000000000000",
    "webhook_id": EXAMPLE_WEBHOOK.id,
    "type": "crawl.completed",
    "subject": "01JGGR2Z3W8Q4T6V9X0Y1B2C3E",
    "state": DeliveryState.WAITING,
    "reason": AttemptReason.STATUS,
    "created_at": _TIME,
    "next_attempt_at": "2026-01-01T12:00:05.310Z",
    "attempts": [
        ShownAttempt(
            at="2026-01-01T12:00:00.250Z",
            reason=AttemptReason.STATUS,
            detail="the receiver answered 503",
            duration_ms=58,
            status=503,
            answer="back soon",
        )
    ],
}
EXAMPLE_DELIVERY: Final = ShownDelivery(**_EXAMPLE_DELIVERY)
EXAMPLE_DETAIL: Final = DeliveryDetail(
    **_EXAMPLE_DELIVERY,
    body='{"type":"crawl.completed","timestamp":"2026-01-01T12:00:00.000Z","data":{"id":"01JG…","metadata":{}}}',
)
EXAMPLE_TEST: Final = ShownDelivery(
    id="01JGGR9ZKR0000000000000000",
    webhook_id=EXAMPLE_WEBHOOK.id,
    type="webhook.test",
    subject=EXAMPLE_WEBHOOK.id,
    state=DeliveryState.DELIVERED,
    created_at=_TIME,
    delivered_at="2026-01-01T12:00:00.090Z",
    attempts=[
        ShownAttempt(
            at=_TIME, reason=AttemptReason.DELIVERED, detail="", duration_ms=41, status=200, answer="ok"
        )
    ],
)


def to_webhook(endpoint: WebhookEndpoint, header_names: tuple[str, ...]) -> ShownWebhook:
    return ShownWebhook(**_fields(endpoint, header_names))


def to_created(endpoint: WebhookEndpoint, header_names: tuple[str, ...], secret: str) -> CreatedWebhook:
    return CreatedWebhook(**_fields(endpoint, header_names), secret=secret)


def _fields(endpoint: WebhookEndpoint, header_names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id": endpoint.id,
        "tenant_id": endpoint.tenant_id,
        "url": endpoint.url,
        "events": endpoint.events,
        "description": endpoint.description,
        "header_names": header_names,
        "hears_operator_events": endpoint.for_operators,
        "created_at": from_ms(endpoint.created_at),
        "updated_at": from_ms(endpoint.updated_at),
        "delivered_at": from_ms(endpoint.delivered_at),
        "failing_since": from_ms(endpoint.failing_since),
        "held_until": from_ms(endpoint.held_until),
        "old_secret_until": from_ms(endpoint.old_secret_until),
        "disabled_at": from_ms(endpoint.disabled_at),
        "disabled_reason": endpoint.disabled_reason,
    }


def to_delivery(logged: LoggedDelivery) -> ShownDelivery:
    return ShownDelivery(**_delivery_fields(logged))


def to_detail(logged: LoggedDelivery, body: str | None) -> DeliveryDetail:
    return DeliveryDetail(**_delivery_fields(logged), body=body)


def _delivery_fields(logged: LoggedDelivery) -> dict[str, Any]:
    return {
        "id": logged.id,
        "webhook_id": logged.endpoint_id,
        "type": logged.event,
        "subject": logged.subject,
        "state": logged.state,
        "reason": logged.failure,
        "created_at": from_ms(logged.created_at),
        "next_attempt_at": from_ms(logged.due_at),
        "delivered_at": from_ms(logged.delivered_at),
        "attempts": [_to_attempt(made) for made in logged.attempts],
    }


def _to_attempt(made: DeliveryAttempt) -> ShownAttempt:
    return ShownAttempt(
        at=from_ms(made.at),
        reason=made.reason,
        detail=made.detail,
        duration_ms=made.duration_ms,
        status=made.status,
        answer=made.answer,
    )
