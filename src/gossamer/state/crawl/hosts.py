# ruff: noqa: S608 - only constants of this module are put into these statements
"""Hosts: which worker may send requests to a host, and at which pace. All crawls share the hosts.

A host belongs to one worker at a time, under a lease that the worker extends. A worker that has lost the
lease can write nothing about the host or its URLs. The next worker begins when the last one must have
stopped: one delay after the end of the lease.

`due_at` is the time from which a host can be leased. It is empty if there is nothing to do, and the end of
the lease while there is one. So one index finds the hosts to lease next, and those of lost workers.
"""

import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import BigInteger, FromClause, cast, false, func, select

from gossamer.state.crawl import crawl_counts, host_turns, new_urls, waiting
from gossamer.state.crawl.crawl_counts import CountChange
from gossamer.state.crawl.crawl_tables import crawl_hosts, crawls, host_robots, hosts
from gossamer.state.crawl.host_turns import HostTurns
from gossamer.state.crawl.reading import stored_robots
from gossamer.state.crawl.reading.stored_robots import StoredRobots
from gossamer.state.crawl.waiting import Waiting
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database, clock
from gossamer.state.jobs import heartbeats
from gossamer.web.crawl.progress import UrlCounts

LEASE_MS: Final = 15_000
OVERDUE_MS: Final = 30_000
CAREFUL_MS: Final = 1_000  # the delay of a host whose own delay is not known yet
MAX_LAPSES: Final = 20  # a page that loses this many workers is given up
MAX_RECOVERED_AT_ONCE: Final = 100
CROWDED_MS: Final = 1_000  # until a crawl is tried again whose last pages are all in progress elsewhere

_COUNTS: Final = UrlCounts.__struct_fields__
Record = Callable[[AsyncConnection], Awaitable[None]]  # writes a line about a change, in its transaction
LOST: Final = "WORKER_LOST: too many workers were lost while they had it"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLease:
    """The right to send requests to a host for a while."""

    host: str
    token: str = field(repr=False)
    until: int
    next_at: int  # no request before
    delay_ms: int | None = None
    failures: int = 0
    resting_until: int = 0
    renders: bool = False
    robots: StoredRobots | None = None


class Release(NamedTuple):
    """A lease that is given back, and when its host may get the next request."""

    lease: HostLease
    next_at: int = 0  # at its own pace
    resting_until: int = 0  # no request before, because the host fails or forbids crawling


class FoundRobots(NamedTuple):
    lease: HostLease
    robots: StoredRobots
    is_allowed: bool  # to be crawled at all


class Host(Struct, frozen=True, kw_only=True):
    """A host as it is stored, and what it is waiting for."""

    host: str
    delay_ms: int | None
    next_at: int
    resting_until: int
    failures: int
    is_allowed: bool
    locked_by: str | None
    pages: int
    bytes: int
    added_at: int
    waiting: Waiting | None = None
    counts: UrlCounts | None = None  # of one crawl or of a tenant's crawls, if that was asked for


