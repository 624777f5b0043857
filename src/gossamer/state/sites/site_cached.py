"""The cached pages of a site, with when they were rendered."""

from typing import Final, NamedTuple

from sqlalchemy import select

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import cached_pages
from gossamer.state.pages import page_rows
from gossamer.state.pages.page_key import PagePrefix

MAX_LISTED: Final = 50_000

_pages: Final = cached_pages.c


class SiteCachedPage(NamedTuple):
    url: str  # as it was visited
    variant: str
    rendered_at: int


async def list_cached(
    connection: AsyncConnection, tenant: str, prefix: PagePrefix
) -> dict[str, SiteCachedPage]:
    """By their names in the cache, those that were not rendered for the longest time first."""
    query = select(_pages.name, _pages.asked_url, _pages.variant, _pages.rendered_at)
    query = query.where(page_rows.of_prefix(tenant, prefix), _pages.deleted_at.is_(None))
    found = await connection.execute(query.order_by(_pages.rendered_at, _pages.name).limit(MAX_LISTED))
    return {row[0]: SiteCachedPage(row[1], row[2], row[3]) for row in found}
