"""What the schedule of a crawl that is kept fresh starts: visits to the pages that are due."""

from typing import Final

from msgspec import Struct

from gossamer import problems
from gossamer.flows.crawl.refreshing.importance_weigher import ImportanceWeigher
from gossamer.flows.schedules.starter import Firing, Start
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.problems import Problem
from gossamer.state.crawl import crawls
from gossamer.state.crawl.crawl_counts import CrawlsGone
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.crawl.refresh import due_pages
from gossamer.state.db.connection import AsyncConnection

CLEARING_SECONDS: Final = 5.0


class RecrawlStarter(Struct, frozen=True):
    frontier: Frontier
    quotas: Quotas
    weigher: ImportanceWeigher

    async def prepare(self, firing: Firing) -> Start:
        await self.quotas.check(firing.caller, Quota.PAGES, Quota.BYTES)
        crawl_id = firing.schedule.subject
        async with self.frontier.database.read() as connection:
            crawl = await crawls.get(connection, crawl_id)
        if crawl is not None:
            await clear_surplus(self.frontier, crawl)
            if crawl.state == "done" and crawl.spec.keeps_fresh:
                await self.weigher.weigh(crawl)

        async def start(connection: AsyncConnection) -> str:
            await put_due(connection, crawl_id)
            return crawl_id

        return start

    async def is_running(self, connection: AsyncConnection, work_id: str) -> bool:
        crawl = await crawls.get(connection, work_id)
        return crawl is not None and crawl.state in ("running", "paused")


async def clear_surplus(frontier: Frontier, crawl: Crawl) -> None:
    """A crawl that has stored all of its pages forgets the URLs that it would never have come to: they are
    not to take the place of visits."""
    if crawl.state == "done" and crawl.counts.pending and crawl.counts.pages >= crawl.spec.max_pages:
        await frontier.clear(crawl.id, seconds=CLEARING_SECONDS)


async def put_due(connection: AsyncConnection, crawl_id: str, *, early: bool = False) -> int:
    """Put the due pages of a crawl that is done into the frontier; returns how many. Raises `Problem` if the
    crawl is gone."""
    crawl = await crawls.get(connection, crawl_id)
    if crawl is None:
        raise Problem(problems.NOT_FOUND, "The crawl was deleted.")
    if crawl.state != "done" or not crawl.spec.keeps_fresh:
        return 0
    if crawl.counts.pending and crawl.counts.pages >= crawl.spec.max_pages:  # not cleared yet
        return 0
    try:
        return await due_pages.put(connection, crawl_id, crawl.spec, early=early)
    except CrawlsGone as gone:
        raise Problem(problems.NOT_FOUND, "The crawl was deleted.") from gone
