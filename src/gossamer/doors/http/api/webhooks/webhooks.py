"""Endpoints with which callers manage their webhooks."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.webhooks.webhook_shapes import (
    EXAMPLE_CREATED,
    EXAMPLE_SECRET,
    EXAMPLE_TEST,
    EXAMPLE_WEBHOOK,
    to_created,
    to_delivery,
    to_webhook,
)
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.webhooks.registry import IssuedWebhook, WebhookRegistry
from gossamer.state.tenants.tenants import Role
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.web.webhooks.delivery import ShownDelivery
from gossamer.web.webhooks.endpoint import (
    CreatedWebhook,
    EventDescription,
    EventTypeList,
    NewWebhook,
    SecretRotation,
    ShownWebhook,
    WebhookChange,
    WebhookList,
    WebhookSecret,
)
from gossamer.web.webhooks.event_type import DESCRIPTIONS

MAX_LISTED: Final = 100
TEST_SECONDS: Final = 30.0
_ONE: Final = "/api/webhooks/{id}"


class WebhookQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which webhooks to list."""

    cursor: Annotated[
        Annotated[str, Meta(max_length=26)] | None, Meta(description="The `nextCursor` of the page before.")
    ] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Webhooks in a page.")] = 50


EVENT_TYPES: Final = EventTypeList(
    [EventDescription(each.value, about, each.is_for_operators) for each, about in DESCRIPTIONS.items()]
)


class WebhooksEndpoints(Struct, frozen=True):
    registry: WebhookRegistry

    async def list_webhooks(self, exchange: Exchange, query: WebhookQuery) -> WebhookList:
        found, cursor = await self.registry.list_page(exchange.caller, cursor=query.cursor, limit=query.limit)
        return WebhookList([await self.show(one) for one in found], cursor)

    async def create_webhook(self, exchange: Exchange, body: NewWebhook) -> Response:
        async with self.registry.creating(body, exchange.caller, exchange.actor) as (connection, issued):
            created = answer(await self.show_issued(issued), 201)
            await exchange.remember(connection, created)
        return created

    async def get_webhook(self, exchange: Exchange, id: str) -> ShownWebhook:
        return await self.show(await self.registry.get(id, exchange.caller))

    async def change_webhook(self, exchange: Exchange, id: str, body: WebhookChange) -> ShownWebhook:
        return await self.show(await self.registry.change(id, body, exchange.caller, exchange.actor))

    async def remove_webhook(self, exchange: Exchange, id: str) -> Response:
        await self.registry.remove(id, exchange.caller, exchange.actor)
        return Response(status_code=204)

    async def get_secret(self, exchange: Exchange, id: str) -> WebhookSecret:
        return WebhookSecret(await self.registry.secret_of(id, exchange.caller))

    async def rotate_secret(self, exchange: Exchange, id: str, body: SecretRotation) -> Response:
        rotating = self.registry.rotating(id, body, exchange.caller, exchange.actor)
        async with rotating as (connection, issued):
            rotated = answer(await self.show_issued(issued))
            await exchange.remember(connection, rotated)
        return rotated

    async def test_webhook(self, exchange: Exchange, id: str) -> ShownDelivery:
        return to_delivery(await self.registry.test(id, exchange.caller))

    async def list_event_types(self, exchange: Exchange) -> EventTypeList:
        return EVENT_TYPES

    async def show(self, endpoint: WebhookEndpoint) -> ShownWebhook:
        return to_webhook(endpoint, await self.registry.header_names(endpoint))

    async def show_issued(self, issued: IssuedWebhook) -> CreatedWebhook:
        names = await self.registry.header_names(issued.endpoint)
        return to_created(issued.endpoint, names, issued.secret)

    def routes(self) -> list[Route]:
        return [*self._all(), *self._one(), *self._signing()]

    def _all(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/webhooks",
                handler=self.list_webhooks,
                summary="List your webhooks, newest first",
                description="Admins see those of all tenants. Webhooks that a crawl or a batch was asked for "
                "with belong to that work, and are not listed.",
                example=WebhookList([EXAMPLE_WEBHOOK], None),
                **_COMMON,
            ),
            Route(
                method="POST",
                path="/api/webhooks",
                handler=self.create_webhook,
                summary="Register a webhook",
                description="It is told of everything of your tenant that happens from now on. The answer "
                "contains the secret that signs the events, as Standard Webhooks say.",
                status=201,
                answers=CreatedWebhook,
                problems=(problems.INVALID_URL, problems.QUOTA_EXCEEDED),
                example_body=NewWebhook(
                    url=EXAMPLE_WEBHOOK.url,
                    events=EXAMPLE_WEBHOOK.events,
                    description=EXAMPLE_WEBHOOK.description,
                    headers={"Authorization": "Bearer of-yours"},
                ),
                example=EXAMPLE_CREATED,
                **_COMMON,
            ),
            Route(
                method="GET",
                path="/api/webhooks/events",
                handler=self.list_event_types,
                summary="List the types of events",
                example=EventTypeList(EVENT_TYPES.types[:2]),
                **_COMMON,
            ),
        ]

    def _one(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path=_ONE,
                handler=self.get_webhook,
                summary="Show a webhook",
                problems=(problems.NOT_FOUND,),
                example=EXAMPLE_WEBHOOK,
                **_NAMED,
            ),
            Route(
                method="PATCH",
                path=_ONE,
                handler=self.change_webhook,
                summary="Change a webhook",
                description="Disabled, it is sent nothing, and what waits is given up. Enabled again, it "
                "hears of what happens from then on; what was given up can be sent again.",
                control=True,
                problems=(problems.NOT_FOUND, problems.INVALID_URL),
                example_body=WebhookChange(events=("*",), enabled=True),
                example=EXAMPLE_WEBHOOK,
                **_NAMED,
            ),
            Route(
                method="DELETE",
                path=_ONE,
                handler=self.remove_webhook,
                summary="Remove a webhook, and the log of its deliveries",
                status=204,
                control=True,
                problems=(problems.NOT_FOUND,),
                **_NAMED,
            ),
            Route(
                method="POST",
                path=f"{_ONE}/test",
                handler=self.test_webhook,
                summary="Send a test event now",
                description="The answer tells what the receiver said. It is sent once, whatever it says.",
                deadline=TEST_SECONDS,
                problems=(problems.NOT_FOUND,),
                example=EXAMPLE_TEST,
                **_NAMED,
            ),
        ]

    def _signing(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path=f"{_ONE}/secret",
                handler=self.get_secret,
                summary="Show the secret of a webhook",
                problems=(problems.NOT_FOUND,),
                example=WebhookSecret(EXAMPLE_SECRET),
                **_NAMED,
            ),
            Route(
                method="POST",
                path=f"{_ONE}/rotate",
                handler=self.rotate_secret,
                summary="Replace the secret of a webhook with a new one",
                description="Until `oldSecretUntil` both sign every event, so receivers can change over.",
                answers=CreatedWebhook,
                problems=(problems.NOT_FOUND,),
                example_body=SecretRotation(old_secret_seconds=3_600),
                example=EXAMPLE_CREATED,
                **_NAMED,
            ),
        ]


_COMMON: Final[dict[str, Any]] = {"needs": Role.USER, "tag": "Webhooks"}
_NAMED: Final[dict[str, Any]] = {**_COMMON, "parameters": {"id": "The webhook's id."}}
