"""PageGatherer: makes rows of the pages of an archive, as a crawl does, and writes them in batches."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from email.utils import formatdate
from functools import partial
from typing import Final

from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from gossamer import problems
from gossamer.flows.crawl.content import PackedPages, keep_headers
from gossamer.flows.crawl.plan import MAX_ALIKE, CrawlPlan
from gossamer.flows.crawl.seeds import new_url
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.page_parser import PageParser, is_quick_here
from gossamer.flows.crawl.visiting.page_processor import PageProcessor
from gossamer.flows.crawl.visiting.visit import Visited
from gossamer.flows.crawl.writer import pack_visits
from gossamer.flows.data.warc.import_process import ImportEnd
from gossamer.flows.data.warc.uploads import Uploads
from gossamer.problems import Problem, Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.crawl import crawls
from gossamer.state.crawl.crawl_counts import CrawlsGone
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.settling import CrawlTask
from gossamer.state.crawl.upkeep import importing, whole_pages
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.search import index_queue
from gossamer.web.crawl.crawl_answer import ImportResult
from gossamer.web.crawl.fingerprint import Neighbours
from gossamer.web.crawl.scope import Scope
from gossamer.web.documents.warc.bad_archive import BadArchive
from gossamer.web.documents.warc.http_heads import ARCHIVED_AT
from gossamer.web.documents.warc.imported_page import ImportedPage
from gossamer.web.pages.page import Page
from gossamer.web.robots.robots import Robots
from gossamer.web.url.url import Url

MAX_PAGES: Final = 200_000
PAGES_AT_ONCE: Final = 200  # in one transaction
BYTES_AT_ONCE: Final = 8_000_000
_ANYTHING: Final = Robots.parse("")


class ImportStopped(Exception):
    """Somebody has stopped the crawl."""


class _AllKnown(KnownUrls):
    """No link of an imported page is followed."""

    def unknown(self, keys: set[int]) -> set[int]:
        return set()


class PageGatherer:
    def __init__(
        self,
        crawl: Crawl,
        holding: Callable[[], AbstractAsyncContextManager[AsyncConnection]],
        uploads: Uploads,
        parser: PageParser,
        agent: str,
        max_pages: int,
    ) -> None:
        self.result = ImportResult(crawl_id=crawl.id, pages=0, known=0, refused=0, skipped={})
        self._crawl = crawl
        self._holding, self._parser, self._max_pages = holding, parser, max_pages
        self._database, self._blobs = uploads.database, uploads.blobs
        self._processor = PageProcessor(_AllKnown(), agent)
        self._plan: CrawlPlan | None = None
        self._stored: set[str] = set()  # by an attempt before
        self._seen: set[str] = set()
        self._visits: list[Visited] = []
        self._bytes = 0

    async def begin(self) -> None:
        async with self._database.read() as connection:
            self._stored = await importing.known_hashes(connection, self._crawl.id)
        self._count(pages=len(self._stored))

    def end(self, message: ImportEnd) -> None:
        self.result = replace_fields(self.result, skipped=message.skipped, reason=message.reason)

    async def add(self, found: ImportedPage) -> bool:
        """False: there is room for no more."""
        try:
            url = Url.parse(found.page.url)
        except Problem:
            self._count(refused=1)
            return True
        plan = self._plan = self._plan or self._make_plan(url)
        new = new_url(url, plan.spec, depth=1 if self._seen else 0)
        if new.url_hash in self._seen:
            self._count(known=1)
            return True
        if len(self._seen) >= self._max_pages:
            self.result = replace_fields(self.result, reason=BadArchive.TOO_MANY_PAGES)
            return False
        if new.url_hash in self._stored:
            self._seen.add(new.url_hash)
            return True
        task = CrawlTask(
            crawl_id=plan.crawl.id,
            url_hash=new.url_hash,
            url=new.url,
            host=new.host,
            depth=new.depth,
            priority=new.priority,
            attempt=sys.maxsize,  # no status is tried again
        )
        visited = await self._visit(task, plan, _as_kept(found))
        if visited is None or visited.row is None:
            self._count(refused=1)
            return True
        self._seen.add(new.url_hash)
        self._visits.append(visited)
        self._bytes += len(found.page.body)
        if len(self._visits) >= PAGES_AT_ONCE or self._bytes > BYTES_AT_ONCE:
            await self.flush()
        return True

    async def flush(self) -> None:
        """Raises `ImportStopped`, or `Problem` if the crawl is gone."""
        visits, self._visits, self._bytes = self._visits, [], 0
        if not visits or self._plan is None:
            return
        made = await asyncio.to_thread(pack_visits, visits, ())
        async with self._database.write() as connection:
            await orphan_blobs.register(connection, made.name)
        if made.body:
            await self._blobs.put(made.name, made.body)
        try:
            async with self._holding() as connection:
                written = await self._write(connection, visits, made)
        except CrawlsGone:
            raise _gone() from None
        self._count(pages=written)

    async def _write(self, connection: AsyncConnection, visits: Sequence[Visited], made: PackedPages) -> int:
        crawl = await crawls.get(connection, self._crawl.id)
        if crawl is None:
            raise _gone()
        if crawl.held_by is not None:
            raise Problem(problems.QUOTA_EXCEEDED, "Your quota was used up while the file was imported.")
        if crawl.is_over:
            raise ImportStopped
        moment = await importing.next_moment(connection, crawl.id)
        rows = _rows(visits, made, crawl.id, moment)
        restored = await whole_pages.put_back(connection, crawl.id, rows, links=made.links)
        if not crawl.spec.seeds:
            await crawls.set_seeds(connection, crawl.id, [visits[0].task.url])
        if made.body and not await orphan_blobs.claim(connection, made.name):
            raise Unavailable("blobs", "an upload took too long")
        await index_queue.add_again(connection, restored.rows)
        return len(restored.rows)

    async def _visit(self, task: CrawlTask, plan: CrawlPlan, page: Page) -> Visited | None:
        try:
            parsed = None
            if not is_quick_here(task, page):
                parsed = await self._parser.parse(task, page, plan.spec.max_urls_per_page)
            process = partial(self._processor.process, task, plan, page, _ANYTHING, 0.0, parsed)
            return await asyncio.to_thread(process)
        except Unavailable:
            raise
        except Problem:
            return None

    def _make_plan(self, first: Url) -> CrawlPlan:
        """The first page is the seed."""
        known = self._crawl
        spec = known.spec if known.spec.seeds else replace_fields(known.spec, seeds=(first.href,))
        return CrawlPlan(replace(known, spec=spec), Scope.of(spec), Neighbours(MAX_ALIKE), 0, 0.0)

    def _count(self, *, pages: int = 0, known: int = 0, refused: int = 0) -> None:
        now = self.result
        self.result = replace_fields(
            now, pages=now.pages + pages, known=now.known + known, refused=now.refused + refused
        )


def _gone() -> Problem:
    return Problem(problems.NOT_FOUND, "The crawl was deleted while it was imported.")


def _as_kept(found: ImportedPage) -> Page:
    """The page without secrets, and with the time at which it was archived."""
    headers = keep_headers(found.page.headers)
    if found.at is not None:
        headers = (*headers, (ARCHIVED_AT, formatdate(found.at / 1000, usegmt=True)))
    return replace(found.page, headers=headers)


def _rows(visits: Sequence[Visited], made: PackedPages, crawl_id: str, moment: int) -> list[StoredPage]:
    places = iter(made.places)
    rows = []
    for visited in visits:
        row, task = visited.row, visited.task
        assert row is not None  # noqa: S101 - others were refused
        if visited.page is not None:
            place = next(places)
            row = replace_fields(row, blob=place.blob, blob_offset=place.offset, blob_size=place.size)
        values = dict(zip(type(row).__struct_fields__, row.as_row(), strict=True))
        rows.append(
            StoredPage(
                **values,
                crawl_id=crawl_id,
                url_hash=task.url_hash,
                url=task.url,
                host=task.host,
                depth=task.depth,
                crawled_at=moment,
            )
        )
    return rows
