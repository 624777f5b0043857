# ruff: noqa: S608 - only constants are put into these statements
"""The frontier: the URLs of a crawl, and the state of each.

                       settle                            completed
    pending ─take─▶ in_progress ──────────────────────▶  failed
       ▲                │                                blocked
       └────────────────┘ settle (again later), release, lease lost

URLs in progress on a host were taken under the lease of that host, so proving the lease is enough: a worker
that has lost it writes nothing. The results of a batch are written in one transaction, with the links that
were found and the counts. Transactions lock in one order: new URLs, hosts by name, the URLs that were taken,
crawls by id, counts. So no two wait for each other.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, zip_longest
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct
from sqlalchemy import select

from gossamer.state.crawl import crawl_counts, new_urls, settling
from gossamer.state.crawl.crawl_counts import CountChange, CrawlsGone
from gossamer.state.crawl.crawl_tables import crawls, frontier
from gossamer.state.crawl.hosts import HostLease, Hosts, Record, still_held
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.refresh import fresh_pages, hint_rows
from gossamer.state.crawl.refresh.fresh_pages import KnownPage
from gossamer.state.crawl.removal.crawl_blobs import NO_LINKS, LinksAt
from gossamer.state.crawl.settling import CrawlTask, HostSettlement, LeasesLost
from gossamer.state.db.bulk import bulk, for_each
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.db.single import Rows
from gossamer.web.crawl.refresh.sitemap_hints import PageHint
from gossamer.web.crawl.spec import CrawlSpec

State = Literal["pending", "in_progress", "completed", "failed", "blocked"]
ADDED_AT_ONCE: Final = 2_000  # in one transaction: others wait for it
CLEARED_AT_ONCE: Final = 5_000
CLEARING_SECONDS: Final = 20.0  # well before the caller gives up
CRAWLS_AT_ONCE: Final = 8  # from which one batch is taken


class FrontierUrl(Struct, frozen=True, kw_only=True):
    """A URL as it is listed."""

    crawl_id: str
    url_hash: str
    url: str
    host: str
    priority: int
    depth: int
    state: State
    attempt: int
    due_at: int
    added_at: int
    updated_at: int
    reason: str


class ClearedUrls(NamedTuple):
    """How many URLs were removed, and how many still wait."""

    removed: int
    left: int


_TURNS: Final = for_each(
    f"""
SELECT crawl_id FROM crawl_hosts JOIN crawls ON crawls.id = crawl_hosts.crawl_id
WHERE crawl_hosts.host = {{host}} AND crawl_hosts.pending > 0 AND crawls.state = 'running'
    AND crawls.pages + crawls.in_progress < max_pages
ORDER BY taken_at LIMIT {CRAWLS_AT_ONCE}""",
    rows={"host": "text"},
)
_LEVEL: Final = """
SELECT * FROM (
    SELECT crawl_id, url_hash, url, host, depth, priority, attempt, due_at, hops, as_sitemap
    FROM frontier WHERE crawl_id = {crawl_id} AND host = {host} AND priority = %d
        AND state = 'pending' AND due_at <= {now}
    ORDER BY due_at LIMIT {most}
) AS level_%d"""
_BEST: Final = for_each(
    " UNION ALL ".join(_LEVEL % (level, level) for level in (3, 2, 1))
    + " ORDER BY priority DESC, due_at LIMIT {most}",
    rows={"crawl_id": "text", "host": "text", "most": "int"},
)
_TAKE: Final = bulk(
    """
UPDATE frontier SET state = 'in_progress', attempt = attempt + 1, updated_at = {now}
FROM {given} WHERE frontier.crawl_id = given.crawl_id AND frontier.url_hash = given.url_hash""",
    rows={"crawl_id": "text", "url_hash": "text"},
)
_CLEAR: Final = bulk(
    f"""
