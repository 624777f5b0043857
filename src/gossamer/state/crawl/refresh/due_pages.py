# ruff: noqa: S608 - only constants of this module are put into these statements
"""Due pages: puts pages that are to be visited again into the frontier, within the budget of their hosts.

In one transaction the pages wait in the frontier, count against the day's budget, and are not due any more.
Whatever becomes of the visit then plans the next one. Sitemaps are read again before pages are visited, since
they tell which.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import false, func, select, true

from gossamer.state.crawl.crawl_tables import crawled_pages, frontier
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.refresh import fresh_pages as visits
from gossamer.state.crawl.refresh import hint_rows
from gossamer.state.crawl.refresh.refresh_tables import fresh_pages
from gossamer.state.crawl.upkeep import refetch
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.webhooks import endpoints
from gossamer.web.crawl.refresh.freshness import FreshnessSums
from gossamer.web.crawl.refresh.importance import weight_of
from gossamer.web.crawl.refresh.revisit import gain_of, is_fresh_by, patience_of
from gossamer.web.crawl.refresh.sitemap_hints import HintRecord
from gossamer.web.crawl.refresh.visit_history import DAY_MS
from gossamer.web.crawl.spec import CrawlSpec

PUT_AT_ONCE: Final = 1_000  # in one transaction: others wait for it
LOOKED_AT: Final = 5_000  # due pages that are compared
ENROLLED_AT_ONCE: Final = 10_000
FIRST_MS: Final = 2 * DAY_MS  # until a page of which nothing is known is visited again
WAITING_MS: Final = DAY_MS  # until a page that was put is due again, whatever became of it
DAYS_KEPT: Final = 90
MONTH: Final = 30  # days
SITEMAPS_AT_ONCE: Final = 200
SITEMAPS_SHARE: Final = 4  # they may take one part in four of a budget
SAMPLE: Final = 1_000  # pages by which freshness is estimated

_rows: Final = fresh_pages.c
_pages: Final = crawled_pages.c

_ENROL: Final = bulk(
    f"""
INSERT INTO fresh_pages (crawl_id, url_hash, host, priority, etag, last_modified, visited_at, next_at, visits,
    changes, tries, hits, observed_ms, touches, misses, failures)
SELECT page.crawl_id, page.url_hash, page.host, 2, '', '', page.crawled_at, page.crawled_at + {FIRST_MS}, 0,
    0, 0, 0, 0, 0, 0, 0
FROM crawled_pages AS page LEFT JOIN fresh_pages AS known
    ON known.crawl_id = page.crawl_id AND known.url_hash = page.url_hash
WHERE page.crawl_id = {{crawl_id}} AND known.crawl_id IS NULL LIMIT {ENROLLED_AT_ONCE}
ON CONFLICT (crawl_id, url_hash) DO NOTHING RETURNING url_hash""",
    values={"crawl_id": "text"},
)
_ENROL_SITEMAPS: Final = bulk(
    f"""
INSERT INTO fresh_pages (crawl_id, url_hash, host, priority, as_sitemap, etag, last_modified, visited_at,
    next_at, visits, changes, tries, hits, observed_ms, touches, misses, failures)
SELECT own.crawl_id, own.url_hash, own.host, 3, true, '', '', own.updated_at, own.updated_at, 0,
    0, 0, 0, 0, 0, 0, 0
FROM frontier AS own LEFT JOIN fresh_pages AS known
    ON known.crawl_id = own.crawl_id AND known.url_hash = own.url_hash
WHERE own.crawl_id = {{crawl_id}} AND own.as_sitemap AND own.state = 'completed' AND known.crawl_id IS NULL
LIMIT {SITEMAPS_AT_ONCE}
ON CONFLICT (crawl_id, url_hash) DO NOTHING""",
    values={"crawl_id": "text"},
)
_PUT: Final = bulk(
    """
