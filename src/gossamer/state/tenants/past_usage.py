"""The usage of deleted pages: clearing the cache does not clear the statistics.

A page's row counts as long as the page is there. When it is deleted, what it counted is added to its URL
here, in the same transaction. Of each tenant only the URLs that were rendered most are remembered.
"""

from collections import Counter
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, select

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import insert_into
from gossamer.state.db.tables import cached_pages, past_usage
from gossamer.web.url.url import digest

MAX_URLS: Final = 1_000  # of a tenant

_pages: Final = cached_pages.c
_past: Final = past_usage.c
Counts = dict[tuple[str, str], Counter[str]]  # by tenant and URL


async def remember(connection: AsyncConnection, which: ColumnElement[bool]) -> None:
    """Add the counts of pages that are about to be deleted, all variants and spellings of a URL together.
    The counts of deleted ones were added before."""
    counts = await _counts(connection, which)
    if not counts:
        return
    new = insert_into(connection, past_usage)
    added = new.on_conflict_do_update(
        index_elements=["name"],
        set_={name: _past[name] + new.excluded[name] for name in ("renders", "accesses")},
    )
    rows: list[dict[str, Any]] = [
        {"name": digest(f"{tenant}\n{url}"), "tenant_id": tenant, "url": url, **counted}
        for (tenant, url), counted in counts.items()
    ]
    # In the order of their names, so that two concurrent writers cannot deadlock.
    await connection.execute(added, sorted(rows, key=lambda row: row["name"]))
    for tenant in {tenant for tenant, _ in counts}:
        await _trim(connection, tenant)


async def _counts(connection: AsyncConnection, which: ColumnElement[bool]) -> Counts:
    counted = (_pages.tenant_id, _pages.url, _pages.render_count, _pages.access_count)
    counts: Counts = {}
    for row in await connection.execute(select(*counted).where(which, _pages.deleted_at.is_(None))):
        of_url = counts.setdefault((row.tenant_id, row.url), Counter())
        of_url["renders"] += row.render_count
        of_url["accesses"] += row.access_count
    return counts


async def _trim(connection: AsyncConnection, tenant: str) -> None:
    """Forget the URLs beyond the bound, except those that another transaction has locked."""
    ranked = select(_past.name).where(_past.tenant_id == tenant)
    beyond = ranked.order_by(_past.renders.desc(), _past.accesses.desc(), _past.name).offset(MAX_URLS)
    free = select(_past.name).where(_past.name.in_(beyond)).with_for_update(skip_locked=True)
    await connection.execute(delete(past_usage).where(_past.name.in_(free)))
