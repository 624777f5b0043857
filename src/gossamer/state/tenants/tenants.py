"""Tenants and their API keys, and the queries on their tables.

Every function works on an open connection, so that several of them can be one transaction.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Row, Select, func, or_, select, update
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.db.tables import api_keys, tenants

# The tenant of all callers without an account; every caller may see its pages.
PUBLIC: Final = "7" + "Z" * 25
_TOUCH_BATCH: Final = 1_000


class Role(Enum):
    """What a caller may do; each role may do what those before it may."""

    NOBODY = "nobody"
    VIEWER = "viewer"  # came by a link that shows usage, and nothing else
    USER = "user"
    ADMIN = "admin"

    def __init__(self, _: str) -> None:
        self._rank = len(type(self).__members__)

    def may(self, needed: "Role") -> bool:
        return self._rank >= needed._rank


class Tier(StrEnum):
    """How much a caller may do."""

    FREE = "free"
    PRO = "pro"
    ENTERPRISE = "enterprise"

    def covers(self, other: "Tier") -> bool:
        """Whether a caller of this tier may do at least as much as one of the other."""
        return _SIZE[self] >= _SIZE[other]


_SIZE: Final = {tier: size for size, tier in enumerate(Tier)}


class Tenant(Struct, frozen=True):
    id: str
    email: str
    name: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Key:
    id: str
    tenant_id: str
    email: str  # the tenant's
    hash: str = field(repr=False)  # SHA-256 of the secret, which is kept nowhere
    prefix: str  # the part of the secret that is shown
    role: Role
    tier: Tier
    label: str
    created_at: int
    disabled_at: int | None = None
    disabled_reason: str = ""
    last_used_at: int | None = None
    expires_at: int | None = None  # refused from then on
    rotated_from: str | None = None  # the id of the key that this one replaced


def key_hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


async def ensure_tenant(
    connection: AsyncConnection, email: str, *, name: str = "", now: int | None = None
) -> Tenant:
    """The tenant of this email, created if missing. Its row stays locked until the transaction ends."""
    new = insert_into(connection, tenants).values(
        id=str(ULID()), email=email, name=name, created_at=clock(now)
    )
    # An update that changes nothing, because DO NOTHING would return nothing.
    ensured = new.on_conflict_do_update(index_elements=["email"], set_={"email": new.excluded.email})
    return Tenant(*(await connection.execute(ensured.returning(*tenants.c))).one())


async def find_tenant(connection: AsyncConnection, email: str) -> str | None:
    """The id of the tenant of this email."""
    found: str | None = await connection.scalar(select(tenants.c.id).where(tenants.c.email == email))
    return found


async def get_tenant(connection: AsyncConnection, tenant_id: str) -> Tenant | None:
    row = (await connection.execute(select(tenants).where(tenants.c.id == tenant_id))).first()
    return None if row is None else Tenant(*row)


async def add_key(connection: AsyncConnection, key: Key, *, now: int | None = None) -> Key | None:
    """Add a key and return its row; None if there is one with the same hash."""
    new = insert_into(connection, api_keys).values(
        id=key.id,
        tenant_id=key.tenant_id,
        hash=key.hash,
        prefix=key.prefix,
        role=key.role.value,
        tier=key.tier.value,
        label=key.label,
        created_at=clock(now),
        disabled_reason="",
        expires_at=key.expires_at,
        rotated_from=key.rotated_from,
    )
    added = await connection.execute(
        new.on_conflict_do_nothing(index_elements=["hash"]).returning(api_keys.c.id)
    )
    return None if added.first() is None else await get_key(connection, key.id)


async def find_key(connection: AsyncConnection, digest: str) -> Key | None:
    """The key whose secret has this hash."""
    return _key((await connection.execute(_keys().where(api_keys.c.hash == digest))).first())


async def get_key(connection: AsyncConnection, key_id: str) -> Key | None:
    return _key((await connection.execute(_keys().where(api_keys.c.id == key_id))).first())


async def find_successor(connection: AsyncConnection, key_id: str) -> Key | None:
    """The key that has replaced this one."""
    return _key((await connection.execute(_keys().where(api_keys.c.rotated_from == key_id))).first())


async def list_keys(
    connection: AsyncConnection,
    *,
    email: str | None = None,
    tenant_id: str | None = None,
    before: str | None = None,
    limit: int = 50,
) -> list[Key]:
    """The newest keys first, of all tenants or of one; `before` is the id of the last one already seen."""
    query = _keys().order_by(api_keys.c.id.desc()).limit(limit)
    if tenant_id is not None:
        query = query.where(api_keys.c.tenant_id == tenant_id)
    if email is not None:
        query = query.where(tenants.c.email == email)
    if before is not None:
        query = query.where(api_keys.c.id < before)
    return [_key_of(row) for row in await connection.execute(query)]


async def list_all_keys(connection: AsyncConnection, tenant_id: str) -> list[Key]:
    return [
        _key_of(row) for row in await connection.execute(_keys().where(api_keys.c.tenant_id == tenant_id))
    ]


async def count_keys(connection: AsyncConnection) -> int:
    return await connection.scalar(select(func.count()).select_from(api_keys)) or 0


async def disable_key(
    connection: AsyncConnection, key_id: str, reason: str, *, now: int | None = None
) -> bool:
    """Disable a key. False if there is no such key, or it is disabled already."""
    disabled = await connection.execute(
        update(api_keys)
        .where(api_keys.c.id == key_id, api_keys.c.disabled_at.is_(None))
        .values(disabled_at=clock(now), disabled_reason=reason)
    )
    return disabled.rowcount == 1


async def touch_keys(
    connection: AsyncConnection, key_ids: Collection[str], *, now: int | None = None
) -> None:
    """Note that these keys were used."""
    ordered = sorted(key_ids)
    used = api_keys.c.last_used_at
    for start in range(0, len(ordered), _TOUCH_BATCH):
        # A row that another process holds is being touched by it, so it is skipped.
        free = select(api_keys.c.id).where(api_keys.c.id.in_(ordered[start : start + _TOUCH_BATCH]))
        await connection.execute(
            update(api_keys)
            .where(api_keys.c.id.in_(free.with_for_update(skip_locked=True)))
            .where(or_(used.is_(None), used < clock(now)))
            .values(last_used_at=clock(now))
        )


def _keys() -> Select[Any]:
    return select(api_keys, tenants.c.email).join(tenants)


def _key(row: Row[Any] | None) -> Key | None:
    return None if row is None else _key_of(row)


def _key_of(row: Row[Any]) -> Key:
    values = dict(row._mapping)
    return Key(**{**values, "role": Role(row.role), "tier": Tier(row.tier)})
