"""The writer: gathers the results of all hosts and writes them in batches.

Bodies come first, as one blob; then rows, links and states in one transaction, which writes a host's part
only if its lease is held. The results of a lease are written in the order in which they came, and none after
one that could not be: so a page need not name URLs again that an earlier page of its host has found. While
the database is away, the batch is kept and tried again. What is gathered meanwhile is bounded: callers wait
for room.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.flows.crawl.content import (
    PICTURE_TYPE,
    PackedPages,
    PagePicture,
    StoredAt,
    keep_headers,
    pack,
)
from gossamer.flows.crawl.lease import HeldHost
from gossamer.flows.crawl.visiting.fetch import headers_for
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.visit import Visited, VisitEnd
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.reach.http.fetch import PORTABLE_HEADERS
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.settling import HostNews, HostSettlement, TaskEnd
from gossamer.state.crawl.trap_rows import TrapNews
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.web.crawl.graph.link_section import SectionWriter
from gossamer.web.pages.fetch_spec import HeaderPairs
from gossamer.web.url.url import Url

MAX_PAGES: Final = 500  # in a batch
MAX_BYTES: Final = 8_000_000
LINGER: Final = 1.0  # seconds for which a batch is gathered,
URGENT: Final = 0.05  # or if a caller waits for it
PAUSES: Final = (0.1, 0.2, 0.4)
CLOSE_SECONDS: Final = 5.0

T = TypeVar("T")


class HostBatch(Struct):
    """The results of one host."""

    held: HeldHost
    written: asyncio.Future[bool]
    visited: list[Visited] = field(default_factory=list)


class Writer:
    def __init__(
        self,
        database: Database,
        frontier: Frontier,
        blobs: Blobs,
        known: KnownUrls,
        log: Log,
        request: HeaderPairs = (),
    ) -> None:
        """`request` is what every request says."""
        self._database = database
        self._frontier = frontier
        self._blobs = blobs
        self._known = known
        self._log = log
        self._request = request
        self._gathered: dict[str, HostBatch] = {}
        self._under_way: dict[str, HostBatch] = {}
        self._pages = self._bytes = 0
        self._some = asyncio.Event()
        self._soon = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._writing = asyncio.Lock()

    def put(self, held: HeldHost, visited: Visited) -> None:
        batch = self._gathered.get(held.host)
        if batch is None or batch.held is not held:
            if batch is not None:  # under a lease that was lost meanwhile
                batch.written.set_result(False)
            loop = asyncio.get_running_loop()
            batch = self._gathered[held.host] = HostBatch(held, loop.create_future())
        batch.visited.append(visited)
        held.waiting.update(dict.fromkeys(visited.keys, visited.task.depth + 1))
        self._pages += 1
        self._bytes += sum(len(part.body) for part in (visited.page, visited.picture) if part is not None)
        self._some.set()
        if self._is_full():
            self._soon.set()
            self._room.clear()

    async def wait_for_room(self) -> None:
        """Wait while too much is gathered."""
        if not self._room.is_set():
            await self._room.wait()

    async def wait_settled(self, host: str) -> bool:
        """Wait until all results of this host are written; False if there were none."""
        waited = False
        for batches in (self._under_way, self._gathered):
            if (batch := batches.get(host)) is not None:
                waited = True
                self._soon.set()
                await asyncio.shield(batch.written)
        return waited

    async def run(self) -> None:
        """Until cancelled; `close` then writes the rest."""
        while True:
            await self._some.wait()
            await self._linger()
            await self._write()

    async def close(self) -> None:
        if self._gathered:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._write()
        for batch in (*self._gathered.values(), *self._under_way.values()):
            if not batch.written.done():
                batch.written.set_result(False)

    async def _linger(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await self._soon.wait()
        if not self._is_full():
            await asyncio.sleep(URGENT)

    def _is_full(self) -> bool:
        return self._pages >= MAX_PAGES or self._bytes >= MAX_BYTES

    def _take(self) -> list[HostBatch]:
        self._under_way, self._gathered = self._gathered, {}
        self._pages = self._bytes = 0
        self._some.clear()
        self._soon.clear()
        self._room.set()
        return list(self._under_way.values())

    async def _write(self) -> None:
        async with self._writing:
            batches, standing = self._take(), set[str]()
            try:
                standing = await self._write_all([batch for batch in batches if not batch.held.lost])
            except Exception as error:  # noqa: BLE001 - the next batch may succeed; these leases run out
                self._log.error("crawl_write_failed", "a batch could not be written", cause=error)
            finally:
                self._under_way = {}
                for batch in batches:
                    self._end(batch, stands=batch.held.host in standing)

    async def _write_all(self, batches: Sequence[HostBatch]) -> set[str]:
        visits = [one for batch in batches for one in batch.visited]
        made = await asyncio.to_thread(pack_visits, visits, self._request)
        pictures = [one.picture for one in visits if one.picture is not None]
        blobs = [made.name, *(picture.name for picture in pictures)] if made.body else []
        if made.body:
            await self._retry(partial(self._keep, made, pictures))
        places = iter(made.places)
        settlements = [(batch.held.lease, _settlement(batch, places)) for batch in batches]
        return await self._retry(
            partial(self._frontier.settle_many, settlements, blobs=blobs, links=made.links)
        )

    async def _keep(self, made: PackedPages, pictures: Sequence[PagePicture]) -> None:
        names = [made.name, *(picture.name for picture in pictures)]

        async def register(connection: AsyncConnection) -> None:
            for name in names:
                await orphan_blobs.register(connection, name)

        await self._database.transact(register)
        await self._blobs.put(made.name, made.body)
        for picture in pictures:
            await self._blobs.put(picture.name, picture.body, media_type=PICTURE_TYPE)

    async def _retry(self, work: Callable[[], Awaitable[T]]) -> T:
        """Try again until the service is back; the leases limit how long that makes sense."""
        for attempt in count():
            try:
                return await work()
            except Unavailable as away:
                if attempt in (0, len(PAUSES)):
                    self._log.warning("crawl_paused", "a batch waits to be written", why=away.detail)
                await asyncio.sleep(PAUSES[min(attempt, len(PAUSES) - 1)])
        raise AssertionError

    def _end(self, batch: HostBatch, *, stands: bool) -> None:
        if not stands:
            batch.held.lost = True
            for visited in batch.visited:
                if visited.plan.traps is not None:
                    visited.plan.traps.forget(batch.held.host)
        else:
            keys = {key for visited in batch.visited for key in visited.keys}
            self._known.add(keys)
            for key in keys:
                batch.held.waiting.pop(key, None)
        if not batch.written.done():
            batch.written.set_result(stands)


def pack_visits(visits: Sequence[Visited], request: HeaderPairs) -> PackedPages:
    """The pages, their links, and the heads that are kept with them. `request` is what every request said."""
    sections: dict[str, SectionWriter] = {}
    for one in visits:
        if one.page is not None or one.headers:
            section = sections.setdefault(one.task.crawl_id, SectionWriter(request))
            section.add(
                one.task.url_hash,
                one.links,
                one.notes,
                headers=keep_headers(one.headers),
                sent=_sent(one),
            )
    return pack([one.page for one in visits if one.page is not None], sections=sections)


def _sent(visited: Visited) -> HeaderPairs:
    """The caller's headers of a request. Their values may be secrets, and are left out."""
    spec = visited.plan.spec
    if not spec.headers and not spec.rules:
        return ()
    headers = headers_for(Url.parse(visited.task.url), spec)
    return tuple((name, value if name.lower() in PORTABLE_HEADERS else "") for name, value in headers)


