"""A crawl as a whole: hosts that misbehave, crawls that are bounded and paused, pages made by scripts."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from tests.doors.renders import APP, PROSE
from tests.doors.services import AS_ADMIN, Visit, Visiting
from tests.flows.test_parser_pool import workers
from tests.lag import Lag
from tests.servers.postgres import PostgresServer

from gossamer.app import Service
from gossamer.flows.crawl.content import load_page
from gossamer.flows.crawl.host import MAX_TASKS
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.state.crawl.crawl_tables import crawled_pages, hosts
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.db.database import clock
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.crawl.spec import CrawlSpec

SECONDS = 60.0
MOST_LAG = 10.0  # on a busy machine; a parser that is not stopped takes minutes
GONE = (404, "<p>Nothing here.")
Answer = tuple[int, str]


@dataclass
class Origin:
    """A host of these pages; what is a function answers anew each time."""

    pages: dict[str, Answer | Callable[[], Awaitable[Answer]]]
    asked: list[str] = field(default_factory=list)
    site: str = ""

    def url(self, target: str = "/") -> str:
        return f"http://{self.site}{target}"

    @property
    def times(self) -> Counter[str]:
        return Counter(self.asked)

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Origin"]:
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        self.site = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            yield self

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        target = head.split(b" ")[1].decode()
        self.asked.append(target)
        found = self.pages.get(target, GONE)
        status, body = found if isinstance(found, tuple) else await found()
        kind = "text/plain" if target == "/robots.txt" else "text/html"
        said = body.encode()
        writer.write(
            f"HTTP/1.1 {status} .\r\nContent-Type: {kind}\r\nContent-Length: {len(said)}\r\n".encode()
        )
        writer.write(b"Connection: close\r\n\r\n" + said)
        writer.close()
        await writer.wait_closed()


@dataclass
class Crawled:
    visit: Visit
    crawl_id: str

    @property
    def service(self) -> Service:
        return self.visit.service

    @property
    def client(self) -> httpx.AsyncClient:
        return self.visit.client

    async def get(self, target: str) -> Any:
        found = await self.client.get(target, headers=AS_ADMIN)
        assert found.status_code == 200, found.text
        return found.json()

    async def shown(self, name: str) -> Any:
        return (await self.get(f"/api/crawls/{self.crawl_id}"))[name]

    async def scalar(self, query: Any) -> Any:
        async with self.service.database.read() as connection:
            return await connection.scalar(query)

    async def reason(self, site: str) -> str | None:
        """Why the host is left alone."""
        host = await self.service.hosts.get(site)
        return None if host is None or host.waiting is None else host.waiting.reason

    async def until_logged(self, event: str, **members: Any) -> None:
        async with asyncio.timeout(SECONDS):
            while not any(members.items() <= line.items() for line in self.visit.logged(event)):
                await asyncio.sleep(0.02)

    async def crawl(self) -> Crawl:
        found = await self.service.crawls.get(self.crawl_id)
        assert found is not None
        return found

    async def until(self, holds: Callable[[Crawl], bool]) -> Crawl:
        async with asyncio.timeout(SECONDS):
            while not holds(await self.crawl()):
                await asyncio.sleep(0.02)
        return await self.crawl()

    async def rows(self) -> list[Any]:
        query = select(crawled_pages).where(crawled_pages.c.crawl_id == self.crawl_id)
        async with self.service.database.read() as connection:
            return list((await connection.execute(query.order_by(crawled_pages.c.url))).all())


@asynccontextmanager
async def crawling(
    visiting: Visiting,
    origin: Origin,
    flags: Mapping[str, Any] = {},
    reading_seconds: float | None = None,
    **spec: Any,
) -> AsyncIterator[Crawled]:
    wanted = CrawlSpec(**{"seeds": (origin.url(),), "delay": 0.0, "sitemaps": False, **spec})
    async with visiting(egress_allow="127.0.0.1/32", egress_ports="*", **flags) as visit:
        service = visit.service
        if reading_seconds is not None:
            service.crawl_parsers = ParserPool(1, seconds=reading_seconds)
        crawl = await service.crawls.create(PUBLIC, wanted, urls=seeds_of(wanted))
        stop = asyncio.Event()
        working = asyncio.create_task(service.crawl_worker().run(stop))
        try:
            yield Crawled(visit, crawl.id)
        finally:
            stop.set()
            await working
        async with service.database.read() as connection:
            leased = select(hosts.c.host).where(hosts.c.lease_token.is_not(None))
            assert (await connection.execute(leased)).all() == []


def linking(*targets: str) -> Answer:
    return 200, f"<title>Links</title><p>{PROSE}</p>" + "".join(f'<a href="{each}">x</a>' for each in targets)


async def test_pages_are_stored_with_what_they_say_and_can_be_had_again(visiting: Visiting) -> None:
    pages: dict[str, Any] = {
        "/": linking("/a", "/b", "/private/c"),
        "/robots.txt": (200, "User-agent: *\nDisallow: /private/"),
        "/a": linking("/"),
    }
    async with Origin(pages).open() as origin, crawling(visiting, origin) as crawled:
        done = await crawled.until(lambda crawl: crawl.state == "done")
        assert (done.counts.pages, done.counts.completed, done.counts.blocked) == (3, 3, 1)
        assert origin.times == {"/robots.txt": 1, "/": 1, "/a": 1, "/b": 1}
        home, _, missing = await crawled.rows()
        assert (home.status_code, home.title, home.links_count, home.depth) == (200, "Links", 3, 0)
        assert (missing.status_code, missing.outcome, missing.depth) == (404, "error", 1)
        kept = await load_page(crawled.service.blobs, home.blob, home.blob_offset, home.blob_size)
        assert kept is not None
        assert (kept.url, kept.body.decode()) == (origin.url(), pages["/"][1])


HIDING = {  # end tags that end nothing, so that all are inside each other
    "/x": "<div></x>",
    "/attribute": '<div a="</x>">',
    "/comment": "<div><!--</div>-->",
    "/table": "<div><table></div></table>",
    "/svg": "<svg><div></svg>",
    "/script": "<div><script></div></script>",
}


async def test_no_page_stops_a_worker(visiting: Visiting) -> None:
    """Not even one that takes a parser minutes: it is given up, and told."""
    hiding = {path: (200, f"<p>{PROSE}</p>" + tag * 10_000) for path, tag in HIDING.items()}
    good = {f"/{number}": linking(f"/{number}?more") for number in range(20)}
    large = (200, f"<title>Large</title><a href='/9'>x</a><p>{PROSE}</p>" * 4_000)
    pages: dict[str, Any] = {"/": linking("/endless", "/large", *hiding, *good), **hiding, **good}
    pages |= {"/endless": (200, HIDING["/comment"] * 300_000), "/large": large}
    lag = Lag()
    ticking = asyncio.create_task(lag.tick())
    async with Origin(pages).open() as origin, crawling(visiting, origin) as crawled:
        done = await crawled.until(lambda crawl: crawl.state == "done")
        assert (done.counts.pages, done.counts.failed) == (49, 1)
        rows = {row.url.removeprefix(origin.url("")): row for row in await crawled.rows()}
    ticking.cancel()
    assert lag.most < MOST_LAG
    endless = rows["/endless"]
    assert (endless.error, endless.outcome, endless.status_code) == ("unreadable_content", "error", 200)
    assert endless.content_length == len(pages["/endless"][1])
    assert {rows[path].outcome for path in (*hiding, *good)} == {"ok"}
    assert (rows["/large"].title, rows["/large"].links_count) == ("Large", 1)


async def test_a_worker_that_stops_gives_back_what_it_cannot_finish(visiting: Visiting) -> None:
    pages: dict[str, Any] = {"/": (200, HIDING["/comment"] * 300_000)}
    async with (
        Origin(pages).open() as origin,
        visiting(egress_allow="127.0.0.1/32", egress_ports="*") as visit,
    ):
        service, stop = visit.service, asyncio.Event()
        service.crawl_parsers = ParserPool(1, seconds=600.0)
        wanted = CrawlSpec(seeds=(origin.url(),), delay=0.0, sitemaps=False)
        crawl = await service.crawls.create(PUBLIC, wanted, urls=seeds_of(wanted))
        working = asyncio.create_task(service.crawl_worker().run(stop))
        async with asyncio.timeout(SECONDS):
            while not workers():
                await asyncio.sleep(0.02)
            stop.set()
            await working
        assert workers() == []
        left = await service.crawls.get(crawl.id)
        assert left is not None
        assert (left.state, left.counts.pending, left.counts.failed) == ("running", 1, 0)


async def test_a_crawl_of_small_pages_starts_no_process(visiting: Visiting) -> None:
    pages: dict[str, Any] = {"/": linking("/a"), "/a": linking("/")}
    async with Origin(pages).open() as origin, crawling(visiting, origin, reading_seconds=0.0) as crawled:
        done = await crawled.until(lambda crawl: crawl.state == "done")
        assert (done.counts.pages, done.counts.failed) == (2, 0)


async def test_a_crawl_stores_no_more_pages_than_it_may(visiting: Visiting) -> None:
    pages: dict[str, Any] = {"/": linking(*(f"/{number}" for number in range(50)))}
    async with Origin(pages).open() as origin, crawling(visiting, origin, max_pages=7) as crawled:
        done = await crawled.until(lambda crawl: crawl.state == "done")
        assert (done.counts.pages, len(await crawled.rows())) == (7, 7)
        assert len(origin.asked) == 1 + 7


async def test_a_crawl_that_is_paused_takes_nothing_more_until_it_is_resumed(visiting: Visiting) -> None:
    gate = asyncio.Event()

    async def slow() -> Answer:
        await gate.wait()
        return linking()

    others = [f"/{number}" for number in range(MAX_TASKS + 100)]
    pages: dict[str, Any] = {"/": linking(*others), **dict.fromkeys(others, slow)}
    async with Origin(pages).open() as origin, crawling(visiting, origin, delay=0.001) as crawled:
        async with asyncio.timeout(SECONDS):
            while not set(others) & set(origin.asked):
                await asyncio.sleep(0.02)
        assert await crawled.service.crawls.pause(crawled.crawl_id)
        gate.set()
        paused = await crawled.until(lambda crawl: crawl.counts.in_progress == 0)
        assert (paused.state, paused.counts.pending >= 100) == ("paused", True)
        assert await crawled.service.crawls.resume(crawled.crawl_id)
        done = await crawled.until(lambda crawl: crawl.state == "done")
        assert done.counts.pages == len(others) + 1
        assert set(origin.times.values()) == {1}


async def test_what_fails_is_tried_again_and_a_host_that_keeps_failing_is_left_alone(
    visiting: Visiting,
) -> None:
    broken = {f"/{number}": (500, "<p>Oh no.") for number in range(6)}
    pages: dict[str, Any] = {"/": linking(*broken), **broken}
    async with Origin(pages).open() as origin, crawling(visiting, origin) as crawled:
        async with asyncio.timeout(SECONDS):
            while await crawled.reason(origin.site) != "failing":
                await asyncio.sleep(0.02)
        host = await crawled.service.hosts.get(origin.site)
        assert host is not None
        assert (host.locked_by, host.failures >= 5) == (None, True)
        assert (await crawled.crawl()).counts.in_progress == 0
        asked = len(origin.asked)
        assert (await crawled.crawl()).state == "running"
        assert await crawled.service.hosts.lease("somebody", 10) == []  # not before it has rested
        assert len(origin.asked) == asked


@dataclass
class Breakable:
    """A database that can be taken away."""

    flags: Mapping[str, Any]
    take: Callable[[], object]
    bring_back: Callable[[], object]


@pytest.fixture(params=["sqlite", "postgres"])
def breakable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Breakable]:
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        yield Breakable({"database_url": server.url, "echo_tables": False}, server.kill, server.start)
        return
    with closing(sqlite3.connect(tmp_path / "gossamer.db", isolation_level=None)) as other:
        yield Breakable({}, lambda: other.execute("BEGIN IMMEDIATE"), lambda: other.execute("ROLLBACK"))


async def test_a_host_goes_on_when_the_database_is_back_and_not_when_its_lease_has_run_out(
    visiting: Visiting, breakable: Breakable
) -> None:
    leases: list[int] = []

    async def robots() -> Answer:
        if not leases:
            leases.append(await crawled.scalar(select(hosts.c.locked_until)))
            breakable.take()
        return 200, ""

    pages: dict[str, Any] = {"/robots.txt": robots, "/": linking()}
    async with Origin(pages).open() as origin, crawling(visiting, origin, breakable.flags) as crawled:
        await crawled.until_logged("crawl_paused", host=origin.site)
        breakable.bring_back()
        await crawled.until(lambda crawl: crawl.state == "done")
        assert await crawled.scalar(select(clock())) < leases[0]
        assert origin.times["/"] == 1


async def test_a_host_that_does_not_say_its_rules_is_waited_for_and_can_be_tried_at_once(
    visiting: Visiting,
) -> None:
    silent = True

    async def robots() -> Answer:
        return (503, "") if silent else (200, "User-agent: *\nDisallow: /private/")

    pages: dict[str, Any] = {"/robots.txt": robots, "/": linking()}
    async with Origin(pages).open() as origin, crawling(visiting, origin) as crawled:
        async with asyncio.timeout(SECONDS):
            while (waiting := await crawled.shown("waiting")) is None or waiting["reason"] == "worker":
                await asyncio.sleep(0.05)
        assert (waiting["reason"], waiting["hosts"]) == ("robots_unreachable", 1)
        (listed,) = (await crawled.get(f"/api/domains?crawl={crawled.crawl_id}"))["domains"]
        assert (listed["isAllowed"], listed["waitsFor"]) == (False, "robots_unreachable")
        assert listed["restingUntil"] == waiting["until"]
        assert set(origin.asked) == {"/robots.txt"}
        silent = False
        reset = await crawled.client.post(f"/api/admin/domains/{origin.site}/reset", headers=AS_ADMIN)
        assert reset.status_code == 200
        assert (reset.json()["restingUntil"], reset.json()["isAllowed"]) == (None, True)
        await crawled.until(lambda crawl: crawl.state == "done")
        assert await crawled.shown("waiting") is None
        assert origin.times["/"] == 1


async def test_a_page_that_a_script_makes_is_visited_with_a_browser(visiting: Visiting) -> None:
    pages: dict[str, Any] = {"/": (200, APP), "/next": linking()}
    async with Origin(pages).open() as origin, crawling(visiting, origin, render="auto") as crawled:
        done = await crawled.until(lambda crawl: crawl.state == "done")
        assert done.counts.pages == 2
        shell, plain = await crawled.rows()
        assert (shell.via, shell.outcome, shell.links_count) == ("render", "ok", 1)
        assert (plain.via, plain.outcome) == ("fetch", "ok")
        assert origin.times["/next"] == 1


async def test_a_host_that_cannot_be_visited_fails_its_urls(visiting: Visiting) -> None:
    async with Origin({}).open() as origin:
        seeds = ("http://127.0.0.2/", "http://127.0.0.2/more")
        async with crawling(visiting, origin, seeds=seeds) as crawled:
            done = await crawled.until(lambda crawl: crawl.state == "done")
            assert (done.counts.failed, done.counts.pages) == (2, 2)
            assert {row.error for row in await crawled.rows()} == {"hostname_blocked"}
