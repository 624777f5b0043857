"""Endpoints with which admins manage API keys."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.tenants.keys import MAX_KEYS_LISTED, IssuedKey, Keys, NewKey
from gossamer.state.tenants.tenants import Key, Role, Tier

_EXAMPLE_ID = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class ShownKey(msgspec.Struct, rename="camel"):
    """A key without its secret."""

    id: str
    tenant_id: str
    email: str
    prefix: Annotated[str, Meta(description="The beginning of the key, to recognise it.")]
    role: Role
    tier: Tier
    label: str
    created_at: str
    last_used_at: str | None
    expires_at: Annotated[str | None, Meta(description="From then on it is refused.")]
    disabled_at: str | None


class CreatedKey(ShownKey, rename="camel"):
    """A new key with its secret, which is shown only once."""

    key: Annotated[str, Meta(description="The secret. Only its hash is stored, so save it now.")]


class KeyList(msgspec.Struct, rename="camel"):
    """Keys, newest first."""

    keys: list[ShownKey]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class OwnKeyQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Which of your keys to list."""

    cursor: Annotated[str | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_KEYS_LISTED, description="Keys in a page.")] = 50


class KeyQuery(OwnKeyQuery, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Which keys to list."""

    email: Annotated[str | None, Meta(description="Only keys of this customer.")] = None
    tenant: Annotated[
        Annotated[str, Meta(max_length=26)] | None, Meta(description="Only keys of the tenant with this id.")
    ] = None


class KeysEndpoints(Struct, frozen=True):
    keys: Keys

    async def create_key(self, exchange: Exchange, body: NewKey) -> Response:
        async with self.keys.creating(body, exchange.actor) as (connection, issued):
            created = answer(to_created(issued), 201)
            await exchange.remember(connection, created)
        return created

    async def list_keys(self, exchange: Exchange, query: KeyQuery) -> KeyList:
        page = await self.keys.list_page(
            email=query.email, tenant=query.tenant, cursor=query.cursor, limit=query.limit
        )
        return KeyList([to_api(key) for key in page.keys], page.cursor)

    async def rotate_key(self, exchange: Exchange, id: str) -> Response:
        async with self.keys.rotating(id, exchange.actor) as (connection, issued):
            created = answer(to_created(issued), 201)
            await exchange.remember(connection, created)
        return created

    async def disable_key(self, exchange: Exchange, id: str) -> ShownKey:
        return to_api(await self.keys.disable(id, exchange.actor))

    def routes(self) -> list[Route]:
        admin: dict[str, Any] = {"needs": Role.ADMIN, "tag": "Keys"}
        one: dict[str, Any] = {
            **admin,
            "parameters": {"id": "The key's id."},
            "problems": (problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
        }
        return [
            Route(
                method="POST",
                path="/api/admin/keys",
                handler=self.create_key,
                summary="Create an API key",
                description="The key works at once. Only this answer contains its secret.",
                status=201,
                answers=CreatedKey,
                problems=(problems.UNPROCESSABLE_ENTITY,),
                example_body=NewKey(email="team@example.com", label="production"),
                example=EXAMPLE_CREATED,
                **admin,
            ),
            Route(
                method="GET",
                path="/api/admin/keys",
                handler=self.list_keys,
                summary="List API keys, newest first",
                problems=(problems.UNPROCESSABLE_ENTITY,),
                example=KeyList([EXAMPLE], None),
                **admin,
            ),
            Route(
                method="DELETE",
                path="/api/admin/keys/{id}",
                handler=self.disable_key,
                summary="Disable an API key",
                description="It is refused from now on with `KEY_DISABLED`. A repeat changes nothing.",
                example=EXAMPLE_DISABLED,
                **one,
            ),
            Route(
                method="POST",
                path="/api/admin/keys/{id}/rotate",
                handler=self.rotate_key,
                summary="Replace an API key with a new one",
                description="The new key has the same tenant, role, tier, label and end; the old one is "
                "disabled.",
                status=201,
                answers=CreatedKey,
                example=EXAMPLE_CREATED,
                **one,
            ),
        ]


def to_api(key: Key) -> ShownKey:
    return ShownKey(
        id=key.id,
        tenant_id=key.tenant_id,
        email=key.email,
        prefix=key.prefix,
        role=key.role,
        tier=key.tier,
        label=key.label,
        created_at=timestamps.from_ms(key.created_at),
        last_used_at=timestamps.from_ms(key.last_used_at),
        expires_at=timestamps.from_ms(key.expires_at),
        disabled_at=timestamps.from_ms(key.disabled_at),
    )


def to_created(issued: IssuedKey) -> CreatedKey:
    return CreatedKey(**msgspec.structs.asdict(to_api(issued.key)), key=issued.secret)


EXAMPLE = ShownKey(
    id=_EXAMPLE_ID,
    tenant_id="01JGGR2Z3W0000000000000000",
    email="team@example.com",
    prefix="sk_live_Zk3Vq9x...",
    role=Role.USER,
    tier=Tier.PRO,
    label="production",
    created_at="2026-01-01T12:00:00.000Z",
    last_used_at=None,
    expires_at=None,
    disabled_at=None,
)
EXAMPLE_DISABLED = msgspec.structs.replace(EXAMPLE, disabled_at="2026-02-01T12:00:00.000Z")
EXAMPLE_CREATED = CreatedKey(
    **msgspec.structs.asdict(EXAMPLE), key="sk_live_Zk3Vq9x-this-is-only-an-example-0"
)
