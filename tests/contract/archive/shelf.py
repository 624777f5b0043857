"""What tests of archives stand on: crawls whose pages have content, in blobs and in the index."""

import asyncio
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from sqlalchemy import select
from tests.contract.crawl.crawl_ground import NOW, Ground, url

from gossamer.flows.crawl.content import pack
from gossamer.flows.crawl.indexing import Indexing
from gossamer.flows.crawl.reading.results import CrawlResults
from gossamer.flows.crawl.reading.site_memories import SiteMemories
from gossamer.flows.data.archive.archiver import DAY_MS, Archiver
from gossamer.flows.data.archive.restorer import ArchiveRestorer
from gossamer.flows.data.removal.crawl_removal import CrawlRemoval
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.data.removal.page_removal import PageRemoval
from gossamer.flows.data.removal.retention import KeepTimes, Retention
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.observe.logs import Log
from gossamer.settings.values import Lifetime
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl import crawl_tables
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.crawl.upkeep import archives
from gossamer.state.crawl.upkeep.archives import Archive
from gossamer.state.db.database import Database
from gossamer.state.jobs.deletions import DeletionKind
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.search.search_index import SearchIndex
from gossamer.web.crawl.crawl_view import view_page
from gossamer.web.pages.page import Page
from gossamer.web.search.question import Question

HOST = "a.example:80"
LATER = NOW + 100 * DAY_MS
FOREVER = Lifetime(0)
HEADERS = (
    ("content-type", "text/html; charset=utf-8"),
    ("content-encoding", "br"),
    ("set-cookie", "session=secret; Secure; HttpOnly"),
    ("x-name", "J\xfcrgen"),
)


async def step(name: str, pct: int | None = None, data: Any = None) -> None:
    """Nobody looks at the progress."""


def answer(address: str) -> Page:
    name = address.rpartition("/")[2]
    body = f"<!doctype html><html lang=en><title>Title of {name}</title><p>rope {name} <a href=/x>x</a></p>"
    return Page(
        url=address,
        final_url=address,
        status=200,
        headers=HEADERS,
        body=body.encode(),
        media_type="text/html",
        charset="utf-8",
        wire_bytes=40,
        elapsed_ms=7,
    )


def row_of(page: Page) -> CrawledPage:
    """As the crawl stores it."""
    seen = view_page(page)
    return CrawledPage(
        final_url=page.final_url,
        status_code=page.status,
        content_type=page.media_type,
        content_length=len(page.body),
        content_hash=seen.content_hash,
        fingerprint=seen.fingerprint,
        title=seen.title,
        description=seen.description,
        language=seen.language,
        canonical=seen.canonical,
        links_count=len(seen.links),
        duration_ms=page.elapsed_ms,
        outcome="ok",
    )


@dataclass
class Shelf:
    ground: Ground
    blobs: Blobs
    folder: Path
    parsers: ParserPool
    jobs: Jobs

    @property
    def database(self) -> Database:
        return self.ground.database

    @property
    def restorer(self) -> ArchiveRestorer:
        return ArchiveRestorer(self.jobs, self.blobs)

    @property
    def deleter(self) -> Deleter:
        return Deleter(self.jobs, {DeletionKind.CRAWL: CrawlRemoval(self.database, self.blobs)})

    @property
    def results(self) -> CrawlResults:
        memories = SiteMemories(self.database, self.blobs, self.parsers)
        return CrawlResults(self.database, self.ground.crawls, self.blobs, self.parsers, memories)

    @property
    def indexing(self) -> Indexing:
        log = Log(io.StringIO())
        return Indexing(self.database, self.index(), self.ground.crawls, self.blobs, self.parsers, log)

    def index(self) -> SearchIndex:
        return SearchIndex(self.database, Log(io.StringIO()), max_pages=1_000)

    def retention(self, blobs: Blobs | None = None) -> Retention:
        """Pages are kept for 90 days, and everything else forever."""
        others = ("completed_urls", "failed_urls", "bodies", "minutes", "audits", "jobs", "robots")
        keep = KeepTimes(**dict.fromkeys(others, FOREVER), pages=Lifetime(90 * 86_400))
        where = blobs or self.blobs
        pages = PageRemoval(self.database, where)
        return Retention(keep, self.deleter, pages, Archiver(self.database, where), lambda: LATER / 1000)

    async def crawl(self, *paths: str, now: int = NOW) -> Crawl:
        crawl = await self.ground.crawl([url(HOST, path) for path in paths], now=now)
        await self.store(now=now)
        return crawl

    async def store(self, *, now: int) -> None:
        (lease,) = await self.ground.lease(now=now)
        tasks = await self.ground.frontier.take(lease, 100, now=now)
        answers = [answer(task.url) for task in tasks]
        made = pack(answers, now / 1000)
        async with self.database.write() as connection:
            await orphan_blobs.register(connection, made.name, now=now)
        await self.blobs.put(made.name, made.body)
        ends = [
            TaskEnd(task=task, page=replace(row_of(page), **_place(place)))
            for task, page, place in zip(tasks, answers, made.places, strict=True)
        ]
        assert await self.ground.frontier.settle(lease, HostSettlement(ends=ends), blobs=[made.name], now=now)
        await self.ground.hosts.release(lease, now=now)

    async def catch_up(self) -> None:
        await self.indexing.catch_up(asyncio.Event())

    async def found(self) -> set[str]:
        matches = (await self.index().search(self.ground.tenant, Question.parse("rope", limit=50))).found
        return {match.url.rpartition("/")[2] for match in matches}

    async def pages(self, crawl: Crawl) -> Sequence[Any]:
        """All columns, but not where the content is."""
        columns = [column for column in crawl_tables.crawled_pages.c if "blob" not in column.name]
        query = select(*columns).where(crawl_tables.crawled_pages.c.crawl_id == crawl.id)
        async with self.database.read() as connection:
            return (await connection.execute(query.order_by("url"))).all()

    async def contents(self, crawl: Crawl) -> dict[str, bytes]:
        rows = await self.pages(crawl)
        found = {}
        for row in rows:
            page = await self.results.get(crawl.id, row.url_hash)
            assert page is not None
            found[row.url] = (await self.results.content(page, "raw")).body
        return found

    async def archives(self) -> list[Archive]:
        async with self.database.read() as connection:
            return await archives.listing(connection, limit=100)

    def stored(self) -> set[str]:
        return {path.name for path in self.folder.rglob("*~*") if path.is_file()}


def _place(place: Any) -> dict[str, Any]:
    return {"blob": place.blob, "blob_offset": place.offset, "blob_size": place.size}
