"""Crawled pages, as they are read: in the order in which they were stored.

`frontier` writes them with the database's time, and for one crawl one transaction after the other. Two may
fall on the same millisecond; but a transaction ends within its deadline, so who follows a crawl that runs
reads until that long ago, and misses nothing.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, literal_column, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.crawl_tables import crawled_pages
from gossamer.state.crawled_page import unsigned
from gossamer.state.database import DEADLINE, clock

USUAL_STATUS: Final = 200
USUAL_OUTCOME: Final = "ok"
SETTLED_MS: Final = round(DEADLINE * 1000) + 1_000

T = TypeVar("T", int, str)
_pages: Final = crawled_pages.c


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    crawl_id: str
    url_hash: str
    url: str
    final_url: str
    host: str
    status_code: int | None
    content_type: str
    content_length: int
    content_hash: str
    duplicate_of: str | None
    title: str
    description: str
    language: str
    canonical: str
    directives: str  # what the page asks of robots, with commas
    links_count: int
    depth: int
    via: str
    crawled_at: int
    duration_ms: int
    error: str
    outcome: str
    blob: str | None
    blob_offset: int
    blob_size: int


class Position(NamedTuple):
    """Where in the order a page stands."""

    crawled_at: int
    url_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    crawl_id: str
    hosts: tuple[str, ...] | None = None
    status_code: int | None = None
    outcome: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = [_pages.crawl_id == self.crawl_id]
        if self.status_code is not None:
            conditions += _either(_pages.status_code, self.status_code, USUAL_STATUS)
        if self.outcome is not None:
            conditions += _either(_pages.outcome, self.outcome, USUAL_OUTCOME)
        if self.hosts is not None:
            conditions.append(_pages.host.in_(self.hosts))
        return conditions


def _either(column: ColumnElement[Any], value: T, usual: T) -> list[ColumnElement[bool]]:
    """What is unusual has an index of its own, which is used where the query says so in the same words."""
    return [column == value, *([column != literal_column(repr(usual))] if value != usual else [])]


_COLUMNS: Final = [_pages[name] for name in PageRow.__slots__]


async def listing(
    connection: AsyncConnection,
    which: PageFilter,
    *,
    after: Position | None = None,
    limit: int,
    settled: bool = False,
    now: int | None = None,
) -> list[PageRow]:
    """`settled`: only what nothing can appear before any more."""
    query = select(*_COLUMNS).where(*which.conditions())
    if after is not None:
        query = query.where(tuple_(_pages.crawled_at, _pages.url_hash) > after)
    if settled:
        query = query.where(_pages.crawled_at < clock(now) - SETTLED_MS)
    ordered = query.order_by(_pages.crawled_at, _pages.url_hash).limit(limit)
    return [PageRow(**row._mapping) for row in await connection.execute(ordered)]


async def get(connection: AsyncConnection, crawl_id: str, url_hash: str) -> PageRow | None:
    query = select(*_COLUMNS).where(_pages.crawl_id == crawl_id, _pages.url_hash == url_hash)
    row = (await connection.execute(query)).first()
    return None if row is None else PageRow(**row._mapping)


async def simhashes(
    connection: AsyncConnection, crawl_id: str, *, before: Position | None = None, limit: int
) -> tuple[list[tuple[int, str]], Position | None]:
    """Of the pages that are like none before them, the newest first, with the hashes of their URLs; and where
    to go on, if there are more."""
    query = (
        select(_pages.simhash, _pages.url_hash, _pages.crawled_at)
        .where(_pages.crawl_id == crawl_id, _pages.simhash.is_not(None), _pages.duplicate_of.is_(None))
        .order_by(_pages.crawled_at.desc(), _pages.url_hash.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(tuple_(_pages.crawled_at, _pages.url_hash) < before)
    rows = (await connection.execute(query)).all()
    last = Position(rows[-1].crawled_at, rows[-1].url_hash) if len(rows) == limit else None
    return [(unsigned(row.simhash), row.url_hash) for row in rows], last
