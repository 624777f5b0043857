"""Webhooks and their deliveries."""

from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import EndpointGroup
from gossamer.doors.http.api.webhooks.deliveries import DeliveriesEndpoints
from gossamer.doors.http.api.webhooks.webhook_secret import WebhookSecretEndpoints
from gossamer.doors.http.api.webhooks.webhooks import WebhooksEndpoints

if TYPE_CHECKING:
    from gossamer.app import Service


class WebhookApi(EndpointGroup):
    def __init__(self, service: "Service") -> None:
        self.webhook_secret = WebhookSecretEndpoints(service.webhook_keys)
        self.webhooks = WebhooksEndpoints(service.webhook_registry)
        self.deliveries = DeliveriesEndpoints(service.webhook_registry)