# Workers with a recent heartbeat share the hosts that can be leased. This is a query by itself, because it
# costs less than a lease if there is nothing to lease, and otherwise lets the database plan for few hosts.
_DUE: Final = bulk(
    f"""
WITH crawlers AS (
    SELECT {{greatest}}(1, count(*)) AS workers FROM workers
    WHERE kinds = '{heartbeats.CRAWL}' AND seen_at > {{now}} - {{length}}
)
SELECT count(*) AS hosts, (SELECT workers FROM crawlers) AS workers FROM (
    SELECT 1 FROM hosts WHERE due_at <= {{now}} LIMIT {{most}} * (SELECT workers FROM crawlers) + 1
) AS due""",
    values={"most": "int", "length": "bigint"},
)
_LEASED_BY: Final = {"token": "text", "worker": "text", "length": "bigint", "careful": "int"}
_LEASE: Final = """
WITH ripe AS (
    SELECT host, locked_until FROM hosts WHERE due_at <= {{now}} {which}
    {{for_update}} {{skip_locked}}
)
UPDATE hosts SET lease_token = {{token}}, locked_by = {{worker}}, locked_until = {{now}} + {{length}},
    due_at = {{now}} + {{length}},
    next_at = {{greatest}}(next_at, COALESCE(ripe.locked_until + COALESCE(delay_ms, {{careful}}), 0))
FROM ripe WHERE hosts.host = ripe.host
RETURNING hosts.host, hosts.locked_until, next_at, delay_ms, failures, resting_until, renders"""
_LEASE_OLDEST: Final = bulk(
    _LEASE.format(which="ORDER BY due_at LIMIT {most}"), values={"most": "int", **_LEASED_BY}
)
_LEASE_CHOSEN: Final = bulk(
    _LEASE.format(which="AND host IN (SELECT host FROM {given})"), values=_LEASED_BY, rows={"host": "text"}
)
_EXTEND: Final = bulk(
    """
UPDATE hosts SET locked_until = {now} + {length}, due_at = {now} + {length}
FROM {given} WHERE hosts.host = given.host AND lease_token = given.token AND locked_until > {now}
RETURNING hosts.host, locked_until""",
    values={"length": "bigint"},
    rows={"host": "text", "token": "text"},
)
_GIVE_BACK: Final = bulk(
    f"""
UPDATE frontier SET attempt = attempt - 1, lapses = lapses + {{lapse}}, updated_at = {{now}},
    state = CASE WHEN lapses + {{lapse}} >= {MAX_LAPSES} THEN 'failed' ELSE 'pending' END,
    reason = CASE WHEN lapses + {{lapse}} >= {MAX_LAPSES} THEN '{LOST}' ELSE reason END
FROM {{given}} WHERE frontier.host = given.host AND state = 'in_progress'
RETURNING crawl_id, frontier.host, state""",
    values={"lapse": "smallint"},
    rows={"host": "text"},
)
# When a host without a lease is due. The first URL of each crawl and priority is enough.
_NEXT: Final = f"""
SELECT min(CASE WHEN crawls.pages + crawls.in_progress < max_pages THEN (
    SELECT min(frontier.due_at) FROM frontier WHERE frontier.crawl_id = crawl_hosts.crawl_id
        AND frontier.host = crawl_hosts.host AND frontier.priority = level.priority AND state = 'pending'
    ) ELSE {{now}} + {CROWDED_MS} END)
FROM crawl_hosts JOIN crawls ON crawls.id = crawl_hosts.crawl_id
CROSS JOIN (SELECT 1 AS priority UNION ALL SELECT 2 UNION ALL SELECT 3) AS level
WHERE crawl_hosts.host = given.host AND crawl_hosts.pending > 0 AND crawls.state = 'running'
    AND crawls.pages < max_pages"""
_FREE: Final = bulk(
    f"""
UPDATE hosts SET lease_token = NULL, locked_until = NULL, locked_by = NULL,
    next_at = {{greatest}}(hosts.next_at, given.next_at),
    resting_until = {{greatest}}(hosts.resting_until, given.resting_until),
    due_at = CASE WHEN given.due_at IS NOT NULL THEN {{greatest}}(
        {{now}}, hosts.next_at, given.next_at, hosts.resting_until, given.resting_until, given.due_at) END
FROM (SELECT given.host, given.next_at, given.resting_until, ({_NEXT}) AS due_at FROM {{given}}) AS given
WHERE hosts.host = given.host""",
    rows={"host": "text", "next_at": "bigint", "resting_until": "bigint"},
)
_LAPSED: Final = bulk(
    """
SELECT host, locked_until + COALESCE(delay_ms, {careful}) AS next_at FROM hosts
WHERE locked_until <= {now} AND lease_token IS NOT NULL ORDER BY locked_until LIMIT {most}
{for_update} {skip_locked}""",
    values={"careful": "int", "most": "int"},
)

_ALLOW: Final = bulk(
    "UPDATE hosts SET is_allowed = given.is_allowed FROM {given} WHERE hosts.host = given.host",
    rows={"host": "text", "is_allowed": "boolean"},
)
_RESET: Final = bulk(
    """
UPDATE hosts SET failures = 0, resting_until = 0, is_allowed = true,
    due_at = CASE WHEN lease_token IS NULL AND due_at IS NOT NULL THEN {greatest}({now}, next_at)
        ELSE due_at END
WHERE host = {host} RETURNING host""",
    values={"host": "text"},
)


