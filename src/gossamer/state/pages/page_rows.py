"""The rows of cached pages. Every function works on an open connection.

A row that was deleted stays for a while as a tombstone, so that editions go on growing, and until the hot
tier has confirmed it. `due_at` is when repair has something to do with a row.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import ColumnElement, Row, and_, bindparam, case, delete, func, null, or_, select, update

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.db.tables import cached_pages
from gossamer.state.pages.cached_page import CachedPage
from gossamer.state.pages.page_key import PageKey, PagePrefix, site_of
from gossamer.state.tenants import past_usage

PUBLISH_MS: Final = 30_000  # by then the hot tier has what was written, and it is noted
CLEAR_MS: Final = 5_000  # by then a deleted page has left every tier
RETRY_MS: Final = 10_000
MAX_COUNTED: Final = 100_000
TOMBSTONE_MS: Final = 3_600_000  # longer than any fence in the hot tier stands

_pages: Final = cached_pages.c
Which = ColumnElement[bool]


class CachedPageRow(Struct, frozen=True):
    name: str
    tenant_id: str
    edition: int
    blob: str | None
    hot_behind: bool
    deleted: bool
    stored_size: int
    access_count: int
    page: CachedPage  # without its body


class DeletedPage(NamedTuple):
    """A page that was deleted just now, or one of which the hot tier has not confirmed it yet (size 0)."""

    name: str
    edition: int
    blob: str | None
    size: int
    live: bool


async def find(connection: AsyncConnection, name: str) -> CachedPageRow | None:
    row = (await connection.execute(select(cached_pages).where(_pages.name == name))).first()
    return None if row is None else _page_row(row)


async def write(
    connection: AsyncConnection, key: PageKey, page: CachedPage, blob: str | None, *, now: int | None = None
) -> tuple[int, str | None]:
    """The page's new edition, and the blob of the one before. The row stays locked until the end of the
    transaction, so editions grow in the order in which transactions commit."""
    values, form = _values(page, blob, now), key.form
    new = insert_into(connection, cached_pages).values(
        name=key.name,
        tenant_id=key.tenant,
        site=site_of(form),
        url=form,
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


async def delete_pages(
    connection: AsyncConnection, which: Which, limit: int, *, before: int, now: int | None = None
) -> list[DeletedPage]:
    """Delete up to `limit` of the pages that were there at `before`; those already deleted that the hot
    tier has not confirmed are among them. From now on `get` finds none of them."""
    asked = and_(which, _pages.changed_at <= before, or_(_pages.deleted_at.is_(None), _pages.hot_behind))
    columns = (_pages.name, _pages.blob, _pages.size, _pages.deleted_at)
    query = select(*columns).where(asked).order_by(_pages.name).limit(limit).with_for_update()
    rows = {row.name: row for row in await connection.execute(query)}
    await past_usage.remember(connection, _pages.name.in_(rows))
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
    return [_to_deleted(rows[name], edition) for name, edition in editions]


def named(name: str) -> Which:
    return _pages.name == name


def of_url(tenant: str, url: str) -> Which:
    return and_(_pages.tenant_id == tenant, _pages.site == site_of(url), _pages.url == url)


def of_prefix(tenant: str, prefix: PagePrefix) -> Which:
    # Not LIKE, which has wildcards and ignores case on SQLite.
    starts = [prefix.text] if prefix.starred else [f"{prefix.text}/", f"{prefix.text}?"]
    begins = [func.substr(_pages.url, 1, len(start)) == start for start in starts]
    below = or_(*begins) if prefix.starred else or_(_pages.url == prefix.text, *begins)
    return and_(_pages.tenant_id == tenant, _pages.site == prefix.site, below)


def of_tenant(tenant: str) -> Which:
    return _pages.tenant_id == tenant


async def newest(connection: AsyncConnection) -> int:
    return await connection.scalar(select(func.max(_pages.edition))) or 0


async def list_changed(connection: AsyncConnection, after: int, limit: int) -> list[tuple[str, int]]:
    """Name and edition of pages that were written or deleted since, the oldest first."""
    query = select(_pages.name, _pages.edition).where(_pages.edition > after).order_by(_pages.edition)
    return [(row.name, row.edition) for row in await connection.execute(query.limit(limit))]


async def confirm_hot(
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
    # In the order of their names, so that two concurrent writers cannot deadlock.
    await connection.execute(counted, [{"page": name, "more": more} for name, more in sorted(counts.items())])


async def are_due(connection: AsyncConnection, *, now: int | None = None) -> bool:
    return (
        await connection.scalar(select(_pages.name).where(_pages.due_at <= clock(now)).limit(1)) is not None
    )


async def count_due(connection: AsyncConnection, most: int = MAX_COUNTED, *, now: int | None = None) -> int:
    """The number of pages that are due for repair, up to `most`."""
    some = select(_pages.name).where(_pages.due_at <= clock(now)).limit(most).subquery()
    return await connection.scalar(select(func.count()).select_from(some)) or 0


async def take_due(connection: AsyncConnection, limit: int, *, now: int | None = None) -> list[CachedPageRow]:
    """Take pages that are due for repair; if this process fails, another takes them again."""
    due = select(_pages.name).where(_pages.due_at <= clock(now)).order_by(_pages.due_at).limit(limit)
    taken = update(cached_pages).where(_pages.name.in_(due.with_for_update(skip_locked=True)))
    rows = await connection.execute(taken.values(due_at=clock(now) + RETRY_MS).returning(*cached_pages.c))
    return [_page_row(row) for row in rows]


async def add_blob(connection: AsyncConnection, name: str, edition: int, blob: str) -> bool:
    """The cold tier has it now. False: the page has changed meanwhile."""
    same = and_(_pages.name == name, _pages.edition == edition, _pages.blob.is_(None))
    due = case((_pages.hot_behind, _pages.due_at), else_=null())
    added = update(cached_pages).where(same, _pages.deleted_at.is_(None)).values(blob=blob, due_at=due)
    return (await connection.execute(added)).rowcount == 1


async def owe_blob(connection: AsyncConnection, name: str, edition: int, *, now: int | None = None) -> None:
    """The cold tier has refused it: repair is to try again soon, as one tier alone may lose it."""
    same = and_(_pages.name == name, _pages.edition == edition, _pages.blob.is_(None))
    owed = update(cached_pages).where(same, _pages.deleted_at.is_(None))
    await connection.execute(owed.values(due_at=clock(now)))


async def remove_blob(connection: AsyncConnection, row: CachedPageRow, *, now: int | None = None) -> None:
    """The cold tier does not have what it should have; repair decides what becomes of the page."""
    same = and_(_pages.name == row.name, _pages.edition == row.edition)
    await connection.execute(update(cached_pages).where(same).values(blob=null(), due_at=clock(now)))


async def forget(connection: AsyncConnection, rows: Collection[CachedPageRow]) -> None:
    """Delete these rows, unless they have changed meanwhile.

    Rows are locked before their usage is written, here and in `delete_pages`: the other order would deadlock.
    """
    if rows:
        same = or_(*(and_(_pages.name == row.name, _pages.edition == row.edition) for row in rows))
        locked = select(_pages.name).where(same).order_by(_pages.name).with_for_update()
        named = _pages.name.in_((await connection.scalars(locked)).all())
        await past_usage.remember(connection, named)
        await connection.execute(delete(cached_pages).where(named))


def _next(now: int | None) -> ColumnElement[int]:
    return case((_pages.edition >= clock(now), _pages.edition + 1), else_=clock(now))


def _counts() -> dict[str, Any]:
    """Counts that start again for a page that was deleted meanwhile."""
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


def _to_deleted(row: Any, edition: int) -> DeletedPage:
    live = row.deleted_at is None
    return DeletedPage(row.name, edition, row.blob, row.size if live else 0, live)


def _page_row(row: Row[Any]) -> CachedPageRow:
    return CachedPageRow(
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
