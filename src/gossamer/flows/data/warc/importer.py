"""CrawlImporter: makes a crawl out of a WARC or WACZ file, without the network.

1. A request sends the file (`Uploads`), and adds the crawl and the job in one transaction.
2. The job lets a process read the file (`archive_process`). `PageGatherer` passes each page through what
   crawls do, and writes a batch in a transaction that proves the lease. After a kill, the next attempt reads
   the file again and leaves out what is stored.
3. The transaction that ends the job ends the crawl. A file that cannot be read to its end takes the crawl
   with it, unless the caller wants what is there.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.flows.crawl.visiting.page_parser import PageParser
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.data.warc.archive_process import read_archive
from gossamer.flows.data.warc.import_process import ImportEnd, ImportProgress
from gossamer.flows.data.warc.page_gatherer import MAX_PAGES, ImportStopped, PageGatherer
from gossamer.flows.data.warc.uploads import Upload, Uploads
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas, quota_tier_of
from gossamer.problems import Problem
from gossamer.state.blobs import orphan_blobs
from gossamer.state.crawl import crawls
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.crawl.upkeep import importing
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs import job_table
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.web.documents.warc.bad_archive import BadArchive
from gossamer.web.documents.warc.imported_page import HEAD_BYTES, is_archive

COPIED: Final = 5  # percent of the work that is done when the file is here
BY_IMPORT: Final = Actor("import")
_REASONS: Final = {
    BadArchive.NOT_AN_ARCHIVE: "It is neither a WARC nor a WACZ file.",
    BadArchive.DAMAGED: "It is damaged.",
    BadArchive.UNSAFE_NAMES: "It has files with absolute names.",
    BadArchive.TOO_MANY_RECORDS: "It has too many records.",
    BadArchive.TOO_MANY_PAGES: "It has more pages than a crawl of yours may have.",
    BadArchive.TOO_MANY_FILES: "It has too many files.",
    BadArchive.UNPACKS_TOO_LARGE: "It is too large when it is unpacked.",
    BadArchive.TOO_MUCH_WORK: "It takes too much time or memory to read.",
    BadArchive.NO_PAGES: "It has no pages.",
}


class ImportPayload(msgspec.Struct, frozen=True, kw_only=True):
    """What a job carries."""

    subject: str  # the id of the crawl
    upload: Upload
    max_pages: int
    partial: bool


class ImportWork(Protocol):
    """What an import needs from its job."""

    canceled: bool

    @property
    def job(self) -> Job: ...

    @property
    def payload(self) -> ImportPayload: ...

    async def step(self, name: str, pct: int | None = None, data: Any = None) -> None: ...

    def holding(self) -> AbstractAsyncContextManager[AsyncConnection]: ...

    def finishing(self, result: Any = None) -> AbstractAsyncContextManager[AsyncConnection]: ...


class CrawlImporter(Struct, frozen=True):
    jobs: Jobs
    crawls: Crawls
    uploads: Uploads
    parser: PageParser
    quotas: Quotas
    deleter: Deleter
    agent: str

    async def start(
        self,
        arriving: AsyncIterator[bytes],
        caller: Caller,
        by: Actor,
        *,
        name: str = "",
        partial: bool = False,
    ) -> Crawl:
        """Receive a file, and queue the job that makes a crawl of it. Raises `Problem`."""
        await self.quotas.check(caller, Quota.JOBS, Quota.PAGES, Quota.BYTES)
        async with aclosing(_checked(arriving)) as checked:
            upload = await self.uploads.receive(checked)
        try:
            async with self.jobs.database.write() as connection:
                crawl = await self._add(connection, upload, caller, by, name, partial)
        except BaseException:
            await asyncio.shield(self.uploads.hurry(upload))
            raise
        self.jobs.wake(importing.KIND)
        return crawl

    async def run(self, work: ImportWork) -> None:
        """As a job."""
        wanted = work.payload
        try:
            await self._import(work)
        except ImportStopped:
            async with work.finishing(None) as connection:
                await importing.end(connection, wanted.subject)
        except Problem as problem:
            if not problem.kind.retry:  # before the job fails: then nobody works for the crawl any more
                await self._give_up(wanted.subject)
                await self.uploads.drop(wanted.upload)
            raise
        finally:
            if work.canceled:
                await asyncio.shield(self._stop(wanted.subject))
        await self.uploads.drop(wanted.upload)

    async def clean_up(self) -> None:
        """What jobs have left behind that ended without a word."""
        async with self.jobs.database.read() as connection:
            stalled = await importing.list_stalled(connection)
        for crawl_id in stalled:
            job = await self.jobs.get(crawl_id)
            await self._give_up(crawl_id)
            if job is not None:
                await self.uploads.hurry(msgspec.json.decode(job.payload_json, type=ImportPayload).upload)

    async def _import(self, work: ImportWork) -> None:
        wanted = work.payload
        with tempfile.TemporaryDirectory(prefix="gossamer-import-") as folder:
            path = Path(folder) / "file"
            await work.step("getting the file", 1)
            await self.uploads.copy_to(wanted.upload, path)
            crawl = await self.crawls.get(wanted.subject)
            if crawl is None:
                raise Problem(problems.NOT_FOUND, "The crawl was deleted while it was imported.")
            gatherer = PageGatherer(
                crawl, work.holding, self.uploads, self.parser, self.agent, wanted.max_pages
            )
            await self._read(path, gatherer, _PercentTeller(work.step, gatherer, wanted.upload.size))
        result = gatherer.result
        if (result.reason is not None and not (wanted.partial and result.pages)) or not result.pages:
            raise refusal(result.reason or BadArchive.NO_PAGES)
        async with work.finishing(result) as connection:
            await importing.end(connection, wanted.subject)
            await orphan_blobs.hurry(connection, wanted.upload.names)

    async def _read(self, path: Path, gatherer: PageGatherer, progress: "_PercentTeller") -> None:
        await gatherer.begin()
        async with aclosing(read_archive(path)) as messages:
            async for message in messages:
                if isinstance(message, ImportEnd):
                    gatherer.end(message)
                elif isinstance(message, ImportProgress):
                    await progress.tell(message.position)
                elif not await gatherer.add(message):
                    break
        await gatherer.flush()

    async def _add(
        self, connection: AsyncConnection, upload: Upload, caller: Caller, by: Actor, name: str, partial: bool
    ) -> Crawl:
        await self.quotas.reserve_crawl(connection, caller)
        crawl = await importing.add(
            connection,
            caller.tenant_id,
            tier=caller.tier,
            quota_tier=quota_tier_of(caller),
            name=name,
            request_id=by.request_id,
        )
        most = min(MAX_PAGES, self.quotas.most_crawl_pages(caller) or MAX_PAGES)
        payload = ImportPayload(subject=crawl.id, upload=upload, max_pages=most, partial=partial)
        job = NewJob(
            kind=importing.KIND,
            tenant_id=crawl.tenant_id,
            payload=payload,
            job_id=crawl.id,
            request_id=by.request_id,
        )
        await job_table.put(connection, job)
        entry = ActivityEntry(crawl.tenant_id, Action.CRAWL_IMPORTED, crawl.id, by, name)
        await activity.record(connection, entry)
        return crawl

    async def _stop(self, crawl_id: str) -> None:
        async with self.jobs.database.write() as connection:
            await crawls.cancel(connection, crawl_id)
            await importing.end(connection, crawl_id)

    async def _give_up(self, crawl_id: str) -> None:
        await self.deleter.accept(Deletion(DeletionKind.CRAWL, crawl_id), None, BY_IMPORT)


class _PercentTeller:
    """Tells the job how far it is, once for each percent."""

    def __init__(self, step: Callable[..., Awaitable[None]], gatherer: PageGatherer, size: int) -> None:
        self._step, self._gatherer, self._size = step, gatherer, max(1, size)
        self._told = -1

    async def tell(self, position: int) -> None:
        percent = COPIED + min(94, 94 * position // self._size)
        if percent > self._told:
            self._told = percent
            await self._step(f"importing: {self._gatherer.result.pages:,} pages", percent)


async def _checked(arriving: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Refuses what is no archive by its first bytes, before the rest is sent."""
    head = b""
    async for piece in arriving:
        if len(head) < HEAD_BYTES:
            head += piece[:HEAD_BYTES]
            if len(head) >= HEAD_BYTES and not is_archive(head):
                raise refusal(BadArchive.NOT_AN_ARCHIVE)
        yield piece
    if not is_archive(head):
        raise refusal(BadArchive.NOT_AN_ARCHIVE)


def refusal(reason: BadArchive) -> Problem:
    return Problem(
        problems.UNPROCESSABLE_ENTITY,
        f"The file cannot be imported. {_REASONS[reason]}",
        hint="Check it with `warcio check` or `wacz validate`.",
        details={"reason": reason.value},
    )
