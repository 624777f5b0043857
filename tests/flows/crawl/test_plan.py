"""What a process knows of a crawl that others have begun."""

from tests.contract.crawl.crawl_ground import NOW, Ground, url

from gossamer.flows.crawl.plan import Plans
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.db.database import Database
from gossamer.web.crawl.fingerprint import fingerprint

TEXT = " ".join(f"word{number}" for number in range(300))
FIRST, NEAR, SECOND = fingerprint(TEXT), fingerprint(TEXT + " more"), fingerprint("something else")


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
        first.url: CrawledPage(final_url=first.url, fingerprint=FIRST),
        copy.url: CrawledPage(final_url=copy.url, fingerprint=NEAR, duplicate_of=first.url_hash),
        second.url: CrawledPage(final_url=second.url, fingerprint=SECOND),
        empty.url: CrawledPage(final_url=empty.url),
    }
    ends = [TaskEnd(task=task, page=pages[task.url]) for task in tasks.values()]
    assert await ground.frontier.settle(lease, HostSettlement(ends=ends), now=NOW)
    plan = await Plans(ground.crawls, lambda: 0.0).get(crawl.id)
    assert plan is not None
    assert (plan.alike.find(NEAR), plan.alike.find(SECOND)) == (first.url_hash, second.url_hash)
    assert (plan.alike.find(fingerprint("new")), len(plan.alike)) == (None, 2)
