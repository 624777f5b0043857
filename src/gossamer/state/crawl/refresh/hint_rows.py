# ruff: noqa: S608 - only constants of this module are put into these statements
"""Hints of sitemaps: what they say of pages, and how often that was right.

A hint is noted at its page until the page is visited, which tells whether it was right. A change that was
found without a hint is judged later, when every sitemap of the host has been read again. The crawl is locked
in each of these transactions. A reading that is repeated writes the same.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import select

from gossamer.state.crawl import crawl_counts
from gossamer.state.crawl.refresh.refresh_tables import fresh_pages, hint_records
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.web.crawl.refresh.importance import weight_of
from gossamer.web.crawl.refresh.revisit import interval_of, is_worth_a_hint
from gossamer.web.crawl.refresh.sitemap_hints import TRIED_AT_ONCE, HintRecord, PageHint
from gossamer.web.crawl.refresh.visit_history import DAY_MS, VisitHistory
from gossamer.web.crawl.spec import CrawlSpec

JUDGED_AFTER_MS: Final = 2 * DAY_MS  # by then every sitemap was read again
JUDGED_AT_ONCE: Final = 500
SHOWN: Final = 20

_rows: Final = fresh_pages.c
_records: Final = hint_records.c
_CASES: Final = HintRecord.__struct_fields__
_HISTORY: Final = VisitHistory.__struct_fields__
_NONE: Final = HintRecord()

_KEEP: Final = bulk(
    f"""
INSERT INTO hint_records (crawl_id, host, {", ".join(_CASES)})
SELECT crawl_id, host, {", ".join(_CASES)} FROM {{given}}
WHERE true ON CONFLICT (crawl_id, host) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in _CASES)}""",
    rows={"crawl_id": "text", "host": "text", **dict.fromkeys(_CASES, "double precision")},
)
_NOTE: Final = bulk(
    """
UPDATE fresh_pages SET said_at = given.said_at, hinted_at = given.hinted_at, prior_days = given.prior_days,
    next_at = given.next_at
FROM {given} WHERE fresh_pages.crawl_id = given.crawl_id AND fresh_pages.url_hash = given.url_hash""",
    rows={
        "crawl_id": "text",
        "url_hash": "text",
        "said_at": "bigint",
        "hinted_at": "bigint",
        "prior_days": "double precision",
        "next_at": "bigint",
    },
)
_JUDGED: Final = bulk(
    """
UPDATE fresh_pages SET changed_at = NULL, changed_after = NULL FROM {given}
WHERE fresh_pages.crawl_id = given.crawl_id AND fresh_pages.url_hash = given.url_hash""",
    rows={"crawl_id": "text", "url_hash": "text"},
)


async def read(
    connection: AsyncConnection, places: Collection[tuple[str, str]]
) -> dict[tuple[str, str], HintRecord]:
    """By crawl and host, for each of them."""
    found = dict.fromkeys(places, _NONE)
    for crawl_id in sorted({crawl_id for crawl_id, _ in places}):
        hosts = [host for owner, host in places if owner == crawl_id]
        query = select(hint_records).where(_records.crawl_id == crawl_id, _records.host.in_(hosts))
        found |= {(crawl_id, row.host): _record(row) for row in await connection.execute(query)}
    return found


async def write(connection: AsyncConnection, records: Mapping[tuple[str, str], HintRecord]) -> None:
    rows = [
        (*place, *(getattr(record, name) for name in _CASES))
        for place, record in sorted(records.items())
        if record != _NONE
    ]
    await _KEEP(connection, None, rows)


async def listing(connection: AsyncConnection, crawl_id: str) -> dict[str, HintRecord]:
    """By host; those of which most is known."""
    query = select(hint_records).where(_records.crawl_id == crawl_id)
    most = (_records.followed + _records.changes).desc()
    rows = await connection.execute(query.order_by(most, _records.host).limit(SHOWN))
    return {row.host: _record(row) for row in rows}


async def note(
    connection: AsyncConnection,
    crawl_id: str,
    host: str,
    hints: Sequence[PageHint],
    spec: CrawlSpec,
    *,
    now: int | None = None,
) -> int:
    """Note what a sitemap of this host says of its pages; returns how many are due because of it. Raises
    `CrawlsGone`."""
    await crawl_counts.lock_all(connection, [crawl_id])
    at = int(await connection.scalar(select(clock(now))) or 0)
    by_hash = {hint.url_hash: hint for hint in hints}
    known = select(fresh_pages).where(
        _rows.crawl_id == crawl_id, _rows.url_hash.in_(by_hash), _rows.host == host
    )
    pages = (await connection.execute(known)).all()
    record = (await read(connection, {(crawl_id, host)}))[crawl_id, host]
    room = TRIED_AT_ONCE if record.is_tried else len(pages)
    changed: list[tuple[Any, ...]] = []
    due = 0
    for page in pages:
        row, is_due = _noted(page, by_hash[page.url_hash], record, spec, at, may_follow=due < room)
        due += is_due
        if row is not None:
            changed.append((crawl_id, page.url_hash, *row))
    await _NOTE(connection, None, sorted(changed, key=lambda row: row[1]))
    return due


def _noted(
    page: Any, hint: PageHint, record: HintRecord, spec: CrawlSpec, at: int, *, may_follow: bool
) -> tuple[tuple[Any, ...] | None, bool]:
    """The changed values of a page, if there are any, and whether it is due by the hint."""
    said_at, hinted_at, next_at, is_due = page.said_at, page.hinted_at, page.next_at, False
    prior = page.prior_days if hint.prior_days is None else hint.prior_days
    history = VisitHistory(**{name: page._mapping[name] for name in _HISTORY} | {"prior_days": prior})
    weight = weight_of(page.priority, page.importance)
    least, most = spec.refresh_least * 1_000, spec.refresh_most * 1_000
    if prior != page.prior_days and not history.tries:  # nothing else is known of it
        next_at = min(next_at, max(at, page.visited_at + interval_of(history, weight, least, most)))
    if hint.said is not None:
        if hint.said.is_news(page.visited_at, said_at) and page.gone_at is None:
            hinted_at = hinted_at or at
        if hinted_at is not None:  # also one that was not followed before
            is_due = may_follow and is_worth_a_hint(history, weight, record)
        said_at = hint.said.last
    if is_due:
        next_at = min(next_at, max(at, page.visited_at + least))
    row = (said_at, hinted_at, prior, next_at)
    return (None if row == (page.said_at, page.hinted_at, page.prior_days, page.next_at) else row), is_due


async def judge(connection: AsyncConnection, crawl_id: str, at: int) -> None:
    """Find out of which changes sitemaps have told meanwhile. The crawl is locked."""
    query = select(_rows.url_hash, _rows.host, _rows.said_at, _rows.changed_after).where(
        _rows.crawl_id == crawl_id,
        _rows.changed_at < at - JUDGED_AFTER_MS,
    )
    rows = (await connection.execute(query.limit(JUDGED_AT_ONCE))).all()
    if not rows:
        return
    records = await read(connection, {(crawl_id, row.host) for row in rows})
    for row in rows:
        place = crawl_id, row.host
        records[place] = records[place].after_change(announced=(row.said_at or 0) > row.changed_after)
    await write(connection, records)
    await _JUDGED(connection, None, [(crawl_id, row.url_hash) for row in sorted(rows)])


def _record(row: Any) -> HintRecord:
    return HintRecord(**{name: row._mapping[name] for name in _CASES})
