"""The pages of one site in the search index."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, or_, select

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import search_pages

_pages: Final = search_pages.c


class IndexedPage(NamedTuple):
    final_url: str
    title: str
    description: str


async def listing(
    connection: AsyncConnection, tenants: Sequence[str], origins: Sequence[str], domain: str, *, limit: int
) -> list[IndexedPage]:
    """Pages of these origins and, unless `domain` is empty, of all hosts below it; those read first first."""
    here: ColumnElement[bool] = _pages.site.in_(origins)
    if domain:
        here = or_(here, _pages.site.endswith(f".{domain}", autoescape=True))
    columns = [_pages[name] for name in IndexedPage._fields]
    query = select(*columns).where(_pages.tenant_id.in_(tenants), here).order_by(_pages.id).limit(limit)
    return [IndexedPage(*row) for row in await connection.execute(query)]
