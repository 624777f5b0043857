"""CrawlImporter: makes a crawl out of a WARC or WACZ file, without the network.

The file is read by a process that can be killed (`import_process`). Its pages are parsed and judged as a
crawl does, so they can be read, searched and audited like crawled ones. The crawl is made with its first
pages: a file without any leaves nothing behind. What a damaged file had before the damage stays.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace as replace_fields
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer import problems
from gossamer.flows.crawl.content import PackedPages, keep_headers
from gossamer.flows.crawl.export.import_process import LENGTH_BYTES, ImportEnd, ImportMessage
from gossamer.flows.crawl.plan import MAX_ALIKE, CrawlPlan
from gossamer.flows.crawl.seeds import new_url
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.page_parser import PageParser, is_quick_here
from gossamer.flows.crawl.visiting.page_processor import PageProcessor
from gossamer.flows.crawl.visiting.visit import Visited
from gossamer.flows.crawl.writer import pack_visits
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas, quota_tier_of
from gossamer.problems import Problem, Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl import importing
from gossamer.state.crawl.crawl_counts import CrawlsGone
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.crawl.removal.crawl_blobs import NO_LINKS
from gossamer.state.crawl.settling import CrawlTask
from gossamer.state.crawl.upkeep import whole_pages
from gossamer.state.db.database import Database
from gossamer.state.search import index_queue
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.web.crawl.fingerprint import Neighbours
from gossamer.web.crawl.progress import NO_COUNTS
from gossamer.web.crawl.scope import Scope
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.pages.page import Page
from gossamer.web.robots.robots import Robots
from gossamer.web.url.url import Url
from gossamer.web.warc.bad_archive import BadArchive
from gossamer.web.warc.http_heads import ARCHIVED_AT
from gossamer.web.warc.warc_reader import MAX_BODY_BYTES, ImportedPage

SECONDS: Final = 900  # for one file, of the processor and in all
MAX_PAGES: Final = 200_000
PAGES_AT_ONCE: Final = 200  # in one transaction
BYTES_AT_ONCE: Final = 8_000_000
MAX_MESSAGE_BYTES: Final = 4 * MAX_BODY_BYTES
_ANYTHING: Final = Robots.parse("")
_messages_in: Final = msgspec.msgpack.Decoder(ImportMessage)
_REASONS: Final = {
    BadArchive.NOT_AN_ARCHIVE: "It is neither a WARC nor a WACZ file.",
    BadArchive.DAMAGED: "It is damaged.",
    BadArchive.UNSAFE_NAMES: "It has files with absolute names.",
    BadArchive.TOO_MANY_RECORDS: "It has too many records.",
    BadArchive.TOO_MANY_FILES: "It has too many files.",
    BadArchive.UNPACKS_TOO_LARGE: "It is too large when it is unpacked.",
    BadArchive.TOO_MUCH_WORK: "It takes too much time or memory to read.",
    BadArchive.NO_PAGES: "It has no pages.",
}


@dataclass(slots=True)
class ImportedCrawl:
    """What came of a file."""

    crawl: Crawl | None = None
    pages: int = 0
    known: int = 0  # pages with a URL that was there before
    refused: int = 0  # pages whose URL is none, or that cannot be parsed
    skipped: dict[str, int] = field(default_factory=dict)
    reason: BadArchive | None = None  # why the file was not read to its end
    _seen: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class CrawlImporter:
    database: Database
    crawls: Crawls
    blobs: Blobs
    parser: PageParser
    quotas: Quotas
    agent: str

    async def read(self, path: Path, caller: Caller, by: Actor, name: str = "") -> ImportedCrawl:
        """Raises `Problem` if it has no pages."""
        await self.quotas.check(caller, Quota.PAGES, Quota.BYTES)
        result = ImportedCrawl()
        gathering = _Gathering(self, caller, by, name, result)
        async with aclosing(_messages(path)) as messages:
            async for message in messages:
                if isinstance(message, ImportEnd):
                    result.skipped, result.reason = message.skipped, message.reason
                elif not await gathering.add(message):
                    break
        await gathering.flush()
        if result.crawl is None:
            raise _refusal(result)
        result.crawl = await self.crawls.get(result.crawl.id) or result.crawl
        return result


class _AllKnown(KnownUrls):
    """No link of an imported page is followed."""

    def unknown(self, keys: set[int]) -> set[int]:
        return set()


class _Gathering:
    """Pages of one file, which are written in batches."""

    def __init__(
        self, importer: CrawlImporter, caller: Caller, by: Actor, name: str, result: ImportedCrawl
    ) -> None:
        self._importer = importer
        self._caller, self._by, self._name = caller, by, name
        self._result = result
        self._processor = PageProcessor(_AllKnown(), importer.agent)
        self._plan: CrawlPlan | None = None
        self._visits: list[Visited] = []
        self._bytes = 0

    async def add(self, found: ImportedPage) -> bool:
        """False: there is room for no more."""
        result = self._result
        try:
            url = Url.parse(found.page.url)
        except Problem:
            result.refused += 1
            return True
        plan = self._plan or await self._begin(url)
        new = new_url(url, plan.spec, depth=1 if result._seen else 0)
        if new.url_hash in result._seen:
            result.known += 1
            return True
        if len(result._seen) >= MAX_PAGES:
            result.reason = BadArchive.TOO_MANY_RECORDS
            return False
        self._importer.quotas.check_crawl_pages(self._caller, len(result._seen) + 1)
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
            result.refused += 1
            return True
        result._seen.add(new.url_hash)
        self._visits.append(visited)
        self._bytes += len(found.page.body)
        if len(self._visits) >= PAGES_AT_ONCE or self._bytes > BYTES_AT_ONCE:
            await self.flush()
        return True

    async def _visit(self, task: CrawlTask, plan: CrawlPlan, page: Page) -> Visited | None:
        try:
            parsed = None
            if not is_quick_here(task, page):
                parsed = await self._importer.parser.parse(task, page, plan.spec.max_urls_per_page)
            return self._processor.process(task, plan, page, _ANYTHING, 0.0, parsed)
        except Unavailable:
            raise
        except Problem:
            return None

    async def _begin(self, first: Url) -> CrawlPlan:
        spec = CrawlSpec(seeds=(first.href,), sitemaps=False)
        crawl = Crawl(
            id="",
            tenant_id=self._caller.tenant_id,
            name=self._name,
            state="done",
            is_default=False,
            spec=spec,
            counts=NO_COUNTS,
            created_at=0,
        )
        self._plan = CrawlPlan(crawl, Scope.of(spec), Neighbours(MAX_ALIKE), 0, 0.0)
        return self._plan

    async def flush(self) -> None:
        visits, self._visits, self._bytes = self._visits, [], 0
        if not visits or self._plan is None:
            return
        importer, plan = self._importer, self._plan
        made = await asyncio.to_thread(pack_visits, visits, ())
        async with importer.database.write() as connection:
            await orphan_blobs.register(connection, made.name)
        if made.body:
            await importer.blobs.put(made.name, made.body)
        try:
            async with importer.database.write() as connection:
                crawl = self._result.crawl or await self._add_crawl(connection, plan.spec)
                moment = await importing.next_moment(connection, crawl.id)
                rows = _rows(visits, made, crawl.id, moment)
                links = dict.fromkeys([crawl.id], made.links[""]) if made.links else NO_LINKS
                restored = await whole_pages.put_back(connection, crawl.id, rows, links=links)
                if made.body and not await orphan_blobs.claim(connection, made.name):
                    raise Unavailable("blobs", "an upload took too long")
                await index_queue.add_again(connection, restored.rows)
        except CrawlsGone:
            raise Problem(problems.NOT_FOUND, "The crawl was deleted while it was imported.") from None
        self._result.crawl = crawl
        self._result.pages += len(restored.rows)

    async def _add_crawl(self, connection: AsyncConnection, spec: CrawlSpec) -> Crawl:
        caller = self._caller
        await self._importer.quotas.reserve_crawl(connection, caller)
        crawl = await importing.add(
            connection,
            caller.tenant_id,
            spec,
            tier=caller.tier,
            quota_tier=quota_tier_of(caller),
            name=self._name,
            request_id=self._by.request_id,
        )
        entry = ActivityEntry(crawl.tenant_id, Action.CRAWL_IMPORTED, crawl.id, self._by, self._name)
        await activity.record(connection, entry)
        return crawl


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


async def _messages(path: Path) -> AsyncGenerator[ImportedPage | ImportEnd]:
    """What the process says. One that dies says nothing more, which ends the file as too much work."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gossamer.flows.crawl.export.import_process",
        str(path),
        str(SECONDS),
        str(MAX_BODY_BYTES),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )
    assert child.stdout is not None  # noqa: S101 - opened as a pipe
    try:
        while True:
            message = await _next_message(child.stdout)
            yield message
            if isinstance(message, ImportEnd):
                return
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await asyncio.shield(child.communicate())


async def _next_message(source: asyncio.StreamReader) -> ImportedPage | ImportEnd:
    try:
        async with asyncio.timeout(SECONDS):
            length = int.from_bytes(await source.readexactly(LENGTH_BYTES))
            if length > MAX_MESSAGE_BYTES:
                return ImportEnd(0, {}, BadArchive.TOO_MUCH_WORK)
            body = await source.readexactly(length)
        message: ImportedPage | ImportEnd = _messages_in.decode(body)
        return message
    except (TimeoutError, EOFError, msgspec.MsgspecError):
        return ImportEnd(0, {}, BadArchive.TOO_MUCH_WORK)


def _refusal(result: ImportedCrawl) -> Problem:
    reason = result.reason or BadArchive.NO_PAGES
    return Problem(
        problems.UNPROCESSABLE_ENTITY,
        f"The file cannot be imported. {_REASONS[reason]}",
        hint="Check it with `warcio check` or `wacz validate`.",
        details={"reason": reason.value},
    )
