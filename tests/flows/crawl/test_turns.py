"""A worker that is full makes room for a crawl of which it holds nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from tests.doors.services import Visiting
from tests.flows.crawl.test_worker import Answer, Origin, crawling, linking

from gossamer.flows.crawl import worker
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.state.tenants import tenants
from gossamer.web.crawl.spec import CrawlSpec

HOSTS, HELD = 6, 2


class Endless(dict[str, Any]):
    """Every page leads to the next."""

    def get(self, target: str, default: Any = None) -> Answer:
        number = target.removeprefix("/")
        if number and not number.isdecimal():
            return 404, ""
        return linking(f"/{int(number or 0) + 1}")


@asynccontextmanager
async def origins() -> AsyncIterator[list[Origin]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Origin(Endless()).open()) for _ in range(HOSTS)]


async def test_a_tenant_with_one_host_does_not_wait_for_all_hosts_of_another(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "SHORT_TURN", 0.2)
    large: dict[str, Any] = {"delay": 0.05, "max_pages": 1_000_000, "max_depth": 1_000_000, "scope": "any"}
    async with origins() as hosts, Origin({"/": linking("/a", "/b")}).open() as small:
        seeds = tuple(each.url() for each in hosts)
        flags = {"crawl_hosts": HELD}
        async with crawling(visiting, hosts[0], flags, seeds=seeds, **large) as crawled:
            await crawled.until(lambda crawl: crawl.counts.pages >= HELD)
            service = crawled.service
            async with service.database.write() as connection:
                other = await tenants.ensure_tenant(connection, "other@example.com")
            spec = CrawlSpec(seeds=(small.url(),), delay=0.05, sitemaps=False)
            begun = await service.crawls.create(other.id, spec, urls=seeds_of(spec))
            async with asyncio.timeout(worker.FULL_TURN / 2):
                while not (await service.crawls.some([begun.id]))[begun.id].is_over:
                    await asyncio.sleep(0.05)
            assert (await service.crawls.counts(begun.id)).pages == 3
            assert not (await crawled.crawl()).is_over
            await service.crawls.cancel(crawled.crawl_id)
