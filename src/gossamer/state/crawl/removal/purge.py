"""Which pages are removed by a filter, in which crawls."""

from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from sqlalchemy import ColumnElement, and_, false, func, not_, select

from gossamer.state.crawl.crawl_tables import crawl_hosts, crawled_pages, crawls
from gossamer.state.crawl.refresh import fresh_pages
from gossamer.state.crawl.removal.removed_pages import OwnedCrawl
from gossamer.state.crawl.upkeep import archives
from gossamer.state.db.connection import AsyncConnection

_pages: Final = crawled_pages.c
_crawls: Final = crawls.c


class PurgeCount(Struct, frozen=True, rename="camel"):
    """What a filter matches."""

    pages: int
    bytes: int
    crawls: int  # that have such pages


class PurgeFilter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Pages that match all of what is given."""

    crawl_id: str = ""
    hosts: tuple[str, ...] = ()  # the names of one host, with their ports
    before: int | None = None  # they were stored before this, in milliseconds
    outcome: str = ""
    # Only pages that are old: one that was restored from an archive counts as stored at that time, and one of
    # a crawl that is kept fresh does not age.
    aged: bool = False

    def conditions(self, crawl_id: str = "") -> list[ColumnElement[bool]]:
        """Of one crawl, or of all that match."""
        conditions: list[ColumnElement[bool]] = []
        if crawl_id or self.crawl_id:
            conditions.append(_pages.crawl_id == (crawl_id or self.crawl_id))
        if self.hosts:
            conditions.append(_pages.host.in_(self.hosts))
        if self.before is not None:
            conditions.append(_pages.crawled_at < self.before)
            if self.aged:
                conditions += [archives.is_not_restored_since(self.before), not_(fresh_pages.is_current())]
        if self.outcome:
            conditions.append(_pages.outcome == self.outcome)
        return conditions

    def describe(self) -> str:
        """In a line, for the log of activity."""
        parts = [f"crawl {self.crawl_id}"] if self.crawl_id else []
        parts += [f"host {self.hosts[0]}"] if self.hosts else []
        parts += [f"outcome {self.outcome}"] if self.outcome else []
        if self.before is not None:
            moment = datetime.fromtimestamp(self.before / 1000, UTC)
            parts.append(f"before {moment:%Y-%m-%dT%H:%M:%SZ}")
        return ", ".join(parts)


async def list_crawls(
    connection: AsyncConnection, which: PurgeFilter, after: str, limit: int
) -> list[OwnedCrawl]:
    """Crawls that may have such pages, in the order of their ids. One that is being deleted has none."""
    query = select(_crawls.id, _crawls.tenant_id).where(_crawls.deleting == false(), _crawls.id > after)
    if which.crawl_id:
        query = query.where(_crawls.id == which.crawl_id)
    if which.hosts:
        here = crawl_hosts.c
        query = query.where(
            select(here.host).where(here.crawl_id == _crawls.id, here.host.in_(which.hosts)).exists()
        )
    if which.before is not None:
        query = query.where(_crawls.created_at < which.before)
    return [OwnedCrawl(*row) for row in await connection.execute(query.order_by(_crawls.id).limit(limit))]


async def count(connection: AsyncConnection, which: PurgeFilter) -> PurgeCount:
    joined = crawled_pages.join(crawls, and_(_crawls.id == _pages.crawl_id, _crawls.deleting == false()))
    size = func.coalesce(func.sum(_pages.content_length), 0)
    query = select(func.count(), size, func.count(_pages.crawl_id.distinct())).select_from(joined)
    pages, total, number = (await connection.execute(query.where(*which.conditions()))).one()
    return PurgeCount(pages, int(total), number)
