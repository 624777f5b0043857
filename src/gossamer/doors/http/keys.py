"""Keys: who may call. The admin's endpoints, and the caller's look at itself."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.routing import Route
from gossamer.flows import keys
from gossamer.flows.admit import Admission
from gossamer.state.database import Database
from gossamer.state.tenants import Key, Role, Tier

_EXAMPLE_ID = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class NewKey(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Whom a key is for."""

    email: Annotated[str, Meta(max_length=254, description="The customer; one may have several keys.")]
    tier: Annotated[Tier, Meta(description="Decides how many renders a day are allowed.")] = Tier.PRO
    role: Annotated[Literal["user", "admin"], Meta(description="An admin's key may do everything.")] = "user"
    label: Annotated[str, Meta(max_length=100, description="A note for people.")] = ""


class ShownKey(msgspec.Struct, rename="camel"):
    """A key as it can be seen at any time."""

    id: str
    tenant_id: str
    email: str
    prefix: Annotated[str, Meta(description="The beginning of the key, to tell it from others.")]
    role: Role
    tier: Tier
    label: str
    created_at: str
    last_used_at: str | None
    disabled_at: str | None


class CreatedKey(ShownKey, rename="camel"):
    """A new key, with its secret, which is shown this once."""

    key: Annotated[str, Meta(description="The secret. It is stored as a hash only: keep it now.")]


class KeyList(msgspec.Struct, rename="camel"):
    """Keys, newest first."""

    keys: list[ShownKey]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class KeyQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which keys to list."""

    email: Annotated[str | None, Meta(description="Only this customer's.")] = None
    cursor: Annotated[str | None, Meta(description="Where the page before ended.")] = None
    limit: Annotated[int, Meta(ge=1, le=keys.MAX_LISTED, description="Keys a page.")] = 50


class Me(msgspec.Struct, rename="camel"):
    """Who is asking."""

    key_id: str
    tenant_id: str
    prefix: str
    role: Role
    tier: Tier


class Keys:
    def __init__(self, database: Database, admission: Admission) -> None:
        self._database = database
        self._admission = admission

    async def create_key(self, exchange: Exchange, body: NewKey) -> Response:
        async with self._database.write() as connection:
            new = await keys.create(
                connection,
                email=body.email,
                tier=body.tier,
                role=Role(body.role),
                label=body.label,
                actor=exchange.caller.key_id,
                request_id=exchange.request_id,
            )
            created = answer(_created(new), 201)
            await exchange.remember(connection, created)
        return created

    async def list_keys(self, exchange: Exchange, query: KeyQuery) -> KeyList:
        async with self._database.read() as connection:
            page = await keys.listing(connection, email=query.email, cursor=query.cursor, limit=query.limit)
        return KeyList([_shown(key) for key in page.keys], page.cursor)

    async def rotate_key(self, exchange: Exchange, id: str) -> Response:
        async with self._database.write() as connection:
            rotation = await keys.rotate(
                connection, id, actor=exchange.caller.key_id, request_id=exchange.request_id
            )
            created = answer(_created(rotation.new), 201)
            await exchange.remember(connection, created)
        await self._admission.refresh(rotation.old)
        return created

    async def disable_key(self, exchange: Exchange, id: str) -> ShownKey:
        async with self._database.write() as connection:
            key = await keys.disable(
                connection, id, actor=exchange.caller.key_id, request_id=exchange.request_id
            )
        await self._admission.refresh(key)
        return _shown(key)

    async def me(self, exchange: Exchange) -> Me:
        caller = exchange.caller
        return Me(caller.key_id, caller.tenant_id, caller.name, caller.role, caller.tier)

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
                summary="Make an API key",
                description="The key works at once. Its secret is in this answer and nowhere else.",
                status=201,
                answers=CreatedKey,
                problems=(problems.UNPROCESSABLE_ENTITY,),
                example_body=NewKey("team@example.com", label="production"),
                example=_EXAMPLE_CREATED,
                **admin,
            ),
            Route(
                method="GET",
                path="/api/admin/keys",
                handler=self.list_keys,
                summary="List API keys, newest first",
                problems=(problems.UNPROCESSABLE_ENTITY,),
                example=KeyList([_EXAMPLE], None),
                **admin,
            ),
            Route(
                method="DELETE",
                path="/api/admin/keys/{id}",
                handler=self.disable_key,
                summary="Disable an API key",
                description="It is refused from now on with `KEY_DISABLED`. Disabling twice is once.",
                example=_EXAMPLE_DISABLED,
                **one,
            ),
            Route(
                method="POST",
                path="/api/admin/keys/{id}/rotate",
                handler=self.rotate_key,
                summary="Replace an API key by a new one",
                description="The new key has the same tenant, role, tier and label; the old one is disabled.",
                status=201,
                answers=CreatedKey,
                example=_EXAMPLE_CREATED,
                **one,
            ),
            Route(
                method="GET",
                path="/api/me",
                handler=self.me,
                needs=Role.USER,
                tag="Keys",
                summary="Who the server takes you for",
                example=Me(_EXAMPLE_ID, _EXAMPLE_ID, "sk_live_Zk3Vq9x...", Role.USER, Tier.PRO),
            ),
        ]


def _shown(key: Key) -> ShownKey:
    return ShownKey(
        id=key.id,
        tenant_id=key.tenant_id,
        email=key.email,
        prefix=key.prefix,
        role=key.role,
        tier=key.tier,
        label=key.label,
        created_at=moments.stored(key.created_at),
        last_used_at=moments.stored(key.last_used_at),
        disabled_at=moments.stored(key.disabled_at),
    )


def _created(new: keys.NewKey) -> CreatedKey:
    return CreatedKey(**msgspec.structs.asdict(_shown(new.key)), key=new.secret)


_EXAMPLE = ShownKey(
    id=_EXAMPLE_ID,
    tenant_id="01JGGR2Z3W0000000000000000",
    email="team@example.com",
    prefix="sk_live_Zk3Vq9x...",
    role=Role.USER,
    tier=Tier.PRO,
    label="production",
    created_at="2026-01-01T12:00:00.000Z",
    last_used_at=None,
    disabled_at=None,
)
_EXAMPLE_DISABLED = msgspec.structs.replace(_EXAMPLE, disabled_at="2026-02-01T12:00:00.000Z")
_EXAMPLE_CREATED = CreatedKey(
    **msgspec.structs.asdict(_EXAMPLE), key="sk_live_Zk3Vq9x-this-is-only-an-example-0"
)
