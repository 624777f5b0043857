"""Wishes that come together are one transaction; what crawls have done is counted once."""

import asyncio
from collections.abc import Sequence

import pytest
from tests.doors.houses import Visiting

from gossamer.flows.crawl.desk import TOGETHER, Desk, Together
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.flows.crawl.watch import Watch
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.crawl_stats import CrawlStats
from gossamer.state.crawls import Spec
from gossamer.state.frontier import CrawledPage, Settlement, TaskEnd
from gossamer.state.hosts import Release
from gossamer.state.tenants import PUBLIC


async def test_who_comes_while_another_is_served_is_served_with_the_others() -> None:
    served: list[Sequence[int]] = []

    async def serve(wishes: Sequence[int]) -> list[int]:
        served.append(wishes)
        await asyncio.sleep(0)
        return [-wish for wish in wishes]

    together = Together(serve)
    wishes = range(TOGETHER + 20)
    assert await asyncio.gather(*map(together.ask, wishes)) == [-wish for wish in wishes]
    assert [len(batch) for batch in served] == [TOGETHER, 20]
    assert await together.ask(7) == -7


async def test_what_goes_wrong_is_told_to_all_it_concerns_and_to_nobody_else() -> None:
    async def serve(wishes: Sequence[int]) -> list[int]:
        if 0 in wishes:
            raise Unavailable("database", "away")
        return list(wishes)

    together = Together(serve)
    ends = await asyncio.gather(*map(together.ask, (0, 1)), return_exceptions=True)
    assert all(isinstance(end, Unavailable) for end in ends)
    assert await together.ask(1) == 1


async def test_who_leaves_does_not_keep_the_others_waiting() -> None:
    go_on = asyncio.Event()

    async def serve(wishes: Sequence[int]) -> list[int]:
        await go_on.wait()
        return list(wishes)

    together = Together(serve)
    one, two = asyncio.create_task(together.ask(1)), asyncio.create_task(together.ask(2))
    await asyncio.sleep(0)
    one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one
    go_on.set()
    assert await two == 2


async def test_the_desk_serves_every_host_its_own_and_never_more_than_a_crawl_may_store(
    visiting: Visiting,
) -> None:
    async with visiting() as visit:
        house = visit.house
        spec = Spec(seeds=tuple(f"http://127.0.0.{host}/{page}" for host in (1, 2) for page in range(5)))
        limited = Spec(seeds=tuple(f"http://127.0.0.{host}/" for host in (3, 4, 5)), max_pages=2)
        for each in (spec, limited):
            await house.crawls.create(PUBLIC, each, urls=seeds_of(each))
        desk = Desk(house.frontier, house.hosts)
        leases = await house.hosts.lease("test", 10)
        taken = await asyncio.gather(*(desk.take(lease, 3) for lease in leases))
        for lease, tasks in zip(leases, taken, strict=True):
            assert {task.host for task in tasks} <= {lease.host}
        by_host = {lease.host: len(tasks) for lease, tasks in zip(leases, taken, strict=True)}
        assert (by_host["127.0.0.1:80"], by_host["127.0.0.2:80"]) == (3, 3)
        assert sum(by_host[f"127.0.0.{host}:80"] for host in (3, 4, 5)) == 2
        assert all(await asyncio.gather(*(desk.release(Release(lease)) for lease in leases)))
        assert not any(await asyncio.gather(*(desk.release(Release(lease)) for lease in leases)))
        assert await desk.take(leases[0], 1) == []


async def test_the_watch_counts_what_was_done_since_it_last_looked(visiting: Visiting) -> None:
    async with visiting() as visit:
        house, metrics = visit.house, Metrics("test")
        spec = Spec(seeds=("http://127.0.0.1/1", "http://127.0.0.1/2", "http://127.0.0.1/3"))
        await house.crawls.create(PUBLIC, spec, urls=seeds_of(spec))
        watch = Watch(CrawlStats(house.database), metrics, house.log)
        await watch.look()
        (lease,) = await house.hosts.lease("test", 1)
        good, bad, _ = await house.frontier.take(lease, 3)
        page = CrawledPage(final_url=good.url, status_code=200, content_length=1_000)
        ends = [TaskEnd(task=good, page=page), TaskEnd(task=bad, state="blocked", reason="robots")]
        assert await house.frontier.settle(lease, Settlement(ends=ends))
        for _ in range(2):
            await watch.look()
        told = metrics.exposition()[0].decode().splitlines()
        assert {
            "crawler_pages_fetched_total 1.0",
            "crawler_robots_denials_total 1.0",
            "crawler_bytes_downloaded_total 1000.0",
            'crawler_http_status_total{status="2xx"} 1.0',
            "crawler_fetch_success_rate 1.0",
            "crawler_active_workers 1.0",
        } <= set(told)
