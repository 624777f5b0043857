"""What tests of the frontier stand on: a tenant, a crawl and URLs."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, func, select

from gossamer.state.crawl import crawl_tables
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.crawl.hosts import HostLease, Hosts
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.settling import CrawlTask, End, HostSettlement, TaskEnd
from gossamer.state.db.database import Database
from gossamer.state.tenants import tenants
from gossamer.web.crawl.spec import CrawlSpec

NOW = 1_700_000_000_000
SECOND = 1_000
LEASE = 15 * SECOND


def url(host: str, path: str | int, *, depth: int = 0, priority: int = 3) -> NewUrl:
    text = f"http://{host}/{path}"
    return NewUrl(text, hashlib.sha256(text.encode()).hexdigest(), host, depth, priority)


def urls(host: str, count: int, **fields: int) -> list[NewUrl]:
    return [url(host, number, **fields) for number in range(count)]


def page(task: CrawlTask, *, size: int = 100, status: int = 200, **fields: str) -> CrawledPage:
    return CrawledPage(final_url=task.url, status_code=status, content_length=size, **fields)  # type: ignore[arg-type]


def done(
    tasks: Iterable[CrawlTask], *, new: Iterable[NewUrl] = (), state: End = "completed"
) -> HostSettlement:
    """All of the tasks ended; what was found belongs to the crawl of the first."""
    ends = [TaskEnd(task=task, state=state, page=page(task)) for task in tasks]
    found = {ends[0].task.crawl_id: list(new)} if ends else {}
    return HostSettlement(ends=ends, new=found)


@dataclass
class Ground:
    database: Database
    tenant: str
    crawls: Crawls
    hosts: Hosts
    frontier: Frontier

    @classmethod
    async def on(cls, database: Database) -> "Ground":
        async with database.write() as connection:
            tenant = await tenants.ensure_tenant(connection, "a@example.com")
        return cls(database, tenant.id, Crawls(database), Hosts(database), Frontier(database))

    async def crawl(self, new: Iterable[NewUrl] = (), *, now: int = NOW, max_pages: int = 1_000) -> Crawl:
        spec = CrawlSpec(seeds=("http://a:80/",), max_pages=max_pages)
        return await self.crawls.create(self.tenant, spec, urls=list(new), now=now)

    async def lease(self, most: int = 1, *, worker: str = "w", now: int = NOW) -> list[HostLease]:
        return await self.hosts.lease(worker, most, now=now)

    async def states(self, crawl_id: str) -> dict[str, str]:
        """By what is behind the host in the URL."""
        listed = await self.frontier.listing(crawl_id, limit=10_000)
        return {each.url.partition(each.host + "/")[2]: each.state for each in listed}

    async def check_counts(self) -> None:
        """What is counted along is what counting the rows would find."""
        async with self.database.read() as connection:
            kept = crawl_tables.frontier.c
            grouped = select(kept.crawl_id, kept.host, kept.state, func.count())
            rows = await connection.execute(grouped.group_by(kept.crawl_id, kept.host, kept.state))
            counted = {(crawl, host, state): number for crawl, host, state, number in rows}
            noted = (await connection.execute(select(crawl_tables.crawl_hosts))).all()
            crawls = (await connection.execute(select(crawl_tables.crawls))).all()
            stored = select(crawl_tables.crawled_pages.c.crawl_id, func.count())
            found = await connection.execute(stored.group_by(crawl_tables.crawled_pages.c.crawl_id))
            pages = {row[0]: row[1] for row in found}
        for state in ("pending", "in_progress", "completed", "failed", "blocked"):
            for row in noted:
                assert getattr(row, state) == counted.get((row.crawl_id, row.host, state), 0)
            for crawl in crawls:
                own = sum(
                    n for (crawl_id, _, its), n in counted.items() if (crawl_id, its) == (crawl.id, state)
                )
                assert getattr(crawl, state) == own
        assert all(crawl.pages == pages.get(crawl.id, 0) for crawl in crawls)

    async def rows(self, table: Table) -> list[Any]:
        async with self.database.read() as connection:
            return list((await connection.execute(select(table))).all())
