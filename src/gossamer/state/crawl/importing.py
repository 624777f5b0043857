"""Crawls that come out of a file: they are over from the start, and get their pages afterwards."""

from typing import Final

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.crawl import crawls as table
from gossamer.state.crawl.crawl_tables import crawled_pages, crawls
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.db.database import clock
from gossamer.web.crawl.spec import CrawlSpec

_crawls: Final = crawls.c
_pages: Final = crawled_pages.c


async def add(
    connection: AsyncConnection,
    tenant: str,
    spec: CrawlSpec,
    *,
    tier: str,
    quota_tier: str | None,
    name: str,
    request_id: str = "",
    now: int | None = None,
) -> Crawl:
    crawl = await table.add(
        connection,
        tenant,
        spec,
        tier=tier,
        quota_tier=quota_tier,
        name=name,
        request_id=request_id,
        now=now,
    )
    over = update(crawls).where(_crawls.id == crawl.id)
    await connection.execute(over.values(state="done", started_at=clock(now), finished_at=clock(now)))
    found = await table.get(connection, crawl.id)
    assert found is not None  # noqa: S101 - in the same transaction
    return found


async def next_moment(connection: AsyncConnection, crawl_id: str, *, now: int | None = None) -> int:
    """The time of the next pages: later than that of those before, because a blob has pages of one moment."""
    last = select(_pages.crawled_at).where(_pages.crawl_id == crawl_id)
    newest = await connection.scalar(last.order_by(_pages.crawled_at.desc()).limit(1))
    present = await connection.scalar(select(clock(now)))
    return max(present or 0, (newest or 0) + 1)
