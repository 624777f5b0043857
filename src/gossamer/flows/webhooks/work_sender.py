"""The sender of events of crawls and batches: looks up whom they are for, writes and signs them.

An event is stored once, in few words. What a receiver gets is written from it when it is sent, in the shape
that the subscription asks for; documents are read then, and not stored twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec import UNSET

from gossamer.flows.webhooks import signing
from gossamer.flows.webhooks.webhook_keys import WebhookKeys
from gossamer.state.db.database import Database
from gossamer.state.operations import subscriptions
from gossamer.state.operations.subscriptions import Subscription
from gossamer.state.operations.webhook_deliveries import WebhookDelivery
from gossamer.web.outcome.webhook import (
    EventPage,
    LongWork,
    StoredEvent,
    ToldPage,
    ToldWork,
    WorkEvent,
    WorkEventBody,
)
from gossamer.web.pages.timestamps import iso

_event: msgspec.json.Decoder[StoredEvent] = msgspec.json.Decoder(StoredEvent)


@dataclass(frozen=True, slots=True)
class OutgoingWebhook:
    url: str
    headers: Mapping[str, str]
    body: str


class EventShape(Protocol):
    """How events are written for receivers of one kind."""

    async def encode(self, delivery: WebhookDelivery, to: Subscription, event: StoredEvent) -> str | None:
        """None: there is nothing to tell such a receiver."""

    def sign(self, secret: str, body: str) -> Mapping[str, str]:
        """Headers beside those of Standard Webhooks."""


@dataclass(frozen=True, slots=True)
class WorkSender:
    database: Database
    keys: WebhookKeys
    shapes: Mapping[str, EventShape]

    async def compose(self, delivery: WebhookDelivery, timestamp: int) -> OutgoingWebhook | None:
        """None: there is nothing to send, because the work is deleted, or the receiver expects nothing."""
        async with self.database.read() as connection:
            to = await subscriptions.get(connection, delivery.sender)
        if to is None:
            return None
        shape = self.shapes[to.shape.partition("-")[0]]
        body = await shape.encode(delivery, to, _event.decode(delivery.body))
        if body is None:
            return None
        secret = await self.keys.secret_of(to.owner)
        signed = signing.headers(secret, delivery.id, timestamp, body)
        given = await self.keys.open(to.owner, to.headers_sealed)
        own = {name.lower(): value for name, value in given.items()}
        return OutgoingWebhook(to.url, {**own, **shape.sign(secret, body), **signed}, body)


@dataclass(frozen=True, slots=True)
class NativeEvents:
    """Events in our own words: which pages have a result, and where to get it."""

    public_url: str

    async def encode(self, delivery: WebhookDelivery, to: Subscription, event: StoredEvent) -> str | None:
        status, results = self._urls(to)
        pages = tuple(ToldPage(page.id, page.url, page.ok, self._result(to, page)) for page in event.pages)
        work = ToldWork(
            id=to.work_id,
            status_url=status,
            results_url=results,
            pages=pages if event.event is WorkEvent.PAGE else UNSET,
            error=event.error or UNSET,
            metadata=to.metadata,
        )
        body = WorkEventBody(delivery.event, iso(delivery.created_at / 1000), work)
        return msgspec.json.encode(body).decode()

    def sign(self, secret: str, body: str) -> Mapping[str, str]:
        return {}

    def _urls(self, to: Subscription) -> tuple[str, str]:
        if to.kind is LongWork.CRAWL:
            here = f"{self.public_url}/api/crawls/{to.work_id}"
            return here, f"{here}/pages"
        here = f"{self.public_url}/batch/fetch/{to.work_id}"
        return here, f"{here}/results"

    def _result(self, to: Subscription, page: EventPage) -> str:
        _, results = self._urls(to)
        if to.kind is LongWork.BATCH:
            return f"{results}?cursor={page.id}&limit=1"
        return f"{results}/{page.id}/content" if page.has_content else f"{results}/{page.id}"
