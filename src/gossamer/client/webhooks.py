"""The calls of the library about webhooks."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar, Unpack
from urllib.parse import quote, urlencode

from gossamer.client.options import NewWebhookKeywords, WebhookChangeKeywords, body_of
from gossamer.client.transport import Reply
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

T = TypeVar("T")


class WebhookCalls:
    """A part of `Client`."""

    async def ask(self, method: str, path: str, answers: type[T], body: Any = None) -> T:
        raise NotImplementedError

    async def send(
        self, method: str, path: str, body: Any = None, *, accept: str = "application/json"
    ) -> Reply:
        raise NotImplementedError

    async def webhooks(self, *, limit: int = 100) -> list[ShownWebhook]:
        """Your webhooks, the newest first."""
        found: list[ShownWebhook] = []
        query: dict[str, str] = {}
        while len(found) < limit:
            query["limit"] = str(min(limit - len(found), 100))
            page = await self.ask("GET", f"/api/webhooks?{urlencode(query)}", WebhookList)
            found += page.webhooks
            if page.next_cursor is None:
                break
            query["cursor"] = page.next_cursor
        return found

    async def webhook(self, id: str) -> ShownWebhook:  # noqa: A002
        return await self.ask("GET", _path(id), ShownWebhook)

    async def add_webhook(self, url: str, **options: Unpack[NewWebhookKeywords]) -> CreatedWebhook:
        """Register an address. The answer has the secret that signs what is sent there."""
        body = {"url": url, **body_of("add_webhook", NewWebhookKeywords, options)}
        return await self.ask("POST", "/api/webhooks", CreatedWebhook, body)

    async def change_webhook(
        self,
        id: str,  # noqa: A002
        **options: Unpack[WebhookChangeKeywords],
    ) -> ShownWebhook:
        """What is left out stays as it is; `enabled=False` lets it hear nothing."""
        body = body_of("change_webhook", WebhookChangeKeywords, options)
        return await self.ask("PATCH", _path(id), ShownWebhook, body)

    async def remove_webhook(self, id: str) -> None:  # noqa: A002
        """With the log of its deliveries."""
        await self.send("DELETE", _path(id))

    async def webhook_secret(self, id: str) -> str:  # noqa: A002
        return (await self.ask("GET", f"{_path(id)}/secret", WebhookSecret)).secret

    async def rotate_webhook(self, id: str, *, old_secret_seconds: int = DAY_SECONDS) -> CreatedWebhook:  # noqa: A002
        """Replace the secret; for so long the old one signs too."""
        body = {"oldSecretSeconds": old_secret_seconds}
        return await self.ask("POST", f"{_path(id)}/rotate", CreatedWebhook, body)

    async def test_webhook(self, id: str) -> ShownDelivery:  # noqa: A002
        """Send a test event, and return what the receiver said."""
        return await self.ask("POST", f"{_path(id)}/test", ShownDelivery)

    async def webhook_events(self) -> Sequence[EventDescription]:
        """The types of events."""
        return (await self.ask("GET", "/api/webhooks/events", EventTypeList)).types

    async def webhook_deliveries(
        self,
        id: str | None = None,  # noqa: A002
        *,
        state: DeliveryState | None = None,
        limit: int = 50,
    ) -> list[ShownDelivery]:
        """What a webhook was sent, or all of them; the newest first, 100 at most."""
        query = {"limit": str(limit), **({} if state is None else {"state": state.value})}
        where = "/api/webhooks" if id is None else _path(id)
        return (await self.ask("GET", f"{where}/deliveries?{urlencode(query)}", DeliveryList)).deliveries

    async def webhook_delivery(self, id: str, delivery: str) -> DeliveryDetail:  # noqa: A002
        return await self.ask("GET", _delivery(id, delivery), DeliveryDetail)

    async def retry_webhook_delivery(self, id: str, delivery: str) -> ShownDelivery:  # noqa: A002
        """Send one again, under the same id."""
        return await self.ask("POST", f"{_delivery(id, delivery)}/retry", ShownDelivery)

    async def retry_webhook(self, id: str, *, since: datetime | None = None) -> int:  # noqa: A002
        """Send again what was given up since then; returns how many."""
        body = {} if since is None else {"since": since}
        return (await self.ask("POST", f"{_path(id)}/retry", ResentDeliveries, body)).resent


def _path(webhook: str) -> str:
    return f"/api/webhooks/{quote(webhook, safe='')}"


def _delivery(webhook: str, delivery: str) -> str:
    return f"{_path(webhook)}/deliveries/{quote(delivery, safe='')}"
