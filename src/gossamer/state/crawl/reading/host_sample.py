"""A sample of the pages that a crawl has stored of a host, spread over the time of the crawl.

Pages that were stored together are in one blob, so the sample is taken in small groups.
"""

from typing import Any, Final

from sqlalchemy import Select, func, select

from gossamer.state.crawl.crawl_tables import crawled_pages
from gossamer.state.crawl.crawled_pages import COLUMNS, USUAL_OUTCOME, StoredPage
from gossamer.state.db.connection import AsyncConnection

GROUPS: Final = 6
PER_GROUP: Final = 4
SAMPLE: Final = GROUPS * PER_GROUP
_HTML: Final = ("text/html", "application/xhtml+xml")

_pages: Final = crawled_pages.c


async def take(connection: AsyncConnection, crawl_id: str, host: str) -> list[StoredPage]:
    """At most `SAMPLE` HTML pages with their content, none a duplicate of another; all of them if there are
    no more."""
    own = _of_host(crawl_id, host)
    found = await _rows(connection, own.limit(SAMPLE + 1))
    if len(found) <= SAMPLE:
        return found
    here = (_pages.crawl_id == crawl_id, _pages.host == host)
    last = await connection.scalar(select(func.max(_pages.crawled_at)).where(*here)) or 0
    first = found[0].crawled_at
    sample = {page.url_hash: page for page in found[:PER_GROUP]}
    for group in range(1, GROUPS):
        since = first + (last - first) * group // GROUPS
        for page in await _rows(connection, own.where(_pages.crawled_at >= since).limit(PER_GROUP)):
            sample[page.url_hash] = page
    return list(sample.values())


def _of_host(crawl_id: str, host: str) -> Select[Any]:
    query = select(*COLUMNS).where(_pages.crawl_id == crawl_id, _pages.host == host)
    query = query.where(_pages.outcome == USUAL_OUTCOME, _pages.content_type.in_(_HTML))
    query = query.where(_pages.duplicate_of.is_(None), _pages.blob.is_not(None))
    return query.order_by(_pages.crawled_at, _pages.url_hash)


async def _rows(connection: AsyncConnection, query: Select[Any]) -> list[StoredPage]:
    return [StoredPage(**row._mapping) for row in await connection.execute(query)]
