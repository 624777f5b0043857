# ruff: noqa: S608 - only constants of this module are put into these statements
"""Fresh pages: what the visits to a page have shown, and when it is visited next.

A visit is written in the transaction that ends its task, so each counts once. The crawl is locked there, and
nobody else changes the rows of its pages.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import ColumnElement, Row, and_, delete, exists, false, func, not_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.crawl.crawl_tables import crawled_pages, crawls
from gossamer.state.crawl.refresh.refresh_tables import fresh_pages, refresh_days
from gossamer.state.db.bulk import bulk, storable
from gossamer.state.db.database import clock
from gossamer.web.crawl.refresh.freshness import FreshnessSums
from gossamer.web.crawl.refresh.page_change import PageChange, PageContentMark
from gossamer.web.crawl.refresh.revisit import next_visit, weight_of
from gossamer.web.crawl.refresh.visit_history import DAY_MS, VisitHistory

_rows: Final = fresh_pages.c
_pages: Final = crawled_pages.c
_days: Final = refresh_days.c
_HISTORY: Final = VisitHistory.__struct_fields__


class KnownPage(Struct, frozen=True, kw_only=True):
    """What is known of a page that is visited again."""

    mark: PageContentMark
    history: VisitHistory
    etag: str = ""
    last_modified: str = ""


def is_current() -> ColumnElement[bool]:
    """Of a crawled page: whether it is what a crawl that is kept fresh has now. Its age says nothing then: it
    was stored when it last changed, and may have been visited since."""
    fresh = select(crawls.c.id).where(crawls.c.keeps_fresh != false())
    gone = exists().where(
        _rows.crawl_id == _pages.crawl_id, _rows.url_hash == _pages.url_hash, _rows.gone_at.is_not(None)
    )
    return and_(_pages.crawl_id.in_(fresh), not_(gone))


class PageVisit(Struct, frozen=True, kw_only=True):
    """What a visit to a page of a crawl that is kept fresh has found."""

    change: PageChange
    etag: str | None = None  # None: as it was
    last_modified: str | None = None
    bytes: int = 0  # of the answer's body, as it was sent
    least_ms: int
    most_ms: int
    randomness: float = 0.0


class VisitedPage(NamedTuple):
    """A page, and what was found there."""

    crawl_id: str
    url_hash: str
    host: str
    priority: int
    visit: PageVisit


async def known_pages(
    connection: AsyncConnection, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], KnownPage]:
    """By crawl and URL hash; those that were stored before."""
    found: dict[tuple[str, str], KnownPage] = {}
    for crawl_id in sorted({crawl_id for crawl_id, _ in keys}):
        columns = [_rows[name] for name in (*_HISTORY, "etag", "last_modified")]
        marked = (
            _pages.url_hash,
            _pages.status_code,
            _pages.outcome,
            _pages.content_hash,
            _pages.fingerprint,
        )
        joined = fresh_pages.join(
            crawled_pages, (_pages.crawl_id == _rows.crawl_id) & (_pages.url_hash == _rows.url_hash)
        )
        query = select(*columns, *marked, _pages.final_url, _pages.blob).select_from(joined)
        hashes = [url_hash for owner, url_hash in keys if owner == crawl_id]
        rows = await connection.execute(query.where(_rows.crawl_id == crawl_id, _rows.url_hash.in_(hashes)))
        found |= {(crawl_id, row.url_hash): _known_page(row) for row in rows}
    return found


def _known_page(row: Any) -> KnownPage:
    mark = PageContentMark(
        status=row.status_code,
        outcome=row.outcome,
        content_hash=row.content_hash,
        fingerprint=row.fingerprint,
    )
    if mark.is_redirect:  # it is known by where it leads
        mark = PageContentMark(status=row.status_code, outcome=row.outcome, content_hash=row.final_url)
    if row.blob is None:  # what is lost has to be sent again
        return KnownPage(mark=mark, history=history_of(row))
    return KnownPage(mark=mark, history=history_of(row), etag=row.etag, last_modified=row.last_modified)


def history_of(row: Row[Any]) -> VisitHistory:
    return VisitHistory(**{name: row._mapping[name] for name in _HISTORY})


_STORE: Final = bulk(
    f"""
INSERT INTO fresh_pages (crawl_id, url_hash, host, priority, etag, last_modified, next_at,
    {", ".join(_HISTORY)})
SELECT crawl_id, url_hash, host, priority, etag, last_modified, next_at, {", ".join(_HISTORY)} FROM {{given}}
WHERE true ON CONFLICT (crawl_id, url_hash) DO UPDATE SET etag = excluded.etag,
    last_modified = excluded.last_modified, next_at = excluded.next_at,
    {", ".join(f"{name} = excluded.{name}" for name in _HISTORY)}""",
    rows={
        "crawl_id": "text",
        "url_hash": "text",
        "host": "text",
        "priority": "smallint",
        "etag": "text",
        "last_modified": "text",
        "next_at": "bigint",
        **dict.fromkeys(_HISTORY, "bigint"),
        **dict.fromkeys(("tries", "hits"), "double precision"),
    },
)
_SUMS: Final = FreshnessSums.__struct_fields__
_COUNT: Final = bulk(
    f"""
