"""The importance of pages, and when it was found."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import or_, update

from gossamer.state.crawl import crawl_counts
from gossamer.state.crawl.crawl_tables import crawls
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock

_crawls: Final = crawls.c

# Most importances are as they were, and are not written.
_SET: Final = bulk(
    """
UPDATE fresh_pages SET importance = given.importance FROM {given}
WHERE fresh_pages.crawl_id = given.crawl_id AND fresh_pages.url_hash = given.url_hash
    AND abs(fresh_pages.importance - given.importance) > 0.1 * fresh_pages.importance""",
    rows={"crawl_id": "text", "url_hash": "text", "importance": "double precision"},
)


async def claim(connection: AsyncConnection, crawl_id: str, every_ms: int, *, now: int | None = None) -> bool:
    """Whether the pages are to be weighed again, by the caller and by nobody else."""
    old = or_(_crawls.weighed_at.is_(None), _crawls.weighed_at < clock(now) - every_ms)
    claimed = update(crawls).where(_crawls.id == crawl_id, old).values(weighed_at=clock(now))
    return (await connection.execute(claimed)).rowcount == 1


async def write(connection: AsyncConnection, crawl_id: str, found: Sequence[tuple[str, float]]) -> None:
    """By URL hash. Raises `CrawlsGone`."""
    await crawl_counts.lock_all(connection, [crawl_id])
    await _SET(connection, None, [(crawl_id, *each) for each in sorted(found)])
