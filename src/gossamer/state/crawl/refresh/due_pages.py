# ruff: noqa: S608 - only constants of this module are put into these statements
"""Due pages: puts pages that are to be visited again into the frontier, within the budget of their hosts.

In one transaction the pages wait in the frontier, count against the day's budget, and are not due any more.
Whatever becomes of the visit then plans the next one.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.crawl.crawl_tables import crawled_pages
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.refresh import fresh_pages as visits
from gossamer.state.crawl.refresh.refresh_tables import fresh_pages
from gossamer.state.crawl.upkeep import refetch
from gossamer.state.db.bulk import bulk
from gossamer.state.db.database import clock
from gossamer.state.webhooks import endpoints
from gossamer.web.crawl.refresh.freshness import FreshnessSums
from gossamer.web.crawl.refresh.revisit import gain_of, weight_of
from gossamer.web.crawl.refresh.visit_history import DAY_MS
from gossamer.web.crawl.spec import CrawlSpec

PUT_AT_ONCE: Final = 1_000  # in one transaction: others wait for it
LOOKED_AT: Final = 5_000  # due pages that are compared
ENROLLED_AT_ONCE: Final = 10_000
FIRST_MS: Final = 2 * DAY_MS  # until a page of which nothing is known is visited again
WAITING_MS: Final = DAY_MS  # until a page that was put is due again, whatever became of it
DAYS_KEPT: Final = 90
MONTH: Final = 30  # days

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
    await _ENROL(connection, None, crawl_id=crawl_id)
    await visits.forget_days(connection, crawl_id, at // DAY_MS - DAYS_KEPT)
    planned = await visits.planned_today(connection, crawl_id, at)
    chosen = _choose(await _candidates(connection, crawl_id, at, early=early), planned, spec, at)
    if not chosen:
        return 0
    new = [NewUrl(row.url, row.url_hash, row.host, row.depth, row.priority) for row in chosen]
    number = await refetch.put_urls(connection, crawl_id, new, max_pages=spec.max_pages, now=now)
    await _PUT(connection, None, [(crawl_id, row.url_hash) for row in chosen], later=at + WAITING_MS)
    await visits.count_planned(connection, crawl_id, Counter(row.host for row in chosen), at)
    await endpoints.reopen_work(connection, crawl_id)
    return number


async def _candidates(connection: AsyncConnection, crawl_id: str, at: int, *, early: bool) -> Sequence[Any]:
    joined = fresh_pages.join(
        crawled_pages, (_pages.crawl_id == _rows.crawl_id) & (_pages.url_hash == _rows.url_hash)
    )
    query = select(fresh_pages, _pages.url, _pages.depth).select_from(joined)
    query = query.where(_rows.crawl_id == crawl_id).order_by(_rows.next_at).limit(LOOKED_AT)
    if not early:
        query = query.where(_rows.next_at <= at)
    return (await connection.execute(query)).all()


def _choose(rows: Sequence[Any], planned: dict[str, int], spec: CrawlSpec, at: int) -> list[Any]:
    """The most valuable visits that the budgets of their hosts allow."""

    def gain(row: Any) -> float:
        return gain_of(visits.history_of(row), weight_of(row.priority), at)

    left = {host: spec.refresh_budget - number for host, number in planned.items()}
    chosen: list[Any] = []
    for row in sorted(rows, key=gain, reverse=True):
        if len(chosen) >= PUT_AT_ONCE:
            break
        if left.setdefault(row.host, spec.refresh_budget) > 0:
            left[row.host] -= 1
            chosen.append(row)
    return chosen


class FreshnessCounts(NamedTuple):
    """How fresh a crawl is."""

    due: int
    gone: int
    next_at: int | None
    today: FreshnessSums
    month: FreshnessSums


async def count(connection: AsyncConnection, crawl_id: str, *, now: int | None = None) -> FreshnessCounts:
    at = int(await connection.scalar(select(clock(now))) or 0)
    here = _rows.crawl_id == crawl_id
    due = await connection.scalar(select(func.count()).where(here, _rows.next_at <= at))
    gone = await connection.scalar(select(func.count()).where(here, _rows.gone_at.is_not(None)))
    next_at = await connection.scalar(select(func.min(_rows.next_at)).where(here))
    today = await visits.sums_since(connection, crawl_id, at // DAY_MS)
    month = await visits.sums_since(connection, crawl_id, at // DAY_MS - MONTH + 1)
    return FreshnessCounts(due or 0, gone or 0, next_at, today, month)