def _settlement(batch: HostBatch, places: Iterator[StoredAt]) -> HostSettlement:
    held, now = batch.held, asyncio.get_running_loop().time()
    new: dict[str, list[NewUrl]] = {}
    for visited in batch.visited:
        if visited.urls:
            new.setdefault(visited.task.crawl_id, []).extend(visited.urls)
    ends = [_task_end(visited, held, now, places) for visited in batch.visited]
    return HostSettlement(ends=ends, new=new, traps=_trap_news(batch), host=_news(held))


def _trap_news(batch: HostBatch) -> list[TrapNews]:
    plans = {visited.task.crawl_id: visited.plan for visited in batch.visited}
    return [
        TrapNews(crawl_id, *changes)
        for crawl_id, plan in plans.items()
        if plan.traps is not None and (changes := plan.traps.take_changes(batch.held.host)) is not None
    ]


def _task_end(visited: Visited, held: HeldHost, now: float, places: Iterator[StoredAt]) -> TaskEnd:
    row = visited.row
    if visited.page is not None:
        place = next(places)
        if row is not None:
            picture = None if visited.picture is None else visited.picture.name
            stored = {"blob": place.blob, "blob_offset": place.offset, "blob_size": place.size}
            row = replace(row, **stored, screenshot=picture)
    due_at = held.moment(now + visited.pause) if visited.end is VisitEnd.AGAIN else None
    return TaskEnd(
        task=visited.task,
        state=visited.end.value,
        page=row,
        due_at=due_at,
        reason=visited.reason,
        counts=visited.counts,
        visit=visited.visit,
    )


def _news(held: HeldHost) -> HostNews:
    pace = held.pace
    return HostNews(
        next_at=held.moment(pace.next_at),
        delay_ms=round(pace.gap(held.delay) * 1000),
        failures=pace.failures,
        renders=held.renders,
    )