DELETE FROM frontier WHERE crawl_id = {{crawl_id}} AND url_hash IN (
    SELECT url_hash FROM frontier WHERE crawl_id = {{crawl_id}} AND state = 'pending' LIMIT {CLEARED_AT_ONCE}
) RETURNING host""",
    values={"crawl_id": "text"},
)
_CLEARED: Final = bulk(
    "UPDATE crawls SET revision = revision + 1 WHERE id = {crawl_id} RETURNING pending",
    values={"crawl_id": "text"},
)


class Frontier:
    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def database(self) -> Database:
        return self._database

    async def add(self, crawl_id: str, urls: Sequence[NewUrl], *, now: int | None = None) -> int:
        """Add URLs; returns how many were new. A crawl that was done goes on; a canceled one takes none."""
        added = 0
        with suppress(CrawlsGone):
            for first in range(0, len(urls), ADDED_AT_ONCE):
                async with self._database.write() as connection:
                    if await _takes_more(connection, crawl_id):
                        some = urls[first : first + ADDED_AT_ONCE]
                        added += await new_urls.add(connection, crawl_id, some, now=now)
        return added

    async def note_hints(
        self,
        task: CrawlTask,
        spec: CrawlSpec,
        hints: Sequence[PageHint],
        *,
        now: int | None = None,
    ) -> int:
        """Note what a sitemap says of pages on its own host; returns how many are due because of it. Whoever
        repeats the task writes the same."""
        due = 0
        with suppress(CrawlsGone):
            for first in range(0, len(hints), ADDED_AT_ONCE):
                async with self._database.write() as connection:
                    some = hints[first : first + ADDED_AT_ONCE]
                    due += await hint_rows.note(connection, task.crawl_id, task.host, some, spec, now=now)
        return due

    async def take(self, lease: HostLease, most: int, *, now: int | None = None) -> list[CrawlTask]:
        """Take the best URLs of the host; crawls take turns. Takes none if the lease is lost.

        Never takes more than a crawl may still store."""
        return (await self.take_many([(lease, most)], now=now)).get(lease.host, [])

    async def take_many(
        self, asked: Sequence[tuple[HostLease, int]], *, now: int | None = None
    ) -> dict[str, list[CrawlTask]]:
        """The same for many hosts, in one transaction."""
        return await self._database.transact(partial(_take_many, asked=asked, now=now))

    async def settle(
        self, lease: HostLease, batch: HostSettlement, *, blobs: Sequence[str] = (), now: int | None = None
    ) -> bool:
        """Write the results of a batch. False if the lease was lost and nothing was written."""
        return bool(await self.settle_many([(lease, batch)], blobs=blobs, now=now))

    async def settle_many(
        self,
        batches: Sequence[tuple[HostLease, HostSettlement]],
        *,
        blobs: Sequence[str] = (),
        links: Mapping[str, LinksAt] = NO_LINKS,
        now: int | None = None,
    ) -> set[str]:
        """Many hosts in one transaction: the hosts whose leases were held, and only of those it is written.

        `blobs` are registered as orphans; those that the pages name are claimed with them. `links` tells
        where the links of each crawl's pages are."""
        left = list(batches)
        while left:
            try:
                return await self._database.transact(
                    partial(settling.settle, batches=left, blobs=blobs, now=now, links=links)
                )
            except LeasesLost as lost:
                left = [(lease, batch) for lease, batch in left if lease.host in lost.held]
            except CrawlsGone as gone:
                left = settling.without_crawls(left, gone.crawl_ids)
        return set()

    async def recover(self, record: Record | None = None, *, now: int | None = None) -> int:
        """Give back what lost workers had in progress; returns how many URLs."""
        return await Hosts(self._database).recover(record, now=now)

    async def clear(
        self,
        crawl_id: str,
        record: Record | None = None,
        *,
        seconds: float = CLEARING_SECONDS,
        now: int | None = None,
    ) -> ClearedUrls:
        """Remove the pending URLs, as many as time allows. `record` is called once, if there are any."""
        clock = asyncio.get_running_loop().time
        removed, until = 0, clock() + seconds
        while True:
            async with self._database.write() as connection:
                tally = CountChange()
                await crawl_counts.lock(connection, [crawl_id])
                rows = await _CLEAR(connection, now, crawl_id=crawl_id)
                for row in rows:
                    tally.move(crawl_id, row.host, before="pending")
                await tally.write(connection, now)
                found = await _CLEARED(connection, now, crawl_id=crawl_id)
                if record is not None and rows and not removed:
                    await record(connection)
            removed += len(rows)
            if len(rows) < CLEARED_AT_ONCE or clock() >= until:
                return ClearedUrls(removed, sum(row.pending for row in found))

    async def listing(
        self,
        crawl_id: str,
        *,
        state: State | None = None,
        hosts: Collection[str] | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> list[FrontierUrl]:
        """In the order of their hashes; `after` is the hash of the last one already seen."""
        columns = [frontier.c[name] for name in FrontierUrl.__struct_fields__]
        query = select(*columns).where(frontier.c.crawl_id == crawl_id)
        if state is not None:
            query = query.where(frontier.c.state == state)
        if hosts is not None:
            query = query.where(frontier.c.host.in_(hosts))
        if after is not None:
            query = query.where(frontier.c.url_hash > after)
        async with self._database.scan() as connection:
            rows = await connection.execute(query.order_by(frontier.c.url_hash).limit(limit))
            return [FrontierUrl(**row._mapping) for row in rows]


async def _take_many(
    connection: AsyncConnection, asked: Sequence[tuple[HostLease, int]], now: int | None
) -> dict[str, list[CrawlTask]]:
    held = await still_held(connection, [lease for lease, _ in asked], now)
    hosts = sorted(held)
    turns = dict(zip(hosts, await _TURNS(connection, now, [(host,) for host in hosts]), strict=True))
    crawl_ids = {row.crawl_id for rows in turns.values() for row in rows}
    locked = await crawl_counts.lock(connection, sorted(crawl_ids))
    room = {row.id: row.room for row in locked if row.state == "running" and row.room > 0}
    best = await _find_best(connection, asked, turns, room, now)
    taken = [row for lease, most in asked for row in _fitting(best.get(lease.host, ()), room, most)]
    tasks: dict[str, list[CrawlTask]] = {host: [] for host in held}
    revisions = {row.id: row.revision for row in locked}
    fresh = {row.id for row in locked if row.keeps_fresh}
    keys = [(row.crawl_id, row.url_hash) for row in taken if row.crawl_id in fresh]
    known = await fresh_pages.known_pages(connection, keys)
    for task in await _mark_taken(connection, taken, revisions, known, now):
        tasks[task.host].append(task)
    return tasks


async def _find_best(
    connection: AsyncConnection,
    asked: Sequence[tuple[HostLease, int]],
    turns: Mapping[str, Rows],
    room: Mapping[str, int],
    now: int | None,
) -> dict[str, list[Rows]]:
    """By host: of each crawl whose turn it is, as many as it may store."""
    places = [
        (row.crawl_id, lease.host, min(most, room[row.crawl_id]))
        for lease, most in asked
        for row in turns.get(lease.host, ())
        if row.crawl_id in room
    ]
    best: dict[str, list[Rows]] = {}
    for (_, host, _), rows in zip(places, await _BEST(connection, now, places), strict=True):
        best.setdefault(host, []).append(rows)
    return best


async def _takes_more(connection: AsyncConnection, crawl_id: str) -> bool:
    state = await connection.scalar(select(crawls.c.state).where(crawls.c.id == crawl_id))
    return state not in (None, "canceled")


def _in_turns(best: Sequence[Rows]) -> Rows:
    """The first of each crawl, then the second of each, and so on."""
    return [row for row in chain.from_iterable(zip_longest(*best)) if row is not None]


def _fitting(best: Sequence[Rows], room: dict[str, int], most: int) -> Rows:
    """The first `most` for which their crawls have room, which is less then."""
    fitting: list[Any] = []
    for row in _in_turns(best):
        if len(fitting) < most and room[row.crawl_id] > 0:
            room[row.crawl_id] -= 1
            fitting.append(row)
    return fitting


async def _mark_taken(
    connection: AsyncConnection,
    rows: Rows,
    revisions: Mapping[str, int],
    known: Mapping[tuple[str, str], KnownPage],
    now: int | None,
) -> list[CrawlTask]:
    if not rows:
        return []
    tally = CountChange()
    for row in rows:
        tally.move(row.crawl_id, row.host, before="pending", after="in_progress")
    await _TAKE(connection, now, [(row.crawl_id, row.url_hash) for row in rows])
    await tally.write(connection, now)
    return [
        CrawlTask(
            crawl_id=row.crawl_id,
            url_hash=row.url_hash,
            url=row.url,
            host=row.host,
            depth=row.depth,
            priority=row.priority,
            attempt=row.attempt + 1,
            hops=row.hops,
            as_sitemap=bool(row.as_sitemap),
            revision=revisions[row.crawl_id],
            known=known.get((row.crawl_id, row.url_hash)),
        )
        for row in rows
    ]
