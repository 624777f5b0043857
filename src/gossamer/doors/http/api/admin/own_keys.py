"""Endpoints with which callers manage the API keys of their own tenant."""

from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.keys import (
    EXAMPLE,
    EXAMPLE_CREATED,
    EXAMPLE_DISABLED,
    CreatedKey,
    KeyList,
    OwnKeyQuery,
    ShownKey,
    to_api,
    to_created,
)
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.tenants.keys import NewOwnKey
from gossamer.flows.tenants.own_keys import OwnKeys
from gossamer.state.tenants.tenants import Role


class OwnKeysEndpoints(Struct, frozen=True):
    own_keys: OwnKeys

    async def list_own_keys(self, exchange: Exchange, query: OwnKeyQuery) -> KeyList:
        page = await self.own_keys.list_page(exchange.caller, cursor=query.cursor, limit=query.limit)
        return KeyList([to_api(key) for key in page.keys], page.cursor)

    async def create_own_key(self, exchange: Exchange, body: NewOwnKey) -> Response:
        creating = self.own_keys.creating(body, exchange.caller, exchange.actor)
        async with creating as (connection, issued):
            created = answer(to_created(issued), 201)
            await exchange.remember(connection, created)
        return created

    async def rotate_own_key(self, exchange: Exchange, id: str) -> Response:
        rotating = self.own_keys.rotating(id, exchange.caller, exchange.actor)
        async with rotating as (connection, issued):
            created = answer(to_created(issued), 201)
            await exchange.remember(connection, created)
        return created

    async def disable_own_key(self, exchange: Exchange, id: str) -> ShownKey:
        return to_api(await self.own_keys.disable(id, exchange.caller, exchange.actor))

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Keys"}
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The key's id."},
            "problems": (problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
        }
        return [
            Route(
                method="GET",
                path="/api/keys",
                handler=self.list_own_keys,
                summary="List the API keys of your tenant, newest first",
                example=KeyList([EXAMPLE], None),
                **common,
            ),
            Route(
                method="POST",
                path="/api/keys",
                handler=self.create_own_key,
                summary="Create an API key for your tenant",
                description="It has the role `user` and your own tier, and lasts no longer than the key that "
                "you use. It works at once. Only this answer contains its secret.",
                status=201,
                answers=CreatedKey,
                problems=(problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
                example_body=NewOwnKey(label="continuous integration", expires_at=_EXAMPLE_END),
                example=EXAMPLE_CREATED,
                **common,
            ),
            Route(
                method="DELETE",
                path="/api/keys/{id}",
                handler=self.disable_own_key,
                summary="Disable an API key of your tenant",
                description="It is refused from now on with `KEY_DISABLED`. A repeat changes nothing.",
                example=EXAMPLE_DISABLED,
                **one,
            ),
            Route(
                method="POST",
                path="/api/keys/{id}/rotate",
                handler=self.rotate_own_key,
                summary="Replace an API key of your tenant with a new one",
                description="The new key has the same role, tier, label and end; the old one is disabled. A "
                "key with more rights than yours is refused.",
                status=201,
                answers=CreatedKey,
                example=EXAMPLE_CREATED,
                **one,
            ),
        ]


_EXAMPLE_END = datetime(2100, 1, 1, tzinfo=UTC)
