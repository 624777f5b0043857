"""The rows of cached pages: what is asked of the table. Every function works on an open connection.

A row that was deleted stays for a while as a tombstone, so that editions go on growing, and until the hot
tier has confirmed it. `due_at` is when repair has something to do with a row.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Row, and_, bindparam, case, delete, func, null, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.cached_page import CachedPage
from gossamer.state.database import clock, insert_into
from gossamer.state.page_key import PageKey, PagePrefix, site_of
from gossamer.state.tables import cached_pages

PUBLISH_MS: Final = 30_000  # by then the hot tier has what was written, and it is noted
CLEAR_MS: Final = 5_000  # by then a deleted page has left every tier
RETRY_MS: Final = 10_000
TOMBSTONE_MS: Final = 3_600_000  # longer than any fence in the hot tier stands

_pages: Final = cached_pages.c
Which = ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class PageRow:
    name: str
    tenant_id: str
    edition: int
    blob: str | None
    hot_behind: bool
    deleted: bool
    stored_size: int
    access_count: int
    page: CachedPage  # without its body


class Buried(NamedTuple):
    """A page that was deleted just now, or one of which the hot tier has not confirmed it yet (size 0)."""

    name: str
    edition: int
    blob: str | None
    size: int
    live: bool


async def find(connection: AsyncConnection, name: str) -> PageRow | None:
    row = (await connection.execute(select(cached_pages).where(_pages.name == name))).first()
    return None if row is None else _page_row(row)


async def write(
    connection: AsyncConnection, key: PageKey, page: CachedPage, blob: str | None, *, now: int | None = None
) -> tuple[int, str | None]:
    """The page's new edition, and the blob of the one before. The row stays locked until the end of the
    transaction, so editions grow in the order in which transactions commit."""
    values = _values(page, blob, now)
    new = insert_into(connection, cached_pages).values(
        name=key.name,
        tenant_id=key.tenant,
        site=site_of(key.url),
        url=key.url,
        variant=key.variant,
        edition=clock(now),
        render_count=1,
        access_count=0,
        **values,
    )
    added = new.on_conflict_do_nothing(index_elements=["name"]).returning(_pages.edition)
    named = _pages.name == key.name
    while True:  # again only when a tombstone is forgotten between the two statements
        edition = await connection.scalar(added)
        if edition is not None:
            return edition, None
        before = (await connection.execute(select(_pages.blob).where(named).with_for_update())).first()
        if before is not None:
            changed = update(cached_pages).where(named).values(**_counts(), **values, edition=_next(now))
            return (await connection.scalars(changed.returning(_pages.edition))).one(), before.blob


async def bury(
    connection: AsyncConnection, which: Which, limit: int, *, before: int, now: int | None = None
) -> list[Buried]:
    """Delete so many of the pages that were there at the time `before`; those already deleted that the hot
    tier has not confirmed are among them. From now on `get` finds none of them."""
    asked = and_(which, _pages.changed_at <= before, or_(_pages.deleted_at.is_(None), _pages.hot_behind))
    told = (_pages.name, _pages.blob, _pages.size, _pages.deleted_at)
    query = select(*told).where(asked).order_by(_pages.name).limit(limit).with_for_update()
    rows = {row.name: row for row in await connection.execute(query)}
    gone = update(cached_pages).where(_pages.name.in_(rows))
    gone = gone.values(
        edition=_next(now),
        blob=null(),
        hot_behind=True,
        due_at=clock(now) + CLEAR_MS,
        changed_at=clock(now),
        deleted_at=clock(now),
    )
    editions = await connection.execute(gone.returning(_pages.name, _pages.edition)) if rows else ()
    return [_buried(rows[name], edition) for name, edition in editions]


def named(name: str) -> Which:
    return _pages.name == name


def of_url(tenant: str, url: str) -> Which:
    return and_(_pages.tenant_id == tenant, _pages.site == site_of(url), _pages.url == url)


def of_prefix(tenant: str, prefix: PagePrefix) -> Which:
    # Not LIKE, which takes some characters for others, and on SQLite small letters for capitals.
    starts = [prefix.text] if prefix.starred else [f"{prefix.text}/", f"{prefix.text}?"]
    begins = [func.substr(_pages.url, 1, len(start)) == start for start in starts]
    below = or_(*begins) if prefix.starred else or_(_pages.url == prefix.text, *begins)
    return and_(_pages.tenant_id == tenant, _pages.site == prefix.site, below)


def of_tenant(tenant: str) -> Which:
    return _pages.tenant_id == tenant


async def newest(connection: AsyncConnection) -> int:
    return await connection.scalar(select(func.max(_pages.edition))) or 0


async def changed(connection: AsyncConnection, after: int, limit: int) -> list[tuple[str, int]]:
    """Name and edition of pages that were written or deleted since, the oldest first."""
    query = select(_pages.name, _pages.edition).where(_pages.edition > after).order_by(_pages.edition)
    return [(row.name, row.edition) for row in await connection.execute(query.limit(limit))]


async def hot_confirmed(
    connection: AsyncConnection, editions: Mapping[str, int], *, now: int | None = None
) -> None:
    """The hot tier has nothing older than these editions of pages."""
    if not editions:
        return
    settled = case(
        (_pages.deleted_at.is_not(None), clock(now) + TOMBSTONE_MS),
        (_pages.blob.is_(None), _pages.due_at),
        else_=null(),
    )
    same = and_(_pages.name == bindparam("page"), _pages.edition == bindparam("as_of"), _pages.hot_behind)
    confirmed = update(cached_pages).where(same).values(hot_behind=False, due_at=settled)
    rows = [{"page": name, "as_of": edition} for name, edition in sorted(editions.items())]
    await connection.execute(confirmed, rows)


async def count_accesses(
    connection: AsyncConnection, counts: Mapping[str, int], *, now: int | None = None
) -> None:
    if not counts:
        return
    counted = update(cached_pages).where(_pages.name == bindparam("page"), _pages.deleted_at.is_(None))
    counted = counted.values(access_count=_pages.access_count + bindparam("more"), accessed_at=clock(now))
    # In the order of their names, so that two who do this at once wait for each other but never both ways.
    await connection.execute(counted, [{"page": name, "more": more} for name, more in sorted(counts.items())])


async def are_due(connection: AsyncConnection, *, now: int | None = None) -> bool:
    return (
        await connection.scalar(select(_pages.name).where(_pages.due_at <= clock(now)).limit(1)) is not None
    )


async def take_due(connection: AsyncConnection, limit: int, *, now: int | None = None) -> list[PageRow]:
    """Pages that repair has something to do with; who does not manage is followed by another."""
    due = select(_pages.name).where(_pages.due_at <= clock(now)).order_by(_pages.due_at).limit(limit)
    taken = update(cached_pages).where(_pages.name.in_(due.with_for_update(skip_locked=True)))
    rows = await connection.execute(taken.values(due_at=clock(now) + RETRY_MS).returning(*cached_pages.c))
    return [_page_row(row) for row in rows]


async def add_blob(connection: AsyncConnection, row: PageRow, blob: str) -> bool:
    """The cold tier has it now. False: the page has changed meanwhile."""
    same = and_(_pages.name == row.name, _pages.edition == row.edition, _pages.blob.is_(None))
    due = case((_pages.hot_behind, _pages.due_at), else_=null())
    added = update(cached_pages).where(same, _pages.deleted_at.is_(None)).values(blob=blob, due_at=due)
    return (await connection.execute(added)).rowcount == 1


async def blob_lost(connection: AsyncConnection, row: PageRow, *, now: int | None = None) -> None:
    """The cold tier does not have what it should have; repair decides what becomes of the page."""
    same = and_(_pages.name == row.name, _pages.edition == row.edition)
    await connection.execute(update(cached_pages).where(same).values(blob=null(), due_at=clock(now)))


async def forget(connection: AsyncConnection, rows: Collection[PageRow]) -> None:
    """Delete these rows, unless they have changed meanwhile."""
    if rows:
        same = [and_(_pages.name == row.name, _pages.edition == row.edition) for row in rows]
        await connection.execute(delete(cached_pages).where(or_(*same)))


def _next(now: int | None) -> ColumnElement[int]:
    return case((_pages.edition >= clock(now), _pages.edition + 1), else_=clock(now))


def _counts() -> dict[str, Any]:
    """What a page that was deleted meanwhile begins anew."""
    live = _pages.deleted_at.is_(None)
    return {
        "render_count": case((live, _pages.render_count + 1), else_=1),
        "access_count": case((live, _pages.access_count), else_=0),
    }


def _values(page: CachedPage, blob: str | None, now: int | None) -> dict[str, Any]:
    return {
        "blob": blob,
        "hot_behind": True,
        "due_at": clock(now) + PUBLISH_MS,
        "changed_at": clock(now),
        "deleted_at": null(),
        "asked_url": page.url,
        "final_url": page.final_url,
        "status": page.status,
        "headers_json": json.dumps(page.headers),
        "etag": page.etag,
        "rendered_at": page.rendered_at,
        "render_ms": page.render_ms,
        "size": page.size,
        "stored_size": len(page.body),
    }


def _buried(row: Any, edition: int) -> Buried:
    live = row.deleted_at is None
    return Buried(row.name, edition, row.blob, row.size if live else 0, live)


def _page_row(row: Row[Any]) -> PageRow:
    return PageRow(
        name=row.name,
        tenant_id=row.tenant_id,
        edition=row.edition,
        blob=row.blob,
        hot_behind=row.hot_behind,
        deleted=row.deleted_at is not None,
        stored_size=row.stored_size,
        access_count=row.access_count,
        page=CachedPage(
            url=row.asked_url,
            final_url=row.final_url,
            status=row.status,
            headers=tuple((name, value) for name, value in json.loads(row.headers_json)),
            etag=row.etag,
            rendered_at=row.rendered_at,
            render_ms=row.render_ms,
            size=row.size,
            body=b"",
        ),
    )