class Hosts:
    def __init__(self, database: Database, *, lease_ms: int = LEASE_MS) -> None:
        self._database = database
        self._lease_ms = lease_ms
        self._turns = HostTurns()

    async def lease(self, worker: str, most: int, *, now: int | None = None) -> list[HostLease]:
        """Lease hosts that are due. If other workers crawl too, each takes only its share. If more hosts are
        due than can be leased, tenants and crawls take turns."""
        async with self._database.read() as connection:
            (due,) = await _DUE(connection, now, most=most, length=self._lease_ms)
            crowded = due.hosts > most * due.workers
            chosen = await self._turns.choose(connection, most, now) if crowded else []
        if not due.hosts:
            return []
        part = min(most, -(-due.hosts // due.workers))
        token = secrets.token_hex(16)
        ours: dict[str, Any] = {
            "token": token,
            "worker": worker,
            "length": self._lease_ms,
            "careful": CAREFUL_MS,
        }

        async def lease(connection: AsyncConnection) -> list[HostLease]:
            rows = list(await _LEASE_CHOSEN(connection, now, [(name,) for name in chosen], **ours))
            if len(rows) < part:
                rows += await _LEASE_OLDEST(connection, now, most=part - len(rows), **ours)
            names = [row.host for row in rows]
            await give_back(connection, names, now, lapsed=True)  # URLs that a lost worker had taken
            robots = await stored_robots.get(connection, names)
            return [_lease(row, token, robots) for row in rows]

        return await self._database.transact(lease)

    async def count_starving(self, most: int, *, now: int | None = None) -> int:
        """The number of crawls that have a host to lease and none that is leased, up to `most`."""
        async with self._database.read() as connection:
            return await host_turns.count_starving(connection, most, now)

    async def extend(self, leases: Iterable[HostLease], *, now: int | None = None) -> list[HostLease]:
        """Extend the leases; returns those that are still held."""
        held = {lease.host: lease for lease in leases}
        rows = [(host, held[host].token) for host in sorted(held)]
        if not rows:
            return []
        async with self._database.executor() as executor:
            kept = await _EXTEND(executor, now, rows, length=self._lease_ms)
        return [replace(held[row.host], until=row.locked_until) for row in kept]

    async def release(
        self, lease: HostLease, *, next_at: int = 0, resting_until: int = 0, now: int | None = None
    ) -> bool:
        """Give a host back, with the URLs that were taken and not settled. False: the lease was lost."""
        return lease.host in await self.release_many([Release(lease, next_at, resting_until)], now=now)

    async def release_many(self, releases: Sequence[Release], *, now: int | None = None) -> set[str]:
        """Give many hosts back; returns those whose leases were held."""

        async def release(connection: AsyncConnection) -> set[str]:
            held = await still_held(connection, [each.lease for each in releases], now)
            await give_back(connection, sorted(held), now, lapsed=False)
            rows = [(lease.host, *times) for lease, *times in releases if lease.host in held]
            await _FREE(connection, now, sorted(rows))
            return held

        return await self._database.transact(release)

    async def recover(self, record: Record | None = None, *, now: int | None = None) -> int:
        """End the leases that have run out; returns how many URLs went back. Leasing a host does the same.
        `record` is called once, if there were any."""
        recovered = 0
        while True:
            async with self._database.write() as connection:
                rows = await _LAPSED(connection, now, careful=CAREFUL_MS, most=MAX_RECOVERED_AT_ONCE)
                more = await give_back(connection, [row.host for row in rows], now, lapsed=True)
                await _FREE(connection, now, [(row.host, row.next_at, 0) for row in rows])
                if record is not None and more and not recovered:
                    await record(connection)
                recovered += more
            if len(rows) < MAX_RECOVERED_AT_ONCE:
                return recovered

    async def keep_robots(
        self, lease: HostLease, robots: StoredRobots, *, is_allowed: bool = True, now: int | None = None
    ) -> bool:
        found = FoundRobots(lease, robots, is_allowed)
        return lease.host in await self.keep_robots_many([found], now=now)

    async def keep_robots_many(self, found: Sequence[FoundRobots], *, now: int | None = None) -> set[str]:
        """Store the robots.txt of many hosts; returns the hosts whose leases were held."""

        async def keep(connection: AsyncConnection) -> set[str]:
            held = await still_held(connection, [each.lease for each in found], now)
            kept = {each.lease.host: each for each in found if each.lease.host in held}
            await stored_robots.keep(connection, {host: each.robots for host, each in kept.items()})
            await _ALLOW(connection, now, [(host, each.is_allowed) for host, each in kept.items()])
            return held

        return await self._database.transact(keep)

    async def reset(self, host: str, record: Record | None = None, *, now: int | None = None) -> bool:
        """Forget failures, rest and robots.txt of a host. False: the host is not known."""
        async with self._database.write() as connection:
            if not await _RESET(connection, now, host=host):
                return False
            await stored_robots.forget(connection, host)
            if record is not None:
                await record(connection)
        return True

    async def are_due(self) -> bool:
        """Whether any host has work, now or later, or is leased."""
        query = select(hosts.c.host).where(hosts.c.due_at.is_not(None)).limit(1)
        async with self._database.read() as connection:
            return await connection.scalar(query) is not None

    async def are_overdue(self, *, now: int | None = None) -> bool:
        """Whether a host has been due for so long that no worker can be running."""
        query = select(hosts.c.host).where(hosts.c.due_at <= clock(now) - OVERDUE_MS).limit(1)
        async with self._database.read() as connection:
            return await connection.scalar(query) is not None

    async def count_due(self, most: int, *, now: int | None = None) -> int:
        """The number of hosts that can be leased now, up to `most`."""
        some = select(hosts.c.host).where(hosts.c.due_at <= clock(now)).limit(most).subquery()
        async with self._database.read() as connection:
            return await connection.scalar(select(func.count()).select_from(some)) or 0

    async def robots(self, host: str) -> StoredRobots | None:
        async with self._database.read() as connection:
            return (await stored_robots.get(connection, [host])).get(host)

    async def get(self, host: str) -> Host | None:
        found = await self.listing(host=host, limit=1)
        return found[0] if found else None

    async def listing(
        self,
        *,
        crawl_id: str | None = None,
        tenant: str | None = None,
        host: str | None = None,
        after: str | None = None,
        limit: int = 50,
        now: int | None = None,
    ) -> list[Host]:
        """Hosts in the order of their names: all, those of a crawl, or those of a tenant's crawls."""
        query = select(hosts, *waiting.ITS_ROBOTS, clock(now).label("now")).order_by(hosts.c.host)
        query = query.outerjoin(host_robots, host_robots.c.host == hosts.c.host).limit(limit)
        if crawl_id is not None:
            own = [crawl_hosts.c[name] for name in _COUNTS]
            query = query.add_columns(*own).join(crawl_hosts, crawl_hosts.c.host == hosts.c.host)
            query = query.where(crawl_hosts.c.crawl_id == crawl_id)
        elif tenant is not None:
            summed = _sum_of_tenant(tenant, host, after, limit)
            query = query.add_columns(*(summed.c[name] for name in _COUNTS))
            query = query.join(summed, summed.c.host == hosts.c.host)
        if host is not None:
            query = query.where(hosts.c.host == host)
        if after is not None:
            query = query.where(hosts.c.host > after)
        using = self._database.scan if host is None else self._database.read
        async with using() as connection:
            return [_host(row) for row in await connection.execute(query)]


def _sum_of_tenant(tenant: str, host: str | None, after: str | None, limit: int) -> FromClause:
    """The counts of a tenant's hosts over its crawls, for the next `limit` hosts."""
    here = crawl_hosts.c
    gone = select(crawls.c.id).where(crawls.c.tenant_id == tenant, crawls.c.deleting != false())
    summed = [cast(func.sum(here[name]), BigInteger).label(name) for name in _COUNTS]
    query = select(here.host, *summed).where(here.tenant_id == tenant, here.crawl_id.not_in(gone))
    if host is not None:
        query = query.where(here.host == host)
    if after is not None:
        query = query.where(here.host > after)
    return query.group_by(here.host).order_by(here.host).limit(limit).subquery()


async def still_held(connection: AsyncConnection, leases: Sequence[HostLease], now: int | None) -> set[str]:
    """The hosts whose leases are held; they stay held until the end of the transaction."""
    rows = await new_urls.lock_hosts(connection, [lease.host for lease in leases], now)
    held = {row.host: row.lease_token for row in rows if row.leased}
    return {lease.host for lease in leases if held.get(lease.host) == lease.token}


async def give_back(
    connection: AsyncConnection, names: Sequence[str], now: int | None, *, lapsed: bool
) -> int:
    """Give back the URLs in progress on these hosts, which must be locked; returns how many there were."""
    rows = await _GIVE_BACK(connection, now, [(name,) for name in names], lapse=int(lapsed))
    tally = CountChange()
    for row in rows:
        tally.move(row.crawl_id, row.host, before="in_progress", after=row.state)
        tally.count(row.crawl_id, failed=int(row.state == "failed"))
    if rows:
        await crawl_counts.lock(connection, tally.crawls)
        await tally.write(connection, now)
    return len(rows)


def _lease(row: Any, token: str, robots: dict[str, StoredRobots]) -> HostLease:
    return HostLease(
        host=row.host,
        token=token,
        until=row.locked_until,
        next_at=row.next_at,
        delay_ms=row.delay_ms,
        failures=row.failures,
        resting_until=row.resting_until,
        renders=bool(row.renders),
        robots=robots.get(row.host),
    )


def _host(row: Any) -> Host:
    values = row._mapping
    known = {name: values[name] for name in Host.__struct_fields__ if name in values}
    counts = UrlCounts(**{name: values[name] for name in _COUNTS}) if "pending" in values else None
    return Host(**known, waiting=waiting.of_host(row), counts=counts)
