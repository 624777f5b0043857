"""The secret that signs the webhooks of a caller's crawls and batches."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.webhooks.webhook_keys import WebhookKeys, owner_of
from gossamer.state.tenants.tenants import Role

EXAMPLE_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105


class WebhookSecret(msgspec.Struct, frozen=True):
    """What receivers verify webhooks with."""

    secret: Annotated[str, Meta(description="The same for all crawls and batches of your tenant.")]


@dataclass(frozen=True, slots=True)
class WebhookSecretEndpoints:
    keys: WebhookKeys

    async def get_webhook_secret(self, exchange: Exchange) -> WebhookSecret:
        return WebhookSecret(await self.keys.secret_of(owner_of(exchange.caller)))

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/webhook-secret",
                handler=self.get_webhook_secret,
                needs=Role.USER,
                tag="Keys",
                summary="Show the secret that signs your webhooks",
                description="Events of crawls and batches are signed with it, as Standard Webhooks say.",
                example=WebhookSecret(EXAMPLE_SECRET),
            )
        ]
