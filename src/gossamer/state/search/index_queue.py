"""The queue of crawled pages, in batches, that are not in the search index yet.

A batch is queued in the transaction that stores its pages, and removed in the one that writes their words, so
no crash loses a page. A worker that takes a batch has it for a while; if it does not finish, another worker
may take it. The delay grows each time, so a batch that keeps failing does not hold up the others.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import func, select

from gossamer.state.crawl.crawl_tables import crawled_pages, unindexed
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.db.bulk import BulkStatement, bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock

RETRY_MS: Final = 5_000  # after an outage of something that indexing needs

_pages: Final = crawled_pages.c
_waiting: Final = unindexed.c


class IndexBatch(NamedTuple):
    blob: str
    crawl_id: str
    tenant_id: str
    crawled_at: int


class IndexLag(NamedTuple):
    """How many batches wait, and for how long the oldest has."""

    batches: int
    oldest_seconds: float


class QueuedPage(NamedTuple):
    """A page of a batch."""

    final_url: str
    status_code: int | None
    title: str
    description: str
    language: str
    directives: str
    outcome: str
    blob_offset: int
    blob_size: int


_ADD: Final = bulk(
    """
INSERT INTO unindexed (blob, crawl_id, tenant_id, crawled_at, due_at, attempt)
SELECT blob, crawl_id, tenant_id, crawled_at, crawled_at, 0 FROM (
    SELECT given.blob, given.crawl_id,
        (SELECT tenant_id FROM crawls WHERE id = given.crawl_id) AS tenant_id,
        (SELECT crawled_at FROM crawled_pages
            WHERE crawl_id = given.crawl_id AND url_hash = given.url_hash) AS crawled_at
    FROM {given}) AS stored WHERE true""",
    rows={"blob": "text", "crawl_id": "text", "url_hash": "text"},
)
_ADD_AGAIN: Final = bulk(
    """
INSERT INTO unindexed (blob, crawl_id, tenant_id, crawled_at, due_at, attempt)
SELECT given.blob, given.crawl_id, crawls.tenant_id, given.crawled_at, {now}, 0
FROM {given} JOIN crawls ON crawls.id = given.crawl_id WHERE true
ON CONFLICT (blob, crawl_id) DO NOTHING RETURNING blob""",
    rows={"blob": "text", "crawl_id": "text", "crawled_at": "bigint"},
)
# Half a minute, a minute, two… up to an hour.
_TAKE: Final = bulk(
    """
UPDATE unindexed SET attempt = attempt + 1,
    due_at = {now} + CASE WHEN attempt < 7 THEN 30000 << attempt ELSE 3600000 END
WHERE (blob, crawl_id) IN (
    SELECT blob, crawl_id FROM unindexed WHERE due_at <= {now} ORDER BY due_at LIMIT {most}
    {for_update} {skip_locked})
RETURNING blob, crawl_id, tenant_id, crawled_at""",
    values={"most": "bigint"},
)
_GIVE_BACK: Final = bulk(
    """
UPDATE unindexed SET attempt = 0, due_at = {now} + {pause}
WHERE (blob, crawl_id) IN (SELECT blob, crawl_id FROM {given})""",
    values={"pause": "bigint"},
    rows={"blob": "text", "crawl_id": "text"},
)
_HOLD: Final = bulk(
    """
SELECT blob, crawl_id FROM unindexed WHERE (blob, crawl_id) IN (SELECT blob, crawl_id FROM {given})
ORDER BY blob, crawl_id {for_update}""",
    rows={"blob": "text", "crawl_id": "text"},
)
_FINISH: Final = bulk(
    """
DELETE FROM unindexed WHERE (blob, crawl_id) IN (SELECT blob, crawl_id FROM {given})
RETURNING blob, crawl_id""",
    rows={"blob": "text", "crawl_id": "text"},
)


async def add(connection: AsyncConnection, stored: Iterable[tuple[str | None, str, str]]) -> None:
    """Queue the batches of stored pages, given as blob, crawl and URL hash, in one statement."""
    one_of_each = {(blob, crawl_id): url_hash for blob, crawl_id, url_hash in stored if blob is not None}
    await _ADD(connection, None, [(*key, url_hash) for key, url_hash in one_of_each.items()])


async def add_again(connection: AsyncConnection, pages: Iterable[StoredPage]) -> int:
    """Queue the batches of pages that were stored before, unless they are queued; returns how many."""
    batches = sorted({(page.blob, page.crawl_id, page.crawled_at) for page in pages if page.blob is not None})
    return len(await _ADD_AGAIN(connection, None, batches))


async def queued(connection: AsyncConnection, crawl_id: str, blobs: Collection[str]) -> set[str]:
    """Those of the blobs whose pages wait for the index."""
    own = select(_waiting.blob).where(_waiting.crawl_id == crawl_id, _waiting.blob.in_(blobs))
    return set((await connection.scalars(own)).all())


async def are_due(connection: AsyncConnection, *, now: int | None = None) -> bool:
    first = select(_waiting.blob).where(_waiting.due_at <= clock(now)).limit(1)
    return await connection.scalar(first) is not None


async def take(connection: AsyncConnection, most: int, *, now: int | None = None) -> list[IndexBatch]:
    """Take due batches, oldest first."""
    rows = [IndexBatch(*row) for row in await _TAKE(connection, now, most=most)]
    return sorted(rows, key=lambda batch: batch.crawled_at)


async def give_back(
    connection: AsyncConnection,
    batches: Sequence[IndexBatch],
    pause: int = RETRY_MS,
    *,
    now: int | None = None,
) -> None:
    await _GIVE_BACK(connection, now, [batch[:2] for batch in batches], pause=pause)


async def hold(connection: AsyncConnection, batches: Sequence[IndexBatch]) -> list[IndexBatch]:
    """Lock batches until the end of the transaction, and return those that are still queued."""
    return await _still_queued(connection, _HOLD, batches)


async def finish(connection: AsyncConnection, batches: Sequence[IndexBatch]) -> list[IndexBatch]:
    """Remove batches, and return those that were still queued."""
    return await _still_queued(connection, _FINISH, batches)


async def is_older_waiting(connection: AsyncConnection, tenant: str, crawled_at: int) -> bool:
    """Whether older pages of the tenant are still queued."""
    older = select(_waiting.blob).where(_waiting.tenant_id == tenant, _waiting.crawled_at < crawled_at)
    return await connection.scalar(older.limit(1)) is not None


async def pages(connection: AsyncConnection, batch: IndexBatch) -> list[QueuedPage]:
    columns = [_pages[name] for name in QueuedPage._fields]
    own = select(*columns).where(_pages.crawl_id == batch.crawl_id, _pages.crawled_at == batch.crawled_at)
    rows = await connection.execute(own.where(_pages.blob == batch.blob).order_by(_pages.url_hash))
    return [QueuedPage(*row) for row in rows]


async def _still_queued(
    connection: AsyncConnection, statement: BulkStatement, batches: Sequence[IndexBatch]
) -> list[IndexBatch]:
    keys: list[tuple[Any, ...]] = sorted(batch[:2] for batch in batches)
    stood = {tuple(row) for row in await statement(connection, None, keys)}
    return [batch for batch in batches if batch[:2] in stood]


async def lag(connection: AsyncConnection, *, now: int | None = None) -> IndexLag:
    """How far the index is behind the crawls."""
    query = select(func.count(), clock(now) - func.min(_waiting.crawled_at)).select_from(unindexed)
    batches, oldest = (await connection.execute(query)).one()
    return IndexLag(int(batches), max(0, oldest or 0) / 1000)
