"""Endpoints for what webhooks were sent: the log, and sending again."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gossamer import problems
from gossamer.doors.http.api.webhooks.webhook_shapes import (
    EXAMPLE_DELIVERY,
    EXAMPLE_DETAIL,
    to_delivery,
    to_detail,
)
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.webhooks.registry import WebhookRegistry
from gossamer.state.tenants.tenants import Role
from gossamer.state.webhooks.delivery_log import DeliveryFilter
from gossamer.web.webhooks.attempt import DeliveryState
from gossamer.web.webhooks.delivery import (
    DeliveryDetail,
    DeliveryList,
    ResendRequest,
    ResentDeliveries,
    ShownDelivery,
)

MAX_LISTED: Final = 100
_ONE: Final = "/api/webhooks/{id}/deliveries/{delivery}"


class DeliveryQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which deliveries to list."""

    state: Annotated[DeliveryState | None, Meta(description="Only deliveries in this state.")] = None
    cursor: Annotated[
        Annotated[str, Meta(max_length=26)] | None, Meta(description="The `nextCursor` of the page before.")
    ] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Deliveries in a page.")] = 50


class DeliveriesEndpoints(Struct, frozen=True):
    registry: WebhookRegistry

    async def list_all(self, exchange: Exchange, query: DeliveryQuery) -> DeliveryList:
        return await self._list(exchange, query, None)

    async def list_deliveries(self, exchange: Exchange, id: str, query: DeliveryQuery) -> DeliveryList:
        return await self._list(exchange, query, id)

    async def get_delivery(self, exchange: Exchange, id: str, delivery: str) -> DeliveryDetail:
        return to_detail(*await self.registry.show_delivery(id, delivery, exchange.caller))

    async def retry_delivery(self, exchange: Exchange, id: str, delivery: str) -> ShownDelivery:
        return to_delivery(await self.registry.resend(id, delivery, exchange.caller))

    async def retry_given_up(self, exchange: Exchange, id: str, body: ResendRequest) -> ResentDeliveries:
        since = 0 if body.since is None else max(0, round(body.since.timestamp() * 1000))
        return ResentDeliveries(await self.registry.resend_given_up(id, since, exchange.caller))

    async def _list(self, exchange: Exchange, query: DeliveryQuery, id: str | None) -> DeliveryList:
        found, cursor = await self.registry.list_deliveries(
            DeliveryFilter(endpoint_id=id, state=query.state),
            exchange.caller,
            cursor=query.cursor,
            limit=query.limit,
        )
        return DeliveryList([to_delivery(one) for one in found], cursor)

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/webhooks/deliveries",
                handler=self.list_all,
                summary="List what your webhooks were sent, newest first",
                description="Those of crawls and batches that were asked for with one, too. Admins see all.",
                example=DeliveryList([EXAMPLE_DELIVERY], None),
                **_COMMON,
            ),
            Route(
                method="GET",
                path="/api/webhooks/{id}/deliveries",
                handler=self.list_deliveries,
                summary="List what a webhook was sent, newest first",
                problems=(problems.NOT_FOUND,),
                parameters=_ID,
                example=DeliveryList([EXAMPLE_DELIVERY], None),
                **_COMMON,
            ),
            Route(
                method="POST",
                path="/api/webhooks/{id}/retry",
                handler=self.retry_given_up,
                summary="Send again what was given up",
                description="All of it since a time, in its order. Each event keeps its `webhook-id`.",
                control=True,
                problems=(problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
                parameters=_ID,
                example_body=ResendRequest(),
                example=ResentDeliveries(3),
                **_COMMON,
            ),
            Route(
                method="GET",
                path=_ONE,
                handler=self.get_delivery,
                summary="Show a delivery with what is sent",
                problems=(problems.NOT_FOUND,),
                parameters=_BOTH,
                example=EXAMPLE_DETAIL,
                **_COMMON,
            ),
            Route(
                method="POST",
                path=f"{_ONE}/retry",
                handler=self.retry_delivery,
                summary="Send one delivery again",
                description="Also one that was heard. It keeps its `webhook-id`, and is tried for a day.",
                control=True,
                problems=(problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
                parameters=_BOTH,
                example=EXAMPLE_DELIVERY,
                **_COMMON,
            ),
        ]


_COMMON: Final[dict[str, Any]] = {"needs": Role.USER, "tag": "Webhooks"}
_ID: Final = {"id": "The webhook's id."}
_BOTH: Final = {**_ID, "delivery": "The delivery's id."}
