"""The secret that signs the webhooks that a caller's crawls and batches were asked for with."""

from msgspec import Struct

from gossamer.doors.http.api.webhooks.webhook_shapes import EXAMPLE_SECRET
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.webhooks.webhook_keys import WebhookKeys, owner_of
from gossamer.state.tenants.tenants import Role
from gossamer.web.webhooks.endpoint import WebhookSecret


class WebhookSecretEndpoints(Struct, frozen=True):
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
                tag="Webhooks",
                summary="Show the secret that signs webhooks of your work",
                description="Events of crawls and batches that were asked for with `webhook` are signed with "
                "it, as Standard Webhooks say. A webhook that was registered has a secret of its own.",
                example=WebhookSecret(EXAMPLE_SECRET),
            )
        ]
