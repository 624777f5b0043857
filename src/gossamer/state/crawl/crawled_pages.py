# ruff: noqa: S608 - the statements are put together from constants
"""Crawled pages: how they are written, and how they are read, in the order in which they were stored.

They are written with the database's time, and for one crawl one transaction after the other. Two may fall on
the same millisecond; but a transaction ends within its deadline. So a reader that follows a running crawl
reads up to that long ago, and misses nothing.
"""

from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct
from sqlalchemy import ColumnElement, literal_column, or_, select, tuple_

from gossamer.state.crawl.crawl_tables import crawled_pages
from gossamer.state.db.bulk import bulk, storable
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import DEADLINE, clock

USUAL_STATUS: Final = 200
USUAL_OUTCOME: Final = "ok"
SETTLED_MS: Final = round(DEADLINE * 1000) + 1_000

T = TypeVar("T", int, str)
_pages: Final = crawled_pages.c


class CrawledPage(Struct, frozen=True, kw_only=True):
    """What came of a URL, whether there was an answer or not."""

    final_url: str
    status_code: int | None = None
    content_type: str = ""
    content_length: int = 0
    content_hash: str = ""
    fingerprint: str = ""  # of the text; similar texts have similar ones
    duplicate_of: str | None = None  # the URL hash of another page of the crawl
    title: str = ""
    description: str = ""
    language: str = ""
    canonical: str = ""
    directives: str = ""  # what the page asks of robots, separated by commas
    links_count: int = 0
    via: str = "fetch"
    duration_ms: int = 0
    error: str = ""
    outcome: str = ""
    blob: str | None = None
    blob_offset: int = 0
    blob_size: int = 0
    screenshot: str | None = None  # the blob with a picture of it

    def as_row(self) -> tuple[Any, ...]:
        """Its values, without characters that a database cannot hold."""
        return tuple([storable(value) if type(value) is str else value for value in _values(self)])


class StoredPage(CrawledPage, frozen=True, kw_only=True):
    """A crawled page, and where it stands in its crawl."""

    crawl_id: str
    url_hash: str
    url: str
    host: str
    depth: int
    crawled_at: int


_OWN: Final = CrawledPage.__struct_fields__
_values: Final = attrgetter(*_OWN)
_KINDS: Final = {
    **dict.fromkeys(_OWN, "text"),
    "status_code": "smallint",
    "links_count": "int",
    "duration_ms": "int",
    **dict.fromkeys(("content_length", "blob_offset", "blob_size"), "bigint"),
}

# `crawled_at` never goes back, so a reader who follows the crawl misses nothing when the clock is set back.
INSERT: Final = bulk(
    f"""
INSERT INTO crawled_pages (crawl_id, url_hash, url, host, depth, crawled_at, {", ".join(_OWN)})
SELECT crawl_id, url_hash, url, host, depth, {{greatest}}({{now}}, COALESCE(
    (SELECT max(crawled_at) FROM crawled_pages AS before WHERE before.crawl_id = given.crawl_id), 0)),
    {", ".join(_OWN)} FROM {{given}} WHERE true""",
    rows={
        "crawl_id": "text",
        "url_hash": "text",
        "url": "text",
        "host": "text",
        "depth": "smallint",
        **_KINDS,
    },
)


class Position(NamedTuple):
    """Where a page stands in the order."""

    crawled_at: int
    url_hash: str
    crawl_id: str = ""  # matters where pages of several crawls are listed


class PageFilter(Struct, frozen=True, kw_only=True):
    """The pages of one crawl; without one, those of all crawls of a tenant (`tenant_pages.py`)."""

    crawl_id: str = ""
    tenant: str = ""
    hosts: tuple[str, ...] | None = None
    status_code: int | None = None
    outcome: str | None = None
    contains: str = ""  # a text in the URL or the title
    since: int = 0  # stored at this time or later

    def conditions(self) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = [_pages.crawl_id == self.crawl_id]
        if self.status_code is not None:
            conditions += _either(_pages.status_code, self.status_code, USUAL_STATUS)
        if self.outcome is not None:
            conditions += _either(_pages.outcome, self.outcome, USUAL_OUTCOME)
        if self.hosts is not None:
            conditions.append(_pages.host.in_(self.hosts))
        if self.since:
            conditions.append(_pages.crawled_at >= self.since)
        if self.contains:
            places = (_pages.url, _pages.title)
            conditions.append(or_(*(place.icontains(self.contains, autoescape=True) for place in places)))
        return conditions


def _either(column: ColumnElement[Any], value: T, usual: T) -> list[ColumnElement[bool]]:
    """Unusual values have a partial index, which is used if the query repeats its condition."""
    return [column == value, *([column != literal_column(repr(usual))] if value != usual else [])]


_UNREAD: Final = ("fingerprint",)
COLUMNS: Final = [_pages[name] for name in StoredPage.__struct_fields__ if name not in _UNREAD]


def is_after(position: Position) -> ColumnElement[bool]:
    """In the order of one crawl."""
    return tuple_(_pages.crawled_at, _pages.url_hash) > position[:2]


async def listing(
    connection: AsyncConnection,
    which: PageFilter,
    *,
    after: Position | None = None,
    limit: int,
    settled: bool = False,
    now: int | None = None,
) -> list[StoredPage]:
    """`settled`: only pages before which no other can appear any more."""
    query = select(*COLUMNS).where(*which.conditions())
    if after is not None:
        query = query.where(is_after(after))
    if settled:
        query = query.where(_pages.crawled_at < clock(now) - SETTLED_MS)
    ordered = query.order_by(_pages.crawled_at, _pages.url_hash).limit(limit)
    return [StoredPage(**row._mapping) for row in await connection.execute(ordered)]


async def get(connection: AsyncConnection, crawl_id: str, url_hash: str) -> StoredPage | None:
    query = select(*COLUMNS).where(_pages.crawl_id == crawl_id, _pages.url_hash == url_hash)
    row = (await connection.execute(query)).first()
    return None if row is None else StoredPage(**row._mapping)


class KnownContent(NamedTuple):
    """What identifies the content of a page."""

    fingerprint: str
    url_hash: str
    host: str
    content_hash: str


async def contents(
    connection: AsyncConnection, crawl_id: str, *, before: Position | None = None, limit: int
) -> tuple[list[KnownContent], Position | None]:
    """The contents of pages that are no duplicates, newest first; and where to go on, if there are more."""
    query = (
        select(*(_pages[name] for name in KnownContent._fields), _pages.crawled_at)
        .where(_pages.crawl_id == crawl_id, _pages.fingerprint != "", _pages.duplicate_of.is_(None))
        .order_by(_pages.crawled_at.desc(), _pages.url_hash.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(tuple_(_pages.crawled_at, _pages.url_hash) < before[:2])
    rows = (await connection.execute(query)).all()
    last = Position(rows[-1].crawled_at, rows[-1].url_hash) if len(rows) == limit else None
    return [KnownContent(*row[:-1]) for row in rows], last
