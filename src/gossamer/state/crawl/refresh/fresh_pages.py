# ruff: noqa: S608 - only constants of this module are put into these statements
"""Fresh pages: what the visits to a page have shown, and when it is visited next.

A visit is written in the transaction that ends its task, so each counts once. The crawl is locked there, and
nobody else changes the rows of its pages.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import ColumnElement, Row, and_, delete, exists, false, func, not_, select, true

from gossamer.state.crawl.crawl_tables import crawled_pages, crawls
from gossamer.state.crawl.refresh import hint_rows
from gossamer.state.crawl.refresh.refresh_tables import fresh_pages, refresh_days
from gossamer.state.db.bulk import bulk, storable
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.web.crawl.refresh.freshness import FreshnessSums
from gossamer.web.crawl.refresh.importance import weight_of
from gossamer.web.crawl.refresh.page_change import PageChange, PageContentMark
from gossamer.web.crawl.refresh.revisit import is_fresh_by, next_visit, patience_of
from gossamer.web.crawl.refresh.sitemap_hints import HintRecord
from gossamer.web.crawl.refresh.visit_history import DAY_MS, VisitHistory

_rows: Final = fresh_pages.c
_pages: Final = crawled_pages.c
_days: Final = refresh_days.c
_HISTORY: Final = VisitHistory.__struct_fields__


class KnownPage(Struct, frozen=True, kw_only=True):
    """What is known of a page or a sitemap that is visited again."""

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
    content_hash: str | None = None  # of a sitemap; pages have theirs in `crawled_pages`


class VisitedPage(NamedTuple):
    """A page, and what was found there."""

    crawl_id: str
    url_hash: str
    host: str
    priority: int
    visit: PageVisit
    as_sitemap: bool = False


async def known_pages(
    connection: AsyncConnection, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], KnownPage]:
    """By crawl and URL hash; those that were visited before."""
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
        if left := [url_hash for url_hash in hashes if (crawl_id, url_hash) not in found]:
            found |= await _known_sitemaps(connection, crawl_id, left)
    return found


async def _known_sitemaps(
    connection: AsyncConnection, crawl_id: str, hashes: Collection[str]
) -> dict[tuple[str, str], KnownPage]:
    query = select(fresh_pages).where(
        _rows.crawl_id == crawl_id, _rows.url_hash.in_(hashes), _rows.as_sitemap == true()
    )
    return {
        (crawl_id, row.url_hash): KnownPage(
            mark=PageContentMark(status=200 if row.content_hash else None, content_hash=row.content_hash),
            history=history_of(row),
            etag=row.etag,
            last_modified=row.last_modified,
        )
        for row in await connection.execute(query)
    }


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


_KEY: Final = {
    "crawl_id": "text",
    "url_hash": "text",
    "host": "text",
    "priority": "smallint",
    "as_sitemap": "boolean",
}
_FOUND: Final = {
    "etag": "text",
    "last_modified": "text",
    "content_hash": "text",
    "next_at": "bigint",
    "hinted_at": "bigint",
    "changed_at": "bigint",
    "changed_after": "bigint",
    **dict.fromkeys(_HISTORY, "bigint"),
    **dict.fromkeys(("tries", "hits", "prior_days"), "double precision"),
}
_STORE: Final = bulk(
    f"""