UPDATE fresh_pages SET next_at = {later} FROM {given}
WHERE fresh_pages.crawl_id = given.crawl_id AND fresh_pages.url_hash = given.url_hash""",
    values={"later": "bigint"},
    rows={"crawl_id": "text", "url_hash": "text"},
)


async def enrol(connection: AsyncConnection, crawl_id: str) -> bool:
    """Know the pages that were stored before the crawl was kept fresh; returns whether there are more."""
    return len(await _ENROL(connection, None, crawl_id=crawl_id)) >= ENROLLED_AT_ONCE


async def put(
    connection: AsyncConnection,
    crawl_id: str,
    spec: CrawlSpec,
    *,
    early: bool = False,
    now: int | None = None,
) -> int:
    """Put the due pages of a crawl into the frontier, the most valuable first; returns how many. `early`:
    also those that are not due. Raises `CrawlsGone`."""
    at = int(await connection.scalar(select(clock(now))) or 0)
    await enrol(connection, crawl_id)
    await _ENROL_SITEMAPS(connection, None, crawl_id=crawl_id)
    await visits.forget_days(connection, crawl_id, at // DAY_MS - DAYS_KEPT)
    left = _Budget(spec.refresh_budget, await visits.spent_today(connection, crawl_id, at))
    read_again = await _sitemaps(connection, crawl_id, at, early=early)
    sitemaps = [row for row in read_again if left.takes_sitemap(row.host)]
    rows = await _candidates(connection, crawl_id, at, early=early)
    records = await hint_rows.read(connection, {(crawl_id, row.host) for row in rows})
    pages = _choose(rows, records, left, at)
    if not pages and not sitemaps:
        return 0
    new = [NewUrl(row.url, row.url_hash, row.host, row.depth, row.priority) for row in pages]
    new += [
        NewUrl(row.url, row.url_hash, row.host, row.depth, row.priority, row.hops, as_sitemap=True)
        for row in sitemaps
    ]
    number = await refetch.put_urls(connection, crawl_id, new, max_pages=spec.max_pages, now=now)
    await _PUT(connection, None, [(crawl_id, each.url_hash) for each in new], later=at + WAITING_MS)
    await visits.count_planned(connection, crawl_id, Counter(each.host for each in new), at)
    await hint_rows.judge(connection, crawl_id, at)
    await endpoints.reopen_work(connection, crawl_id)
    return max(0, number - len(sitemaps))


async def _candidates(connection: AsyncConnection, crawl_id: str, at: int, *, early: bool) -> Sequence[Any]:
    joined = fresh_pages.join(
        crawled_pages, (_pages.crawl_id == _rows.crawl_id) & (_pages.url_hash == _rows.url_hash)
    )
    query = select(fresh_pages, _pages.url, _pages.depth).select_from(joined)
    query = query.where(_rows.crawl_id == crawl_id).order_by(_rows.next_at).limit(LOOKED_AT)
    if not early:
        query = query.where(_rows.next_at <= at)
    return (await connection.execute(query)).all()


async def _sitemaps(connection: AsyncConnection, crawl_id: str, at: int, *, early: bool) -> Sequence[Any]:
    """Sitemaps that are due; `early`: all of them."""
    own = frontier.c
    joined = fresh_pages.join(frontier, (own.crawl_id == _rows.crawl_id) & (own.url_hash == _rows.url_hash))
    query = select(own.url, own.url_hash, own.host, own.depth, own.priority, own.hops).select_from(joined)
    query = query.where(_rows.crawl_id == crawl_id, _rows.as_sitemap == true()).order_by(_rows.next_at)
    if not early:
        query = query.where(_rows.next_at <= at)
    return (await connection.execute(query.limit(SITEMAPS_AT_ONCE))).all()


class _Budget:
    """Requests that may still be sent to each host today."""

    def __init__(self, most: int, spent: dict[str, tuple[int, int]]) -> None:
        self._most = most
        self._planned = Counter({host: planned for host, (planned, _) in spent.items()})
        self._sitemaps = Counter({host: sitemaps for host, (_, sitemaps) in spent.items()})

    def takes_sitemap(self, host: str) -> bool:
        """The same for a sitemap. Some sites have thousands, which must not take the place of all pages."""
        if self._sitemaps[host] >= max(1, self._most // SITEMAPS_SHARE) or not self.takes(host):
            return False
        self._sitemaps[host] += 1
        return True

    def takes(self, host: str) -> bool:
        """Whether there is room for one more, which is then taken."""
        if self._planned[host] >= self._most:
            return False
        self._planned[host] += 1
        return True


def _choose(
    rows: Sequence[Any], records: dict[tuple[str, str], HintRecord], left: _Budget, at: int
) -> list[Any]:
    """The most valuable visits that the budgets of their hosts allow."""

    def gain(row: Any) -> float:
        record = records[row.crawl_id, row.host]
        history, weight = visits.history_of(row), weight_of(row.priority, row.importance)
        patience = patience_of(history, weight, record if row.said_at is not None else None)
        changed = record.rightness if row.hinted_at is not None and record.is_believed else 0.0
        return gain_of(history, weight, at, patience=patience, changed=changed)

    chosen: list[Any] = []
    for row in sorted(rows, key=gain, reverse=True):
        if len(chosen) >= PUT_AT_ONCE:
            break
        if left.takes(row.host):
            chosen.append(row)
    return chosen


class FreshnessCounts(NamedTuple):
    """How fresh a crawl is."""

    pages: int
    due: int
    gone: int
    next_at: int | None
    today: FreshnessSums
    month: FreshnessSums
    expected: float | None  # the share of the pages that are probably fresh
    hints: dict[str, HintRecord]


async def count(connection: AsyncConnection, crawl_id: str, *, now: int | None = None) -> FreshnessCounts:
    at = int(await connection.scalar(select(clock(now))) or 0)
    here = (_rows.crawl_id == crawl_id) & (_rows.as_sitemap == false())
    pages = await connection.scalar(select(func.count()).where(here))
    due = await connection.scalar(select(func.count()).where(here, _rows.next_at <= at))
    gone = await connection.scalar(select(func.count()).where(here, _rows.gone_at.is_not(None)))
    next_at = await connection.scalar(select(func.min(_rows.next_at)).where(here))
    hints = await hint_rows.listing(connection, crawl_id)
    return FreshnessCounts(
        pages=pages or 0,
        due=due or 0,
        gone=gone or 0,
        next_at=next_at,
        today=await visits.sums_since(connection, crawl_id, at // DAY_MS),
        month=await visits.sums_since(connection, crawl_id, at // DAY_MS - MONTH + 1),
        expected=await _expected(connection, crawl_id, hints, at),
        hints=hints,
    )


async def _expected(
    connection: AsyncConnection, crawl_id: str, hints: dict[str, HintRecord], at: int
) -> float | None:
    """Of the first pages by their hashes, which are as good as chance."""
    query = select(fresh_pages).where(
        _rows.crawl_id == crawl_id, _rows.as_sitemap == false(), _rows.gone_at.is_(None)
    )
    rows = (await connection.execute(query.order_by(_rows.url_hash).limit(SAMPLE))).all()

    def share(row: Any) -> float:
        record = hints.get(row.host)
        if row.hinted_at is not None and record is not None and record.is_believed:
            return 1 - record.rightness
        history = visits.history_of(row)
        weight = weight_of(row.priority, row.importance)
        patience = patience_of(history, weight, record if row.said_at is not None else None)
        return is_fresh_by(history, at, patience=patience)

    return sum(map(share, rows)) / len(rows) if rows else None
