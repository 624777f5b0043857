"""Questions that come together are one transaction; what crawls have done is counted once."""

import asyncio

from tests.doors.services import Visiting

from gossamer.flows.crawl.frontier_batcher import FrontierBatcher
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.flows.crawl.watch import CrawlWatch
from gossamer.observe.metrics import Metrics
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.hosts import Release
from gossamer.state.crawl.reading.crawl_stats import CrawlStats
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.crawl.spec import CrawlSpec


async def test_the_batcher_serves_every_host_its_own_and_never_more_than_a_crawl_may_store(
    visiting: Visiting,
) -> None:
    async with visiting() as visit:
        service = visit.service
        spec = CrawlSpec(seeds=tuple(f"http://127.0.0.{host}/{page}" for host in (1, 2) for page in range(5)))
        limited = CrawlSpec(seeds=tuple(f"http://127.0.0.{host}/" for host in (3, 4, 5)), max_pages=2)
        for each in (spec, limited):
            await service.crawls.create(PUBLIC, each, urls=seeds_of(each))
        batcher = FrontierBatcher(service.frontier, service.hosts)
        leases = await service.hosts.lease("test", 10)
        taken = await asyncio.gather(*(batcher.take(lease, 3) for lease in leases))
        for lease, tasks in zip(leases, taken, strict=True):
            assert {task.host for task in tasks} <= {lease.host}
        by_host = {lease.host: len(tasks) for lease, tasks in zip(leases, taken, strict=True)}
        assert (by_host["127.0.0.1:80"], by_host["127.0.0.2:80"]) == (3, 3)
        assert sum(by_host[f"127.0.0.{host}:80"] for host in (3, 4, 5)) == 2
        assert all(await asyncio.gather(*(batcher.release(Release(lease)) for lease in leases)))
        assert not any(await asyncio.gather(*(batcher.release(Release(lease)) for lease in leases)))
        assert await batcher.take(leases[0], 1) == []


async def test_the_watch_counts_what_was_done_since_it_last_looked(visiting: Visiting) -> None:
    async with visiting() as visit:
        service, metrics = visit.service, Metrics("test")
        spec = CrawlSpec(seeds=("http://127.0.0.1/1", "http://127.0.0.1/2", "http://127.0.0.1/3"))
        await service.crawls.create(PUBLIC, spec, urls=seeds_of(spec))
        watch = CrawlWatch(CrawlStats(service.database), metrics, service.log)
        await watch.look()
        (lease,) = await service.hosts.lease("test", 1)
        good, bad, _ = await service.frontier.take(lease, 3)
        page = CrawledPage(final_url=good.url, status_code=200, content_length=1_000)
        ends = [TaskEnd(task=good, page=page), TaskEnd(task=bad, state="blocked", reason="robots")]
        assert await service.frontier.settle(lease, HostSettlement(ends=ends))
        for _ in range(2):
            await watch.look()
        told = metrics.exposition.text()[0].decode().splitlines()
        assert {
            "crawler_pages_fetched_total 1.0",
            "crawler_robots_denials_total 1.0",
            "crawler_bytes_downloaded_total 1000.0",
            'crawler_http_status_total{status="2xx"} 1.0',
            "crawler_fetch_success_rate 1.0",
            "crawler_active_workers 1.0",
        } <= set(told)
