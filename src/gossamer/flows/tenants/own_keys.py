"""The API keys of a caller's own tenant. Nobody gets more rights through them than they have already."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from msgspec import Struct

from gossamer.flows.tenants import keys
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.keys import IssuedKey, KeyPage, Keys, NewOwnKey
from gossamer.problems import FORBIDDEN, NOT_FOUND, UNPROCESSABLE_ENTITY, Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.tenants import tenants
from gossamer.state.tenants.activity import Actor, Via
from gossamer.state.tenants.tenants import Key, Role


class OwnKeys(Struct, frozen=True):
    keys: Keys

    @asynccontextmanager
    async def creating(
        self, new: NewOwnKey, owner: Caller, by: Actor
    ) -> AsyncIterator[tuple[AsyncConnection, IssuedKey]]:
        async with self.keys.database.write() as connection:
            yield connection, await create(connection, new, owner, by)

    @asynccontextmanager
    async def rotating(
        self, key_id: str, owner: Caller, by: Actor
    ) -> AsyncIterator[tuple[AsyncConnection, IssuedKey]]:
        async with self.keys.rotating(key_id, by, check=partial(_check, owner)) as rotated:
            yield rotated

    async def disable(self, key_id: str, owner: Caller, by: Actor) -> Key:
        return await self.keys.disable(key_id, by, check=partial(_check, owner))

    async def get(self, key_id: str, owner: Caller) -> Key:
        """A key of the owner's tenant; admins see all."""
        async with self.keys.database.read() as connection:
            key = await tenants.get_key(connection, key_id)
        if key is None or not (owner.role is Role.ADMIN or key.tenant_id == owner.tenant_id):
            raise keys.unknown_key()
        return key

    async def list_page(self, owner: Caller, *, cursor: str | None, limit: int) -> KeyPage:
        return await self.keys.list_page(tenant=owner.tenant_id, cursor=cursor, limit=limit)


async def create(
    connection: AsyncConnection, new: NewOwnKey, owner: Caller, by: Actor, *, now: int | None = None
) -> IssuedKey:
    """A user's key of the owner's tenant and tier. It lasts no longer than the key that the owner uses."""
    tenant = await tenants.get_tenant(connection, owner.tenant_id)
    if tenant is None:
        raise Problem(NOT_FOUND, "There is no such tenant.")
    last = await _end(connection, owner)
    draft = await keys.draft_for(connection, tenant, new, Role.USER, owner.tier, now)
    if last is not None and draft.expires_at is not None and draft.expires_at > last:
        raise Problem(
            UNPROCESSABLE_ENTITY,
            "The new key would last longer than the one that you use.",
            hint="Give an earlier expiresAt, or use a key that lasts longer.",
        )
    draft = replace(draft, expires_at=draft.expires_at or last)
    return await keys.issue(connection, draft, by, now=now)


async def _check(owner: Caller, connection: AsyncConnection, key: Key) -> None:
    """Another tenant's key is not found. A key that may do more than its owner is refused, because a new
    secret for it would be more than they have."""
    if key.tenant_id != owner.tenant_id:
        raise keys.unknown_key()
    last = await _end(connection, owner)
    lasts_longer = last is not None and (key.expires_at is None or key.expires_at > last)
    if not owner.role.may(key.role) or not owner.tier.covers(key.tier) or lasts_longer:
        raise Problem(
            FORBIDDEN,
            f"The API key {key.prefix} has more rights than you have.",
            hint="Use a key of the same role and tier that lasts as long, or ask an admin.",
        )


async def _end(connection: AsyncConnection, owner: Caller) -> int | None:
    """When the key that the owner uses expires, if they use one and it does."""
    used = await tenants.get_key(connection, owner.key_id) if owner.via is Via.KEY else None
    return used.expires_at if used else None