INSERT INTO fresh_pages ({", ".join((*_KEY, *_FOUND))}) SELECT {", ".join((*_KEY, *_FOUND))} FROM {{given}}
WHERE true ON CONFLICT (crawl_id, url_hash) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in _FOUND)}""",
    rows={**_KEY, **_FOUND},
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
    listed = {(one.crawl_id, one.host) for one in visited if _is_listed(before, one)}
    records = await hint_rows.read(connection, listed)
    rows: list[tuple[Any, ...]] = []
    sums: dict[tuple[str, str], Counter[str]] = {}
    for one in visited:
        known = before.get((one.crawl_id, one.url_hash)) or VisitsBefore(VisitHistory(visited_at=at))
        place = one.crawl_id, one.host
        record = records.get(place) if known.said_at is not None else None
        rows.append(_row(one, known, record, at))
        if record is not None:
            records[place] = _judged(record, known, one.visit.change, at)
        if one.visit.change is not PageChange.NEW:
            sums.setdefault(place, Counter()).update(_counts(one))
    await _STORE(connection, None, sorted(rows))
    await _COUNT(connection, None, [_day(key, at, counts) for key, counts in sorted(sums.items())])
    await hint_rows.write(connection, records)


class VisitsBefore(NamedTuple):
    """What is stored of the visits to a page."""

    history: VisitHistory
    etag: str = ""
    last_modified: str = ""
    content_hash: str = ""
    importance: float = 1.0
    said_at: int | None = None
    hinted_at: int | None = None
    changed_at: int | None = None
    changed_after: int | None = None


def _is_listed(before: dict[tuple[str, str], VisitsBefore], one: VisitedPage) -> bool:
    known = before.get((one.crawl_id, one.url_hash))
    return known is not None and known.said_at is not None


def _row(one: VisitedPage, known: VisitsBefore, record: HintRecord | None, at: int) -> tuple[Any, ...]:
    visit = one.visit
    history = known.history.after(visit.change, at)
    weight = weight_of(one.priority, known.importance)
    patience = patience_of(history, weight, record)
    bounds = visit.least_ms, visit.most_ms, visit.randomness
    etag = known.etag if visit.etag is None else visit.etag
    modified = known.last_modified if visit.last_modified is None else visit.last_modified
    content = known.content_hash if visit.content_hash is None else visit.content_hash
    hinted_at, changed = known.hinted_at, (known.changed_at, known.changed_after)
    if visit.change.is_evidence:
        is_unannounced = visit.change.is_change and hinted_at is None and known.said_at is not None
        if is_unannounced and known.changed_at is None:
            changed = at, known.history.visited_at
        hinted_at = None
    return (
        *one[:4],
        one.as_sitemap,
        storable(etag),
        storable(modified),
        content,
        next_visit(history, weight, at, *bounds, patience),
        hinted_at,
        *changed,
        *(getattr(history, name) for name in _HISTORY),
    )


def _judged(record: HintRecord, known: VisitsBefore, change: PageChange, at: int) -> HintRecord:
    if known.hinted_at is None or not change.is_evidence:
        return record
    return record.after_hint(changed=change.is_change, expected=1 - is_fresh_by(known.history, at))


async def _stored(
    connection: AsyncConnection, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], VisitsBefore]:
    found: dict[tuple[str, str], VisitsBefore] = {}
    for crawl_id in sorted({crawl_id for crawl_id, _ in keys}):
        hashes = [url_hash for owner, url_hash in keys if owner == crawl_id]
        query = select(fresh_pages).where(_rows.crawl_id == crawl_id, _rows.url_hash.in_(hashes))
        for row in await connection.execute(query):
            known = {name: row._mapping[name] for name in VisitsBefore._fields[1:]}
            found[crawl_id, row.url_hash] = VisitsBefore(history_of(row), **known)
    return found


def _counts(one: VisitedPage) -> dict[str, int]:
    visit, change = one.visit, one.visit.change
    if one.as_sitemap:
        return {"sitemaps": 1, "bytes": visit.bytes}
    return {
        "visits": 1,
        "changed": change.is_told and change is not PageChange.GONE,
        "gone": change is PageChange.GONE,
        "unmodified": change is PageChange.NOT_MODIFIED,
        "failed": change is PageChange.FAILED,
        "moved": change is PageChange.MOVED,
        "bytes": visit.bytes,
    }


def _day(key: tuple[str, str], at: int, counts: Counter[str]) -> tuple[Any, ...]:
    return (*key, at // DAY_MS, *(counts[name] for name in _SUMS))


async def count_planned(connection: AsyncConnection, crawl_id: str, planned: Counter[str], at: int) -> None:
    """Visits that were put into the frontier, by host: they count against the budget of the day."""
    rows = [_day((crawl_id, host), at, Counter(planned=number)) for host, number in sorted(planned.items())]
    await _COUNT(connection, None, rows)


async def spent_today(connection: AsyncConnection, crawl_id: str, at: int) -> dict[str, tuple[int, int]]:
    """By host: the visits that were planned, and the sitemaps that were read."""
    query = select(_days.host, _days.planned, _days.sitemaps)
    rows = await connection.execute(query.where(_days.crawl_id == crawl_id, _days.day == at // DAY_MS))
    return {row.host: (row.planned, row.sitemaps) for row in rows}


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
