"""The calls about webhooks."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Unpack
from urllib.parse import urlencode

from gossamer.client.calls.api_calls import ApiCalls, path_below
from gossamer.client.options import NewWebhookKeywords, WebhookChangeKeywords, body_of
from gossamer.web.webhooks.attempt import DeliveryState
from gossamer.web.webhooks.delivery import (
    DeliveryDetail,
    DeliveryList,
    ResentDeliveries,
    ShownDelivery,
)
from gossamer.web.webhooks.endpoint import (
    DAY_SECONDS,
    CreatedWebhook,
    EventDescription,
    EventTypeList,
    ShownWebhook,
    WebhookList,
    WebhookSecret,
)

_HERE: Final = "/api/webhooks"


class WebhookCalls(ApiCalls):
    async def webhooks(self, *, limit: int = 100) -> list[ShownWebhook]:
        """Your webhooks, the newest first."""
        return await self.list_rows(_HERE, WebhookList, lambda page: page.webhooks, limit)

    async def webhook(self, id: str) -> ShownWebhook:  # noqa: A002
        return await self.ask("GET", path_below(_HERE, id), ShownWebhook)

    async def add_webhook(self, url: str, **options: Unpack[NewWebhookKeywords]) -> CreatedWebhook:
        """Register an address. The answer has the secret that signs what is sent there."""
        body = {"url": url, **body_of("add_webhook", NewWebhookKeywords, options)}
        return await self.ask("POST", _HERE, CreatedWebhook, body)

    async def change_webhook(
        self,
        id: str,  # noqa: A002
        **options: Unpack[WebhookChangeKeywords],
    ) -> ShownWebhook:
        """What is left out stays as it is; `enabled=False` lets it hear nothing."""
        body = body_of("change_webhook", WebhookChangeKeywords, options)
        return await self.ask("PATCH", path_below(_HERE, id), ShownWebhook, body)

    async def remove_webhook(self, id: str) -> None:  # noqa: A002
        """With the log of its deliveries."""
        await self.send("DELETE", path_below(_HERE, id))

    async def webhook_secret(self, id: str) -> str:  # noqa: A002
        return (await self.ask("GET", path_below(_HERE, id, "secret"), WebhookSecret)).secret

    async def rotate_webhook(self, id: str, *, old_secret_seconds: int = DAY_SECONDS) -> CreatedWebhook:  # noqa: A002
        """Replace the secret; for so long the old one signs too."""
        body = {"oldSecretSeconds": old_secret_seconds}
        return await self.ask("POST", path_below(_HERE, id, "rotate"), CreatedWebhook, body)

    async def test_webhook(self, id: str) -> ShownDelivery:  # noqa: A002
        """Send a test event, and return what the receiver said."""
        return await self.ask("POST", path_below(_HERE, id, "test"), ShownDelivery)

    async def webhook_events(self) -> Sequence[EventDescription]:
        """The types of events."""
        return (await self.ask("GET", f"{_HERE}/events", EventTypeList)).types

    async def webhook_deliveries(
        self,
        id: str | None = None,  # noqa: A002
        *,
        state: DeliveryState | None = None,
        limit: int = 50,
    ) -> list[ShownDelivery]:
        """What a webhook was sent, or all of them; the newest first, 100 at most."""
        query = {"limit": str(limit), **({} if state is None else {"state": state.value})}
        where = _HERE if id is None else path_below(_HERE, id)
        return (await self.ask("GET", f"{where}/deliveries?{urlencode(query)}", DeliveryList)).deliveries

    async def webhook_delivery(self, id: str, delivery: str) -> DeliveryDetail:  # noqa: A002
        return await self.ask("GET", path_below(_HERE, id, "deliveries", delivery), DeliveryDetail)

    async def retry_webhook_delivery(self, id: str, delivery: str) -> ShownDelivery:  # noqa: A002
        """Send one again, under the same id."""
        return await self.ask("POST", path_below(_HERE, id, "deliveries", delivery, "retry"), ShownDelivery)

    async def retry_webhook(self, id: str, *, since: datetime | None = None) -> int:  # noqa: A002
        """Send again what was given up since then; returns how many."""
        body = {} if since is None else {"since": since}
        return (await self.ask("POST", path_below(_HERE, id, "retry"), ResentDeliveries, body)).resent
