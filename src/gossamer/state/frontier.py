# ruff: noqa: S608 - what is put into these statements are other parts of them
"""The frontier: which URLs a crawl knows, and what became of each of them.

                       settle                            completed
    pending ─take─▶ in_progress ──────────────────────▶  failed
       ▲                │                                blocked
       └────────────────┘ settle (again later), release, lease lost

What is in progress on a host was taken under the lease of that host, so to prove the lease is enough: who
has lost it writes nothing. What came of a batch is written in one transaction, with the links that were found
and the counts. Transactions lock in one order: new URLs, hosts by their names, the URLs that were taken,
crawls by their ids, counts. So they never wait for each other both ways.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state import crawl_counts, new_urls, settling
from gossamer.state.alone import Rows
from gossamer.state.crawl_counts import Tally
from gossamer.state.crawl_tables import crawls, frontier
from gossamer.state.crawled_page import CrawledPage
from gossamer.state.database import Database
from gossamer.state.given import given
from gossamer.state.hosts import HostLease, Hosts, standing
from gossamer.state.new_urls import NewUrl
from gossamer.state.settling import End, HostNews, LeasesLost, Settlement, Task, TaskEnd

__all__ = [
    "Frontier", "NewUrl", "Task", "TaskEnd", "End", "State", "HostNews", "Settlement", "CrawledPage",
    "FrontierUrl", "Cleared",
]  # fmt: skip

State = Literal["pending", "in_progress", "completed", "failed", "blocked"]
ADDED_AT_ONCE: Final = 2_000  # short transactions: others wait for them
CLEARED_AT_ONCE: Final = 5_000
CLEARING_SECONDS: Final = 20.0  # well before who asks for it gives up
CRAWLS_AT_ONCE: Final = 8  # of which a batch is taken together


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierUrl:
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


class Cleared(NamedTuple):
    """How many URLs are not to be fetched any more, and how many still wait."""

    removed: int
    left: int


_TURNS: Final = given(
    f"""
SELECT crawl_id FROM crawl_hosts JOIN crawls ON crawls.id = crawl_hosts.crawl_id
WHERE crawl_hosts.host = {{host}} AND crawl_hosts.pending > 0 AND crawls.state = 'running'
    AND crawls.pages + crawls.in_progress < max_pages
ORDER BY taken_at LIMIT {CRAWLS_AT_ONCE}""",
    values={"host": "text"},
)
_LEVEL: Final = """
SELECT * FROM (
    SELECT crawl_id, url_hash, url, host, depth, priority, attempt, due_at, hops, as_sitemap
    FROM frontier WHERE crawl_id = {crawl_id} AND host = {host} AND priority = %d
        AND state = 'pending' AND due_at <= {now}
    ORDER BY due_at LIMIT {most}
) AS level_%d"""
_BEST: Final = given(
    " UNION ALL ".join(_LEVEL % (level, level) for level in (3, 2, 1))
    + " ORDER BY priority DESC, due_at LIMIT {most}",
    values={"crawl_id": "text", "host": "text", "most": "int"},
)
_TAKE: Final = given(
    """
UPDATE frontier SET state = 'in_progress', attempt = attempt + 1, updated_at = {now}
FROM {given} WHERE frontier.crawl_id = given.crawl_id AND frontier.url_hash = given.url_hash""",
    rows={"crawl_id": "text", "url_hash": "text"},
)
_CLEAR: Final = given(
    f"""
