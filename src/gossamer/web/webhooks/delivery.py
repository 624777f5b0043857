"""Deliveries as callers see them: what was sent, what was answered, and sending it again."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from gossamer.web.webhooks.attempt import AttemptReason, DeliveryState


class ShownAttempt(Struct, frozen=True, kw_only=True, rename="camel"):
    """One attempt to deliver an event."""

    at: str
    reason: AttemptReason
    detail: str
    duration_ms: int
    status: Annotated[int | None, Meta(description="Of the answer, if there was one.")] = None
    answer: Annotated[str, Meta(description="The beginning of the answer, without secrets.")] = ""

    @property
    def is_good(self) -> bool:
        return self.reason.is_good


class ShownDelivery(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event on its way to an endpoint."""

    id: Annotated[str, Meta(description="Sent as `webhook-id`; every attempt has the same.")]
    webhook_id: Annotated[str, Meta(description="The endpoint.")]
    type: str
    subject: Annotated[str, Meta(description="The id of what it is about.")]
    state: DeliveryState
    reason: Annotated[
        AttemptReason | None, Meta(description="Why it is not delivered yet, or was given up.")
    ] = None
    created_at: str
    next_attempt_at: str | None = None
    delivered_at: str | None = None
    attempts: list[ShownAttempt]


class DeliveryDetail(ShownDelivery, frozen=True, kw_only=True, rename="camel"):
    """A delivery with what is sent."""

    body: Annotated[str | None, Meta(description="`null` if what it is about is gone.")]


class DeliveryList(Struct, frozen=True, rename="camel"):
    deliveries: list[ShownDelivery]
    next_cursor: str | None


class ResendRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which events that were given up to send again."""

    since: Annotated[
        Annotated[datetime, Meta(tz=True)] | None,
        Meta(description="Those that happened since then; by default all."),
    ] = None


class ResentDeliveries(Struct, frozen=True, rename="camel"):
    resent: Annotated[int, Meta(description="How many; at most 1,000. Ask again for the rest.")]
