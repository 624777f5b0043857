"""The cached pages of a tenant, in pages, the last rendered first."""

import asyncio
import re
import string
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct
from sqlalchemy import Row, Select, func, select, tuple_

from gossamer.problems import Unavailable, validation_error
from gossamer.state.db.database import Database
from gossamer.state.db.tables import cached_pages
from gossamer.state.pages import page_rows
from gossamer.state.pages.cached_page import Location
from gossamer.state.pages.hot_pages import HotPages
from gossamer.state.pages.page_key import PagePrefix
from gossamer.state.pages.write_behind import WriteBehind

_pages: Final = cached_pages.c
_CURSOR: Final = re.compile(r"([0-9]{1,15})-([0-9a-f]{64})")


class CachedPageFilter(Struct, frozen=True):
    """Which pages to list."""

    tenant: str
    search: str | None = None  # a part of the URL, in any case
    prefix: PagePrefix | None = None
    site: str | None = None  # an origin


class ListedPage(Struct, frozen=True, kw_only=True):
    url: str  # in its cache form
    variant: str
    status: int
    size: int  # bytes of HTML
    stored_size: int  # the same, compressed
    rendered_at: int
    render_ms: int
    renders: int
    hits: int
    last_hit_at: int | None
    tiers: tuple[Location, ...]


class ListedPages(Struct, frozen=True):
    pages: list[ListedPage]
    cursor: str | None  # where the next ones begin; None on the last page


class PageListing(Struct, frozen=True):
    database: Database
    hot: HotPages
    behind: WriteBehind

    async def list_page(self, wanted: CachedPageFilter, *, cursor: str | None, limit: int) -> ListedPages:
        """The last rendered first. It goes through at most as many pages as a scan may."""
        query = _query(wanted).limit(limit + 1)
        if cursor is not None:
            query = query.where(tuple_(_pages.rendered_at, _pages.name) < _position(cursor))
        async with self.database.scan() as connection:
            found = list(await connection.execute(query))
        page = found[:limit]
        editions = await asyncio.gather(*(self._hot_edition(row.name) for row in page))
        listed = [
            self._listed(row, is_hot=edition == row.edition)
            for row, edition in zip(page, editions, strict=True)
        ]
        return ListedPages(listed, _cursor(page[-1]) if len(found) > limit else None)

    async def _hot_edition(self, name: str) -> int:
        try:
            return await self.hot.edition(name)
        except Unavailable:
            return 0

    def _listed(self, row: Row[Any], *, is_hot: bool) -> ListedPage:
        tiers = [Location.HOT] if is_hot else []
        if row.blob is not None:
            tiers.append(Location.COLD)
        return ListedPage(
            url=row.url,
            variant=row.variant,
            status=row.status,
            size=row.size,
            stored_size=row.stored_size,
            rendered_at=row.rendered_at,
            render_ms=row.render_ms,
            renders=row.render_count,
            hits=row.access_count + self.behind.accesses(row.name),
            last_hit_at=row.accessed_at,
            tiers=tuple(tiers),
        )


def _query(wanted: CachedPageFilter) -> Select[Any]:
    query = select(cached_pages).where(_pages.tenant_id == wanted.tenant, _pages.deleted_at.is_(None))
    query = query.order_by(_pages.rendered_at.desc(), _pages.name.desc())
    if wanted.site is not None:
        query = query.where(_pages.site == wanted.site)
    if wanted.prefix is not None:
        query = query.where(page_rows.of_prefix(wanted.tenant, wanted.prefix))
    if wanted.search is not None:
        # URLs are in ASCII, where both databases agree on what is lower case.
        part = quote(wanted.search, safe=string.printable).lower()
        query = query.where(func.lower(_pages.url).contains(part, autoescape=True))
    return query


def _cursor(row: Row[Any]) -> str:
    return f"{row.rendered_at}-{row.name}"


def _position(cursor: str) -> tuple[int, str]:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise validation_error(
            "The cursor is not one that was given out.", hint="Leave it out to start over."
        )
    return int(match[1]), match[2]