DELETE FROM frontier WHERE crawl_id = {{crawl_id}} AND url_hash IN (
    SELECT url_hash FROM frontier WHERE crawl_id = {{crawl_id}} AND state = 'pending' LIMIT {CLEARED_AT_ONCE}
) RETURNING host""",
    values={"crawl_id": "text"},
)
_CLEARED: Final = given(
    "UPDATE crawls SET clearings = clearings + 1 WHERE id = {crawl_id} RETURNING pending",
    values={"crawl_id": "text"},
)


class Frontier:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, crawl_id: str, urls: Sequence[NewUrl], *, now: int | None = None) -> int:
        """How many were new. A crawl that was done goes on; to one that was canceled none is added."""
        added = 0
        for first in range(0, len(urls), ADDED_AT_ONCE):
            async with self._database.write() as connection:
                if await _takes_more(connection, crawl_id):
                    some = urls[first : first + ADDED_AT_ONCE]
                    added += await new_urls.add(connection, crawl_id, some, now=now)
        return added

    async def take(self, lease: HostLease, most: int, *, now: int | None = None) -> list[Task]:
        """The best of the host's URLs; the crawls that have some there take turns. None if the lease is lost.

        Never more than a crawl may still store, so that it never stores more than it may."""
        return (await self.take_many([(lease, most)], now=now)).get(lease.host, [])

    async def take_many(
        self, asked: Sequence[tuple[HostLease, int]], *, now: int | None = None
    ) -> dict[str, list[Task]]:
        """The same for many hosts, in one transaction."""
        async with self._database.write() as connection:
            held = await standing(connection, [lease for lease, _ in asked], now)
            turns = {host: await _TURNS(connection, now, host=host) for host in sorted(held)}
            crawl_ids = {row.crawl_id for rows in turns.values() for row in rows}
            locked = await crawl_counts.lock(connection, sorted(crawl_ids))
            room = {row.id: row.room for row in locked if row.state == "running"}
            taken: list[Any] = []
            for lease, most in asked:
                best = await _best(connection, lease.host, turns.get(lease.host, ()), room, most, now)
                for row in best:
                    room[row.crawl_id] -= 1
                taken += best
            tasks: dict[str, list[Task]] = {host: [] for host in held}
            clearings = {row.id: row.clearings for row in locked}
            for task in await _taken(connection, taken, clearings, now):
                tasks[task.host].append(task)
            return tasks

    async def settle(
        self, lease: HostLease, batch: Settlement, *, blobs: Sequence[str] = (), now: int | None = None
    ) -> bool:
        """False: the lease was lost, and nothing was written."""
        return bool(await self.settle_many([(lease, batch)], blobs=blobs, now=now))

    async def settle_many(
        self,
        batches: Sequence[tuple[HostLease, Settlement]],
        *,
        blobs: Sequence[str] = (),
        now: int | None = None,
    ) -> set[str]:
        """Many hosts in one transaction: the hosts whose leases were held, and only of those it is written.

        `blobs` are those of the pages, which were announced as strays and are adopted with them."""
        left = list(batches)
        while left:
            try:
                async with self._database.write() as connection:
                    return await settling.settle(connection, left, blobs, now)
            except LeasesLost as lost:
                left = [(lease, batch) for lease, batch in left if lease.host in lost.held]
        return set()

    async def recover(self, *, now: int | None = None) -> int:
        """Give back what lost workers had in progress; how many URLs."""
        return await Hosts(self._database).recover(now=now)

    async def clear(
        self, crawl_id: str, *, seconds: float = CLEARING_SECONDS, now: int | None = None
    ) -> Cleared:
        """Forget what waits to be fetched. What is not done in time is left to who asks again."""
        clock = asyncio.get_running_loop().time
        removed, until = 0, clock() + seconds
        while True:
            async with self._database.write() as connection:
                tally = Tally()
                await crawl_counts.lock(connection, [crawl_id])
                rows = await _CLEAR(connection, now, crawl_id=crawl_id)
                for row in rows:
                    tally.move(crawl_id, row.host, before="pending")
                await tally.write(connection, now)
                found = await _CLEARED(connection, now, crawl_id=crawl_id)
            removed += len(rows)
            if len(rows) < CLEARED_AT_ONCE or clock() >= until:
                return Cleared(removed, sum(row.pending for row in found))

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
        columns = [frontier.c[name] for name in FrontierUrl.__slots__]
        query = select(*columns).where(frontier.c.crawl_id == crawl_id)
        if state is not None:
            query = query.where(frontier.c.state == state)
        if hosts is not None:
            query = query.where(frontier.c.host.in_(hosts))
        if after is not None:
            query = query.where(frontier.c.url_hash > after)
        async with self._database.read() as connection:
            rows = await connection.execute(query.order_by(frontier.c.url_hash).limit(limit))
            return [FrontierUrl(**row._mapping) for row in rows]


async def _best(
    connection: AsyncConnection, host: str, turns: Rows, room: Mapping[str, int], most: int, now: int | None
) -> Rows:
    best = [
        await _BEST(connection, now, crawl_id=row.crawl_id, host=host, most=min(most, room[row.crawl_id]))
        for row in turns
        if room.get(row.crawl_id, 0) > 0
    ]
    return _in_turns(best)[:most]


async def _takes_more(connection: AsyncConnection, crawl_id: str) -> bool:
    state = await connection.scalar(select(crawls.c.state).where(crawls.c.id == crawl_id))
    return state not in (None, "canceled")


def _in_turns(best: Sequence[Rows]) -> Rows:
    """The first of each crawl, then the second of each, and so on."""
    return [row for row in chain.from_iterable(zip_longest(*best)) if row is not None]


async def _taken(
    connection: AsyncConnection, rows: Rows, clearings: Mapping[str, int], now: int | None
) -> list[Task]:
    if not rows:
        return []
    tally = Tally()
    for row in rows:
        tally.move(row.crawl_id, row.host, before="pending", after="in_progress")
    await _TAKE(connection, now, [(row.crawl_id, row.url_hash) for row in rows])
    await tally.write(connection, now)
    return [
        Task(
            crawl_id=row.crawl_id,
            url_hash=row.url_hash,
            url=row.url,
            host=row.host,
            depth=row.depth,
            priority=row.priority,
            attempt=row.attempt + 1,
            hops=row.hops,
            as_sitemap=bool(row.as_sitemap),
            clearings=clearings[row.crawl_id],
        )
        for row in rows
    ]
