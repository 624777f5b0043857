"""Endpoints that callers register to be told of everything of their own."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.web.webhooks.attempt import DisabledReason
from gossamer.web.webhooks.event_type import EVERYTHING, check_patterns
from gossamer.web.webhooks.webhook import check_headers

MAX_OLD_SECRET_SECONDS: Final = 30 * 86_400
DAY_SECONDS: Final = 86_400

EndpointUrl = Annotated[
    str, Meta(min_length=1, max_length=2_048, description="Events are posted here. It must be public.")
]
EndpointEvents = Annotated[
    tuple[str, ...],
    Meta(
        min_length=1,
        max_length=50,
        description="Types such as `crawl.completed`, groups such as `crawl.*`, or `*` for everything.",
    ),
]
EndpointDescription = Annotated[str, Meta(max_length=500, description="A note for people.")]
EndpointHeaders = Annotated[
    dict[str, str], Meta(max_length=20, description="Headers to send along; their values are never shown.")
]


class NewWebhook(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An address that is to be told of your events."""

    url: EndpointUrl
    events: EndpointEvents = (EVERYTHING,)
    description: EndpointDescription = ""
    headers: EndpointHeaders = {}

    def check(self) -> None:
        """Raises `Problem` for events that do not exist, and headers that cannot be sent."""
        check_patterns(self.events, field="events")
        check_headers(self.headers, field="headers")

    def __repr__(self) -> str:
        """Header values may be secret, and so may the address."""
        return f"{type(self).__name__}(events={self.events!r}, headers={list(self.headers)!r})"


class WebhookChange(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What is left out stays as it is."""

    url: EndpointUrl | UnsetType = UNSET
    events: EndpointEvents | UnsetType = UNSET
    description: EndpointDescription | UnsetType = UNSET
    headers: Annotated[
        dict[str, str] | UnsetType, Meta(description="All of them; those before are forgotten.")
    ] = UNSET
    enabled: Annotated[
        bool | UnsetType, Meta(description="False: nothing is sent, and nothing is kept for later.")
    ] = UNSET

    def check(self) -> None:
        check_patterns(self.events or (), field="events")
        check_headers(self.headers or {}, field="headers")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(events={self.events!r}, enabled={self.enabled!r})"


class SecretRotation(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How to replace a secret."""

    old_secret_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_OLD_SECRET_SECONDS,
            description="For so long the old secret signs beside the new one, so receivers can change over.",
        ),
    ] = DAY_SECONDS


class ShownWebhook(Struct, frozen=True, kw_only=True, rename="camel"):
    """An endpoint."""

    id: str
    tenant_id: str
    url: str
    events: tuple[str, ...]
    description: str
    header_names: Annotated[tuple[str, ...], Meta(description="Of the headers that are sent along.")]
    hears_operator_events: Annotated[
        bool, Meta(description="An admin registered it, so it hears of alerts and payments too.")
    ]
    created_at: str
    updated_at: str
    delivered_at: Annotated[str | None, Meta(description="The last time that an event was heard.")] = None
    failing_since: Annotated[str | None, Meta(description="Everything has failed since then.")] = None
    held_until: Annotated[
        str | None, Meta(description="Nothing is sent until then, because the receiver failed.")
    ] = None
    old_secret_until: Annotated[str | None, Meta(description="Until then an old secret signs too.")] = None
    disabled_at: str | None = None
    disabled_reason: Annotated[
        DisabledReason | None,
        Meta(description="`asked` by you, `gone` by the receiver's 410, or `failing` for three days."),
    ] = None

    @property
    def is_enabled(self) -> bool:
        return self.disabled_at is None


class CreatedWebhook(ShownWebhook, frozen=True, kw_only=True, rename="camel"):
    """An endpoint with its secret."""

    secret: Annotated[str, Meta(description="Signs the events, as Standard Webhooks say.")]


class WebhookSecret(Struct, frozen=True):
    """What receivers verify webhooks with."""

    secret: Annotated[str, Meta(description="Receivers verify the signature with it.")]


class WebhookList(Struct, frozen=True, rename="camel"):
    webhooks: list[ShownWebhook]
    next_cursor: str | None


class EventDescription(Struct, frozen=True, rename="camel"):
    """A type of event."""

    type: str
    about: str
    for_operators: Annotated[bool, Meta(description="Only endpoints of admins hear of it.")]


class EventTypeList(Struct, frozen=True, rename="camel"):
    types: list[EventDescription]
