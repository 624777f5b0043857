"""What a process knows of a crawl that others have begun."""

from tests.contract.crawl_ground import NOW, Ground, url

from gossamer.flows.crawl.plan import Plans
from gossamer.state.database import Database
from gossamer.state.frontier import CrawledPage, Settlement, TaskEnd

FIRST, NEAR, SECOND = (1 << 63) | 0xABCDEF, (1 << 63) | 0xABCDEE, 0x0123_4567_89AB_CDEF


async def test_pages_that_were_stored_before_are_compared_with_whoever_stored_them(
    database: Database,
) -> None:
    ground = await Ground.on(database)
    found = [url("a:80", number) for number in range(4)]
    crawl = await ground.crawl(found)
    (lease,) = await ground.lease()
    tasks = {task.url: task for task in await ground.frontier.take(lease, 9, now=NOW)}
    first, copy, second, empty = (tasks[each.url] for each in found)
    pages = {
        first.url: CrawledPage(final_url=first.url, simhash=FIRST),
        copy.url: CrawledPage(final_url=copy.url, simhash=NEAR, duplicate_of=first.url_hash),
        second.url: CrawledPage(final_url=second.url, simhash=SECOND),
        empty.url: CrawledPage(final_url=empty.url),
    }
    ends = [TaskEnd(task=task, page=pages[task.url]) for task in tasks.values()]
    assert await ground.frontier.settle(lease, Settlement(ends=ends), now=NOW)
    plan = await Plans(ground.crawls, lambda: 0.0).get(crawl.id)
    assert plan is not None
    assert (plan.alike.find(NEAR), plan.alike.find(SECOND)) == (first.url_hash, second.url_hash)
    assert (plan.alike.find(1), len(plan.alike)) == (None, 2)
