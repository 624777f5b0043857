# ruff: noqa: S608 - only constants are put into these statements
"""Adds new URLs to a crawl, and wakes their hosts.

Every transaction that adds URLs locks in this order: the new rows, the hosts by name, the crawls by id. So no
two transactions ever wait for each other.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from msgspec import Struct

from gossamer.state.crawl import crawl_counts
from gossamer.state.crawl.crawl_counts import CountChange
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.single import Rows
from gossamer.state.webhooks import endpoints

LOW, MEDIUM, HIGH = 1, 2, 3


class NewUrl(Struct, frozen=True):
    url: str  # in its crawl form
    url_hash: str  # SHA-256 of that, in hex
    host: str  # with its port
    depth: int = 0
    priority: int = HIGH
    hops: int = 0  # redirects in a row, or sitemaps in sitemaps, that led to it
    as_sitemap: bool = False  # it is fetched as a sitemap, and is no page of the crawl
    found_on: str = ""  # the hash of the URL that led to it; empty for seeds


_values: Final = attrgetter("url_hash", "url", "host", "priority", "depth", "hops", "as_sitemap", "found_on")
_INSERT: Final = bulk(
    """
INSERT INTO frontier (crawl_id, url_hash, url, host, priority, depth, state, attempt, lapses, due_at,
    added_at, updated_at, reason, hops, as_sitemap, found_on)
SELECT crawl_id, url_hash, url, host, priority, depth, 'pending', 0, 0, {now}, {now}, {now}, '', hops,
    as_sitemap, NULLIF(found_on, '')
FROM {given} WHERE true ON CONFLICT (crawl_id, url_hash) DO NOTHING RETURNING crawl_id, host""",
    rows={
        "crawl_id": "text",
        "url_hash": "text",
        "url": "text",
        "host": "text",
        "priority": "smallint",
        "depth": "smallint",
        "hops": "smallint",
        "as_sitemap": "boolean",
        "found_on": "text",
    },
)
_ADD_HOSTS: Final = bulk(
    """
INSERT INTO hosts (host, next_at, resting_until, failures, is_allowed, renders, pages, bytes, added_at)
SELECT host, 0, 0, 0, true, false, 0, 0, {now} FROM {given} WHERE true ON CONFLICT (host) DO NOTHING""",
    rows={"host": "text"},
)
_LOCK_HOSTS: Final = bulk(
    """
SELECT host, lease_token, COALESCE(locked_until, 0) > {now} AS leased FROM hosts
WHERE host IN (SELECT host FROM {given}) ORDER BY host {for_update}""",
    rows={"host": "text"},
)
# A leased host is looked at when it is released.
_SOONEST: Final = "{greatest}({now}, next_at, resting_until)"
_WAKE: Final = bulk(
    f"""
UPDATE hosts SET due_at = {_SOONEST}
FROM {{given}} WHERE hosts.host = given.host AND lease_token IS NULL
    AND (due_at IS NULL OR due_at > {_SOONEST})""",
    rows={"host": "text"},
)
_REOPEN: Final = bulk(
    """
UPDATE crawls SET state = 'running', finished_at = NULL
FROM {given} WHERE crawls.id = given.crawl_id AND state = 'done'
RETURNING crawls.id""",
    rows={"crawl_id": "text"},
)


async def insert(
    connection: AsyncConnection, new: Iterable[tuple[str, NewUrl]], tally: CountChange, now: int | None
) -> set[str]:
    """Insert the URLs that are new; returns their hosts."""
    rows = sorted((crawl_id, *_values(each)) for crawl_id, each in new)
    inserted = await _INSERT(connection, now, rows)
    for crawl_id, host in inserted:
        tally.move(crawl_id, host, after="pending")
        tally.count(crawl_id, added=1)
    hosts = {host for _, host in inserted}
    await _ADD_HOSTS(connection, now, [(host,) for host in sorted(hosts)])
    return hosts


async def lock_hosts(connection: AsyncConnection, hosts: Iterable[str], now: int | None) -> Rows:
    """Lock the hosts; returns name, token and whether the lease lasts."""
    return await _LOCK_HOSTS(connection, now, [(host,) for host in sorted(set(hosts))])


async def wake(connection: AsyncConnection, hosts: Iterable[str], now: int | None) -> None:
    """Make these hosts due; the caller has locked them."""
    await _WAKE(connection, now, [(host,) for host in sorted(set(hosts))])


async def add(connection: AsyncConnection, crawl_id: str, urls: Iterable[NewUrl], *, now: int | None) -> int:
    """Add URLs; returns how many were new. A crawl that was done goes on. Raises `CrawlsGone`."""
    tally = CountChange()
    hosts = await insert(connection, ((crawl_id, each) for each in urls), tally, now)
    if not hosts:
        return 0
    await lock_hosts(connection, hosts, now)
    await wake(connection, hosts, now)
    await crawl_counts.lock_all(connection, [crawl_id])
    await tally.write(connection, now)
    if await _REOPEN(connection, now, [(crawl_id,)]):
        await endpoints.reopen_work(connection, crawl_id)
    return tally.by_crawl[crawl_id]["added"]
