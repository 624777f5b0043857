"""Crawls of sites with traps, by several workers that share nothing but the database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from tests.doors.services import AS_ADMIN, Visiting
from tests.flows.crawl.test_worker import Crawled
from tests.site.trap_pages import TrapSite, one_page, traps

from gossamer.flows.crawl.seeds import seeds_of
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.crawl.spec import CrawlSpec

WORKERS = 3
HOSTS = 3


class TrapOrigin:
    """One of the sites at several addresses."""

    def __init__(self, site: TrapSite) -> None:
        self._site = site
        self.homes: list[str] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator["TrapOrigin"]:
        async with AsyncExitStack() as stack:
            for _ in range(HOSTS):
                server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
                self.homes.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
                await stack.enter_async_context(server)
            yield self

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
        body = None if target == "/robots.txt" else self._site.answer(target)
        said = (body or "").encode()
        head = f"HTTP/1.1 {404 if body is None else 200} .\r\nContent-Type: text/html\r\n"
        writer.write(f"{head}Content-Length: {len(said)}\r\nConnection: close\r\n\r\n".encode() + said)
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def crawling(visiting: Visiting, origin: TrapOrigin, **settings: Any) -> AsyncIterator[Crawled]:
    spec = CrawlSpec(seeds=tuple(origin.homes), delay=0.0, sitemaps=False, max_pages=3_000)
    async with visiting(egress_allow="127.0.0.1/32", egress_ports="*", **settings) as visit:
        crawl = await visit.service.crawls.create(PUBLIC, spec, urls=seeds_of(spec))
        stop = asyncio.Event()
        working = [asyncio.create_task(visit.service.crawl_worker().run(stop)) for _ in range(WORKERS)]
        try:
            yield Crawled(visit, crawl.id)
        finally:
            stop.set()
            await asyncio.gather(*working)


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_one_page_with_session_ids_is_stored_a_few_times_and_told(
    visiting: Visiting, database: str, request: pytest.FixtureRequest
) -> None:
    """Without care these are 2,047 copies on each host."""
    chosen = {"database_url": request.getfixturevalue("postgres").url} if database == "postgres" else {}
    async with TrapOrigin(one_page()).open() as origin, crawling(visiting, origin, **chosen) as crawled:
        done = await crawled.until(lambda crawl: crawl.state == "done")
        assert done.counts.pages <= 40
        told = await crawled.shown("traps")
        assert {trap["host"] for trap in told} == {home[7:-1] for home in origin.homes}
        assert {trap["kind"] for trap in told} <= {"copies", "parameter"}
        assert all(trap["cut"] > 0 and "sid=" in trap["example"] and trap["since"] for trap in told)
        progress = await crawled.client.get(f"/api/crawls/{crawled.crawl_id}/events", headers=AS_ADMIN)
        assert progress.json()["traps"] == told


async def test_all_pages_of_a_site_with_session_numbers_are_found(visiting: Visiting) -> None:
    site = next(site for site in traps() if site.name == "session number")
    async with TrapOrigin(site).open() as origin, crawling(visiting, origin) as crawled:
        done = await crawled.until(lambda crawl: crawl.state == "done")
        assert done.counts.pages <= HOSTS * 3 * site.useful
        hashes = {(row.host, row.content_hash) for row in await crawled.rows() if row.status_code == 200}
        assert len(hashes) == HOSTS * site.useful
