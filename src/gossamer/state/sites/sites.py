"""The registered sites."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from sqlalchemy import Row, delete, func, or_, select, update
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.sites.site_tables import (
    site_asked_pages,
    site_bot_hours,
    site_comparisons,
    site_hooks,
    site_warm_days,
    sites,
)
from gossamer.web.sites.site_rule import SiteRule, from_stored, hide_headers
from gossamer.web.sites.site_settings import SiteSettings
from gossamer.web.sites.site_words import ProofMethod

MAX_FAILURES: Final = 3  # checks in a row, after which a site is proven no more
MAX_PROVEN: Final = 5_000  # of one owner, that are used

_rows: Final = sites.c
_settings: Final = msgspec.json.Decoder(SiteSettings)


class RegisteredSite(Struct, frozen=True, kw_only=True):
    id: str
    tenant_id: str
    owner: str
    origin: str
    name: str
    token: str
    proof: ProofMethod | None
    settings: SiteSettings
    proven_at: int | None
    checked_at: int | None
    failures: int
    created_at: int
    updated_at: int
    rules: tuple[SiteRule, ...] = ()  # without the values of headers
    rules_sealed: bytes | None = None  # with them, for whoever can open it

    @property
    def is_proven(self) -> bool:
        return self.proof is not None


async def add(
    connection: AsyncConnection,
    *,
    tenant_id: str,
    owner: str,
    origin: str,
    name: str,
    token: str,
    settings: SiteSettings,
    proof: ProofMethod | None,
    now: int | None = None,
) -> RegisteredSite | None:
    """None: the owner has registered this origin already."""
    values = {
        "id": str(ULID()),
        "tenant_id": tenant_id,
        "owner": owner,
        "origin": origin,
        "name": name,
        "token": token,
        "proof": proof.value if proof else "",
        "settings_json": _encode(settings),
        "proven_at": clock(now) if proof else None,
        "checked_at": None,
        "failures": 0,
        "created_at": clock(now),
        "updated_at": clock(now),
    }
    new = insert_into(connection, sites).values(values)
    added = new.on_conflict_do_nothing(index_elements=["owner", "origin"]).returning(sites)
    return _first((await connection.execute(added)).first())


async def get(connection: AsyncConnection, site_id: str, *, lock: bool = False) -> RegisteredSite | None:
    query = select(sites).where(_rows.id == site_id)
    return _first((await connection.execute(query.with_for_update() if lock else query)).first())


async def of_origin(connection: AsyncConnection, owner: str, origin: str) -> RegisteredSite | None:
    query = select(sites).where(_rows.owner == owner, _rows.origin == origin)
    return _first((await connection.execute(query)).first())


async def listing(
    connection: AsyncConnection, *, owner: str | None, before: str | None = None, limit: int = 50
) -> list[RegisteredSite]:
    """The newest first; an owner of None may see all."""
    query = select(sites).order_by(_rows.id.desc()).limit(limit)
    if owner is not None:
        query = query.where(_rows.owner == owner)
    if before is not None:
        query = query.where(_rows.id < before)
    return [_site(row) for row in await connection.execute(query)]


async def list_proven(connection: AsyncConnection, owner: str) -> list[RegisteredSite]:
    query = select(sites).where(_rows.owner == owner, _rows.proof != "").limit(MAX_PROVEN)
    return [_site(row) for row in await connection.execute(query)]


async def count(connection: AsyncConnection, tenant: str) -> int:
    query = select(func.count()).select_from(sites).where(_rows.tenant_id == tenant)
    return await connection.scalar(query) or 0


async def change(
    connection: AsyncConnection,
    site_id: str,
    *,
    name: str | None = None,
    settings: SiteSettings | None = None,
    now: int | None = None,
) -> None:
    values: dict[str, Any] = {"updated_at": clock(now)}
    if name is not None:
        values["name"] = name
    if settings is not None:
        values["settings_json"] = _encode(settings)
    await connection.execute(update(sites).where(_rows.id == site_id).values(values))


async def set_rules(
    connection: AsyncConnection,
    site_id: str,
    rules: Sequence[SiteRule],
    sealed: bytes | None,
    *,
    now: int | None = None,
) -> None:
    shown = msgspec.json.encode(hide_headers(rules)).decode()
    values = {"rules_json": shown, "rules_sealed": sealed, "updated_at": clock(now)}
    await connection.execute(update(sites).where(_rows.id == site_id).values(values))


async def prove(
    connection: AsyncConnection, site_id: str, proof: ProofMethod, *, now: int | None = None
) -> None:
    """Note that the proof was found."""
    values = {
        "proof": proof.value,
        "proven_at": func.coalesce(_rows.proven_at, clock(now)),
        "checked_at": clock(now),
        "failures": 0,
    }
    await connection.execute(update(sites).where(_rows.id == site_id).values(values))


async def note_failure(connection: AsyncConnection, site_id: str, *, now: int | None = None) -> bool:
    """Note that no proof was found. True: it was proven until now, and is no more."""
    failed = update(sites).where(_rows.id == site_id, _rows.proof != ProofMethod.ADMIN.value)
    await connection.execute(failed.values(failures=_rows.failures + 1, checked_at=clock(now)))
    lost = update(sites).where(_rows.id == site_id, _rows.proof.not_in(("", ProofMethod.ADMIN.value)))
    lost = lost.where(_rows.failures >= MAX_FAILURES)
    return (await connection.execute(lost.values(proof="", proven_at=None))).rowcount == 1


async def take_due(
    connection: AsyncConnection, *, age_ms: int, retry_ms: int, limit: int = 20, now: int | None = None
) -> list[RegisteredSite]:
    """Proven sites whose proof was not looked for in so long; after a failure sooner. Whoever gets them
    checks them: nobody else does before the next turn."""
    proven = _rows.proof.not_in(("", ProofMethod.ADMIN.value))
    due = or_(
        _rows.checked_at <= clock(now) - age_ms,
        (_rows.failures > 0) & (_rows.checked_at <= clock(now) - retry_ms),
    )
    some = select(_rows.id).where(proven, due).order_by(_rows.checked_at).limit(limit)
    ids = (await connection.scalars(some.with_for_update(skip_locked=True))).all()
    taken = update(sites).where(_rows.id.in_(ids)).values(checked_at=clock(now)).returning(sites)
    return [_site(row) for row in await connection.execute(taken)]


async def remove(connection: AsyncConnection, site_id: str) -> None:
    """With all that was counted about it."""
    for table in (site_bot_hours, site_asked_pages, site_warm_days, site_hooks, site_comparisons):
        await connection.execute(delete(table).where(table.c.site_id == site_id))
    await connection.execute(delete(sites).where(_rows.id == site_id))


def _encode(settings: SiteSettings) -> str:
    return msgspec.json.encode(settings).decode()


def _first(row: Row[Any] | None) -> RegisteredSite | None:
    return None if row is None else _site(row)


def _site(row: Row[Any]) -> RegisteredSite:
    values = {name: value for name, value in row._mapping.items() if not name.endswith("_json")}
    values["proof"] = ProofMethod(row.proof) if row.proof else None
    rules = from_stored(msgspec.json.decode(row.rules_json))
    return RegisteredSite(**values, settings=_settings.decode(row.settings_json), rules=rules)
