"""What tests of crawls that are kept fresh stand on: visits, and the rounds in which they are made."""

from tests.contract.crawl.crawl_ground import NOW, Ground, urls

from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.hosts import HostLease
from gossamer.state.crawl.refresh import due_pages, page_versions
from gossamer.state.crawl.refresh.fresh_pages import PageVisit
from gossamer.state.crawl.settling import CrawlTask, HostSettlement, TaskEnd
from gossamer.web.crawl.refresh.page_change import PageChange
from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS
from gossamer.web.crawl.spec import CrawlSpec

SPEC = CrawlSpec(seeds=("http://a:80/",), refresh="auto", refresh_budget=5)


def visit(change: PageChange, *, etag: str | None = None, size: int = 0) -> PageVisit:
    return PageVisit(change=change, etag=etag, bytes=size, least_ms=HOUR_MS, most_ms=30 * DAY_MS)


def ended(task: CrawlTask, change: PageChange, text: str = "", **found: object) -> TaskEnd:
    page = None
    if change.is_stored:
        status = 404 if change is PageChange.GONE else 200
        page = CrawledPage(
            final_url=task.url,
            status_code=status,
            content_hash=text,
            outcome="ok",
            blob=f"crawls/{text}",
            blob_size=1,
        )
    return TaskEnd(task=task, page=page, visit=visit(change, **found))  # type: ignore[arg-type]


async def take(ground: Ground, now: int) -> tuple[HostLease, list[CrawlTask]]:
    [lease] = await ground.lease(now=now)
    return lease, await ground.frontier.take(lease, 100, now=now)


async def settle(ground: Ground, lease: HostLease, ends: list[TaskEnd], now: int) -> None:
    assert await ground.frontier.settle(lease, HostSettlement(ends=ends), now=now)
    await ground.hosts.release(lease, now=now)
    await ground.crawls.finish(now=now)


async def begin(ground: Ground, count: int, spec: CrawlSpec = SPEC) -> Crawl:
    """A crawl that has stored its pages, and is done."""
    crawl = await ground.crawls.create(ground.tenant, spec, urls=urls("a:80", count), now=NOW)
    lease, tasks = await take(ground, NOW)
    assert all(task.known is None for task in tasks)
    ends = [ended(task, PageChange.NEW, "first", etag='"1"') for task in tasks]
    await settle(ground, lease, ends, NOW)
    return await again(ground, crawl)


async def again(ground: Ground, crawl: Crawl) -> Crawl:
    found = await ground.crawls.get(crawl.id)
    assert found is not None
    return found


async def put(ground: Ground, crawl: Crawl, now: int, *, early: bool = False) -> int:
    async with ground.database.write() as connection:
        return await due_pages.put(connection, crawl.id, crawl.spec, early=early, now=now)


async def versions_of(ground: Ground, task: CrawlTask) -> list[page_versions.PageVersion]:
    async with ground.database.read() as connection:
        return await page_versions.listing(connection, task.crawl_id, task.url_hash)


async def revisit(ground: Ground, crawl: Crawl, now: int, change: PageChange, text: str = "") -> CrawlTask:
    assert await put(ground, crawl, now, early=True) == 1
    lease, [task] = await take(ground, now)
    await settle(ground, lease, [ended(task, change, text, size=100)], now)
    return task
