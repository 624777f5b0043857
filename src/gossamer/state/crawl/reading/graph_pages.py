"""What the graph of a crawl needs to know of its pages."""

from collections.abc import Collection
from typing import Final

from sqlalchemy import select, tuple_

from gossamer.state.crawl.crawl_tables import crawled_pages, frontier
from gossamer.state.crawl.crawled_pages import Position
from gossamer.state.db.connection import AsyncConnection
from gossamer.web.crawl.graph.crawl_graph import GraphPage
from gossamer.web.crawl.graph.graph_answer import KnownFrom

_pages: Final = crawled_pages.c
_COLUMNS: Final = [_pages[name] for name in GraphPage.__struct_fields__]


async def listing(
    connection: AsyncConnection, crawl_id: str, after: Position | None, limit: int
) -> tuple[list[GraphPage], Position | None]:
    """Pages in the order in which they were stored, and where to go on; None if there are no more."""
    query = select(_pages.crawled_at, *_COLUMNS).where(_pages.crawl_id == crawl_id)
    if after is not None:
        query = query.where(tuple_(_pages.crawled_at, _pages.url_hash) > after[:2])
    rows = (await connection.execute(query.order_by(_pages.crawled_at, _pages.url_hash).limit(limit))).all()
    last = Position(rows[-1].crawled_at, rows[-1].url_hash) if len(rows) == limit else None
    return [GraphPage(*row[1:]) for row in rows], last


async def known_from(
    connection: AsyncConnection, crawl_id: str, url_hashes: Collection[str]
) -> dict[str, KnownFrom]:
    """How the crawl found pages, as far as that is known."""
    own, before = frontier.alias("own"), frontier.alias("before")
    joined = own.outerjoin(
        before, (before.c.crawl_id == own.c.crawl_id) & (before.c.url_hash == own.c.found_on)
    )
    query = (
        select(own.c.url_hash, own.c.depth, own.c.found_on, before.c.as_sitemap)
        .select_from(joined)
        .where(own.c.crawl_id == crawl_id, own.c.url_hash.in_(url_hashes))
    )
    found: dict[str, KnownFrom] = {}
    for row in await connection.execute(query):
        if row.found_on is None:
            if row.depth == 0:
                found[row.url_hash] = "seed"
        else:
            found[row.url_hash] = "sitemap" if row.as_sitemap else "page"
    return found
