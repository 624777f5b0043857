"""Incoming webhooks of sites."""

from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import delete, select, update

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.sites.site_tables import site_hooks

_rows: Final = site_hooks.c


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteHook:
    site_id: str
    tenant_id: str
    token_hash: str
    old_token_hash: str | None = None
    old_until: int | None = None
    secret_sealed: bytes | None = field(default=None, repr=False)
    old_secret_sealed: bytes | None = field(default=None, repr=False)
    maker_via: str
    maker_id: str
    maker_name: str
    created_at: int = 0
    last_at: int | None = None


async def get(connection: AsyncConnection, site_id: str) -> SiteHook | None:
    row = (await connection.execute(select(site_hooks).where(_rows.site_id == site_id))).first()
    return None if row is None else SiteHook(**row._mapping)


async def put(
    connection: AsyncConnection, hook: SiteHook, *, old_seconds: int, now: int | None = None
) -> None:
    """Make the webhook of a site, or another one in its place. The one before goes on for a while."""
    before = await connection.execute(
        select(site_hooks).where(_rows.site_id == hook.site_id).with_for_update()
    )
    known = before.first()
    values = {
        "site_id": hook.site_id,
        "tenant_id": hook.tenant_id,
        "token_hash": hook.token_hash,
        "old_token_hash": known.token_hash if known and old_seconds else None,
        "old_until": clock(now) + old_seconds * 1000 if known and old_seconds else None,
        "secret_sealed": hook.secret_sealed,
        "old_secret_sealed": known.secret_sealed if known and old_seconds else None,
        "maker_via": hook.maker_via,
        "maker_id": hook.maker_id,
        "maker_name": hook.maker_name,
        "created_at": clock(now),
        "last_at": None,
    }
    new = insert_into(connection, site_hooks).values(values)
    changed = {name: new.excluded[name] for name in values if name != "site_id"}
    await connection.execute(new.on_conflict_do_update(index_elements=["site_id"], set_=changed))


async def note_use(connection: AsyncConnection, site_id: str, *, now: int | None = None) -> None:
    await connection.execute(update(site_hooks).where(_rows.site_id == site_id).values(last_at=clock(now)))


async def remove(connection: AsyncConnection, site_id: str) -> bool:
    return (await connection.execute(delete(site_hooks).where(_rows.site_id == site_id))).rowcount == 1
