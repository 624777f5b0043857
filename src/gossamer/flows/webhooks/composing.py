"""Composing: what a receiver gets is written and signed when it is sent.

An event is stored once, in few words. It is written from that in the shape that its endpoint asks for;
documents are read then, and not stored twice.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET, Struct

from gossamer.flows.webhooks import signing
from gossamer.flows.webhooks.webhook_keys import WebhookKeys
from gossamer.state.db.database import Database
from gossamer.state.webhooks import endpoints
from gossamer.state.webhooks.deliveries import WebhookDelivery
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.web.pages.timestamps import iso
from gossamer.web.webhooks.webhook import (
    EventBody,
    EventPage,
    StoredEvent,
    ToldPage,
    ToldWork,
    WorkEvent,
)

_event: Final = msgspec.json.Decoder(StoredEvent)


class OutgoingWebhook(Struct, frozen=True):
    url: str
    headers: Mapping[str, str]
    body: str
    hidden: tuple[str, ...] = ()  # values that the receiver may repeat, and nobody is shown


class EventShape(Protocol):
    """How events are written for receivers of one kind."""

    async def encode(self, delivery: WebhookDelivery, to: WebhookEndpoint) -> str | None:
        """None: there is nothing to tell such a receiver."""

    def sign(self, secret: str, body: str) -> Mapping[str, str]:
        """Headers beside those of Standard Webhooks."""


class Composer(Struct, frozen=True):
    database: Database
    keys: WebhookKeys
    shape: Callable[[str], EventShape]  # by its name

    async def find(self, delivery: WebhookDelivery) -> WebhookEndpoint | None:
        async with self.database.read() as connection:
            return await endpoints.get(connection, delivery.sender)

    async def compose(
        self, delivery: WebhookDelivery, to: WebhookEndpoint, timestamp: int
    ) -> OutgoingWebhook | None:
        """None: there is nothing to send, because the work is deleted, or the receiver expects nothing."""
        body = await self.encode(delivery, to)
        if body is None:
            return None
        secrets = await self.keys.secrets_of(to, timestamp)
        signed = signing.headers(secrets, delivery.id, timestamp, body)
        given = await self.keys.open(to.owner, to.headers_sealed)
        own = {name.lower(): value for name, value in given.items()}
        extra = self._shape(to).sign(secrets[0], body)
        return OutgoingWebhook(to.url, {**own, **extra, **signed}, body, (*secrets, *given.values()))

    async def encode(self, delivery: WebhookDelivery, to: WebhookEndpoint) -> str | None:
        return await self._shape(to).encode(delivery, to)

    def _shape(self, to: WebhookEndpoint) -> EventShape:
        return self.shape(to.shape.partition("-")[0])


# Where work shows how far it is, and its results.
_STATUS: Final = {
    "crawl": "/api/crawls/{}",
    "batch": "/batch/fetch/{}",
    "audit": "/audits/{}",
    "job": "/api/jobs/{}",
}
_RESULTS: Final = {"crawl": "/pages", "batch": "/results"}


class NativeEvents(Struct, frozen=True):
    """Events in our own words: what happened, and where to get more."""

    public_url: str

    async def encode(self, delivery: WebhookDelivery, to: WebhookEndpoint) -> str | None:
        group = delivery.event.partition(".")[0]
        data: Any = msgspec.Raw(delivery.body)
        if group in _STATUS:
            data = self._tell_work(
                group, delivery.subject or str(to.work_id), to, _event.decode(delivery.body)
            )
        body = EventBody(delivery.event, iso(delivery.created_at / 1000), data)
        return msgspec.json.encode(body).decode()

    def sign(self, secret: str, body: str) -> Mapping[str, str]:
        return {}

    def _tell_work(self, group: str, work_id: str, to: WebhookEndpoint, event: StoredEvent) -> ToldWork:
        status = self.public_url + _STATUS[group].format(work_id)
        results = status + _RESULTS[group] if group in _RESULTS else UNSET
        return ToldWork(
            id=work_id,
            status_url=status,
            results_url=results,
            pages=tuple(_tell_page(group, f"{status}{_RESULTS[group]}", page) for page in event.pages)
            if event.event is WorkEvent.PAGE
            else UNSET,
            error=event.error or UNSET,
            metadata=to.metadata,
        )


def _tell_page(group: str, results: str, page: EventPage) -> ToldPage:
    if group == "batch":
        where = f"{results}?cursor={page.id}&limit=1"
    else:
        where = f"{results}/{page.id}/content" if page.has_content else f"{results}/{page.id}"
    return ToldPage(page.id, page.url, page.ok, where, page.change or UNSET)