INSERT INTO refresh_days (crawl_id, host, day, {", ".join(_SUMS)})
SELECT crawl_id, host, day, {", ".join(_SUMS)} FROM {{given}}
WHERE true ON CONFLICT (crawl_id, host, day) DO UPDATE SET
    {", ".join(f"{name} = refresh_days.{name} + excluded.{name}" for name in _SUMS)}""",
    rows={"crawl_id": "text", "host": "text", "day": "int", **dict.fromkeys(_SUMS, "bigint")},
)


async def record(connection: AsyncConnection, visited: Sequence[VisitedPage], now: int | None) -> None:
    """Write visits, and plan the next ones. The crawls are locked."""
    if not visited:
        return
    at = int(await connection.scalar(select(clock(now))) or 0)
    before = await _stored(connection, [(one.crawl_id, one.url_hash) for one in visited])
    rows: list[tuple[Any, ...]] = []
    sums: dict[tuple[str, str], Counter[str]] = {}
    for one in visited:
        visit = one.visit
        known = before.get((one.crawl_id, one.url_hash))
        history = (known.history if known else VisitHistory(visited_at=at)).after(visit.change, at)
        weight = weight_of(one.priority)
        next_at = next_visit(history, weight, at, visit.least_ms, visit.most_ms, visit.randomness)
        etag, modified = _validators(visit, known)
        values = [getattr(history, name) for name in _HISTORY]
        rows.append((*one[:4], storable(etag), storable(modified), next_at, *values))
        if visit.change is not PageChange.NEW:
            sums.setdefault((one.crawl_id, one.host), Counter()).update(_counts(visit))
    await _STORE(connection, None, sorted(rows))
    await _COUNT(connection, None, [_day(key, at, counts) for key, counts in sorted(sums.items())])


class _StoredVisits(NamedTuple):
    history: VisitHistory
    etag: str
    last_modified: str


async def _stored(
    connection: AsyncConnection, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], _StoredVisits]:
    found: dict[tuple[str, str], _StoredVisits] = {}
    for crawl_id in sorted({crawl_id for crawl_id, _ in keys}):
        hashes = [url_hash for owner, url_hash in keys if owner == crawl_id]
        query = select(fresh_pages).where(_rows.crawl_id == crawl_id, _rows.url_hash.in_(hashes))
        for row in await connection.execute(query):
            found[crawl_id, row.url_hash] = _StoredVisits(history_of(row), row.etag, row.last_modified)
    return found


def _validators(visit: PageVisit, known: _StoredVisits | None) -> tuple[str, str]:
    etag, modified = ("", "") if known is None else (known.etag, known.last_modified)
    return (
        etag if visit.etag is None else visit.etag,
        modified if visit.last_modified is None else visit.last_modified,
    )


def _counts(visit: PageVisit) -> dict[str, int]:
    change = visit.change
    return {
        "visits": 1,
        "changed": change.is_told and change is not PageChange.GONE,
        "gone": change is PageChange.GONE,
        "unmodified": change is PageChange.NOT_MODIFIED,
        "failed": change is PageChange.FAILED,
        "bytes": visit.bytes,
    }


def _day(key: tuple[str, str], at: int, counts: Counter[str]) -> tuple[Any, ...]:
    return (*key, at // DAY_MS, *(counts[name] for name in _SUMS))


async def count_planned(connection: AsyncConnection, crawl_id: str, planned: Counter[str], at: int) -> None:
    """Visits that were put into the frontier, by host: they count against the budget of the day."""
    rows = [_day((crawl_id, host), at, Counter(planned=number)) for host, number in sorted(planned.items())]
    await _COUNT(connection, None, rows)


async def planned_today(connection: AsyncConnection, crawl_id: str, at: int) -> dict[str, int]:
    """By host."""
    query = select(_days.host, _days.planned).where(_days.crawl_id == crawl_id, _days.day == at // DAY_MS)
    return {row.host: row.planned for row in await connection.execute(query)}


async def sums_since(connection: AsyncConnection, crawl_id: str, day: int) -> FreshnessSums:
    """Of all hosts, from this day on."""
    columns = [func.coalesce(func.sum(_days[name]), 0) for name in _SUMS]
    row = (
        await connection.execute(select(*columns).where(_days.crawl_id == crawl_id, _days.day >= day))
    ).one()
    return FreshnessSums(*map(int, row))


async def forget_days(connection: AsyncConnection, crawl_id: str, before: int) -> None:
    await connection.execute(delete(refresh_days).where(_days.crawl_id == crawl_id, _days.day < before))


async def forget(connection: AsyncConnection, crawl_id: str, hashes: Collection[str]) -> None:
    """These pages are no pages of the crawl any more."""
    await connection.execute(
        delete(fresh_pages).where(_rows.crawl_id == crawl_id, _rows.url_hash.in_(hashes))
    )
