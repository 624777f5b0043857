"""Counts everything again that is counted along: the URLs and pages of crawls, and the pages of hosts.

Counts change in the transaction that changes the rows, under the lock of the crawl or of the host. So what is
counted under that lock is right.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import case, func, insert, select, update

from gossamer.state.crawl import crawl_counts, new_urls
from gossamer.state.crawl.crawl_counts import STATES, CrawlsGone
from gossamer.state.crawl.crawl_tables import crawl_hosts, crawled_pages, crawls, frontier, hosts
from gossamer.state.db.connection import AsyncConnection

_crawls: Final = crawls.c
_hosts: Final = hosts.c
_here: Final = crawl_hosts.c
_urls: Final = frontier.c
_pages: Final = crawled_pages.c


class CountDifference(NamedTuple):
    """A count that was wrong."""

    table: str
    key: str  # the id of the crawl, or the name of the host
    name: str
    counted: int  # as it was
    found: int  # as the rows are


class CrawlTruth(NamedTuple):
    """What the rows of a crawl say: its totals, and the states of its URLs by host."""

    totals: Mapping[str, int]
    by_host: Mapping[str, Counter[str]]


async def list_crawls(connection: AsyncConnection, after: str, limit: int) -> Sequence[str]:
    query = select(_crawls.id).where(_crawls.id > after, _crawls.deleting.is_(False))
    return (await connection.scalars(query.order_by(_crawls.id).limit(limit))).all()


async def list_hosts(connection: AsyncConnection, after: str, limit: int) -> Sequence[str]:
    query = select(_hosts.host).where(_hosts.host > after).order_by(_hosts.host).limit(limit)
    return (await connection.scalars(query)).all()


async def compare_crawl(connection: AsyncConnection, crawl_id: str) -> list[CountDifference]:
    row = (await connection.execute(select(crawls).where(_crawls.id == crawl_id))).first()
    if row is None or row.deleting:
        return []
    truth = await _count_crawl(connection, crawl_id)
    noted = (await connection.execute(select(crawl_hosts).where(_here.crawl_id == crawl_id))).all()
    found = _differences("crawls", crawl_id, row, truth.totals)
    known = {each.host: each for each in noted}
    for host in sorted(known.keys() | truth.by_host.keys()):
        states = {state: truth.by_host.get(host, Counter())[state] for state in STATES}
        found += _differences("crawl_hosts", f"{crawl_id} {host}", known.get(host), states)
    return found


async def fix_crawl(connection: AsyncConnection, crawl_id: str) -> list[CountDifference]:
    """Set the counts to what the rows say; returns what was wrong."""
    try:
        await crawl_counts.lock_all(connection, [crawl_id])
    except CrawlsGone:
        return []
    wrong = await compare_crawl(connection, crawl_id)
    if not wrong:
        return []
    truth = await _count_crawl(connection, crawl_id)
    bound = truth.totals["pages"] + truth.totals["in_progress"]
    most = case((_crawls.max_pages < bound, bound), else_=_crawls.max_pages)
    whole = update(crawls).where(_crawls.id == crawl_id)
    await connection.execute(whole.values(**truth.totals, max_pages=most))
    known = set(await connection.scalars(select(_here.host).where(_here.crawl_id == crawl_id)))
    tenant = await connection.scalar(select(_crawls.tenant_id).where(_crawls.id == crawl_id))
    for host in sorted(known | truth.by_host.keys()):
        states = {state: truth.by_host.get(host, Counter())[state] for state in STATES}
        if host in known:
            part = update(crawl_hosts).where(_here.crawl_id == crawl_id, _here.host == host)
            await connection.execute(part.values(**states))
        else:
            key = {"crawl_id": crawl_id, "host": host, "tenant_id": tenant, "taken_at": 0}
            await connection.execute(insert(crawl_hosts).values(**key, **states))
    return wrong


async def compare_host(connection: AsyncConnection, host: str) -> list[CountDifference]:
    row = (await connection.execute(select(hosts).where(_hosts.host == host))).first()
    return [] if row is None else _differences("hosts", host, row, await _count_host(connection, host))


async def fix_host(connection: AsyncConnection, host: str) -> list[CountDifference]:
    await new_urls.lock_hosts(connection, [host], None)
    wrong = await compare_host(connection, host)
    if wrong:
        truth = await _count_host(connection, host)
        await connection.execute(update(hosts).where(_hosts.host == host).values(**truth))
    return wrong


async def _count_crawl(connection: AsyncConnection, crawl_id: str) -> CrawlTruth:
    grouped = select(_urls.host, _urls.state, func.count()).where(_urls.crawl_id == crawl_id)
    by_host: dict[str, Counter[str]] = {}
    for host, state, number in await connection.execute(grouped.group_by(_urls.host, _urls.state)):
        by_host.setdefault(host, Counter())[state] = number
    stored = select(func.count(), func.coalesce(func.sum(_pages.content_length), 0))
    pages, size = (await connection.execute(stored.where(_pages.crawl_id == crawl_id))).one()
    totals = {state: sum(each[state] for each in by_host.values()) for state in STATES}
    return CrawlTruth(totals | {"pages": pages, "bytes": int(size)}, by_host)


async def _count_host(connection: AsyncConnection, host: str) -> dict[str, int]:
    """Pages of crawls that are being deleted count as long as they are there."""
    its = select(_here.crawl_id).where(_here.host == host)
    stored = select(func.count(), func.coalesce(func.sum(_pages.content_length), 0))
    query = stored.where(_pages.crawl_id.in_(its), _pages.host == host)
    pages, size = (await connection.execute(query)).one()
    return {"pages": pages, "bytes": int(size)}


def _differences(table: str, key: str, row: Any, truth: Mapping[str, int]) -> list[CountDifference]:
    counted = {name: 0 if row is None else int(getattr(row, name)) for name in truth}
    return [
        CountDifference(table, key, name, counted[name], number)
        for name, number in truth.items()
        if counted[name] != number
    ]
