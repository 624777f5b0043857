"""The search index: the words of pages that were read, by tenant.

What somebody asked for is noted in memory and written behind. It is bounded: while the database is away the
oldest notes make room. A batch is given up only when it is known to be written; to write it twice changes
nothing. What was crawled comes by thousands, and is lasting already: `flows/crawl/indexing` brings it, when
there is time for it.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Final

from sqlalchemy import ColumnElement, func, true
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.state import search_drops, search_rows, unindexed
from gossamer.state.database import Database
from gossamer.state.page_key import PagePrefix
from gossamer.state.search_document import (
    LONGEST_DESCRIPTION,
    LONGEST_TEXT,
    LONGEST_TITLE,
    Document,
    Entry,
    Gone,
    Match,
    Sought,
    entry,
    name_of,
)
from gossamer.state.search_drops import ALL, Extent
from gossamer.state.search_rows import Found
from gossamer.state.tables import search_pages
from gossamer.state.tenants import PUBLIC
from gossamer.state.unindexed import Batch
from gossamer.web.question import Phrase, Question
from gossamer.web.snippet import beginning, snippet
from gossamer.web.url import Url, cache_form

__all__ = ["Document", "Match", "Reading", "SearchIndex"]

MOST_NOTED: Final = 10_000  # pages
MOST_CHARACTERS: Final = 32_000_000  # of all that is noted
MOST_AWAITED: Final = 100  # pages that a search has written down first
# Pages in a transaction. On SQLite all who write wait for it, on PostgreSQL those who write for the tenant.
TOGETHER: Final = {"sqlite": 200, "postgresql": 250}
CRAWLED_SECONDS: Final = 20.0  # for a transaction of crawled pages, which nobody waits for

_pages: Final = search_pages.c
Noted = tuple[str, str]  # tenant, and URL in its cache form


@dataclass(frozen=True, slots=True)
class Reading:
    """What a batch of crawled pages says, or a part of it."""

    batch: Batch
    entries: Sequence[Entry] = ()
    gone: Sequence[Gone] = ()
    is_last: bool = True  # there are no more of the batch


class SearchIndex:
    def __init__(
        self, database: Database, log: Log, *, most_pages: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._database = database
        self._log = log
        self._most_pages = most_pages
        self._clock = clock
        self._together = TOGETHER[database.dialect]
        self._noted: dict[Noted, Document] = {}
        self._characters = 0
        self._forgotten = 0
        self._flushing = asyncio.Lock()

    @property
    def is_kept(self) -> bool:
        return self._most_pages > 0

    def note(self, tenant: str, document: Document) -> None:
        """Never waits. A later one of the same URL replaces it."""
        if not self.is_kept:
            return
        try:
            form = cache_form(Url.parse(document.url))
        except Problem:  # nothing that could be visited
            return
        self._forget((tenant, form))
        self._noted[tenant, form] = kept = _bounded(document)
        self._characters += _size(kept)
        while len(self._noted) > MOST_NOTED or self._characters > MOST_CHARACTERS:
            self._forget(next(iter(self._noted)))
            self._forgotten += 1

    async def flush(self) -> None:
        """Write down what was noted until now. When it fails, it is not forgotten."""
        async with self._flushing:
            if self._forgotten:
                self._log.warning("search_notes_lost", "the oldest notes made room", pages=self._forgotten)
                self._forgotten = 0
            for _ in range(-(-len(self._noted) // self._together)):
                batch = dict(islice(self._noted.items(), self._together))
                await self._write(await asyncio.to_thread(_entries, batch))
                for noted, document in batch.items():
                    if self._noted.get(noted) is document:  # else there is a newer one
                        self._forget(noted)

    async def take_in(self, readings: Sequence[Reading]) -> None:
        """Crawled pages, and with the last of a batch that it is done with. A batch that somebody else has
        finished meanwhile is left alone."""
        for some in _parts(readings, self._together):
            async with self._database.write(seconds=CRAWLED_SECONDS) as connection:
                standing = await unindexed.finish(connection, [one.batch for one in some if one.is_last])
                standing += await unindexed.hold(connection, [one.batch for one in some if not one.is_last])
                ours = sorted((one for one in some if one.batch in standing), key=_tenant_of)
                for tenant, theirs in groupby(ours, key=_tenant_of):
                    await search_rows.lock(connection, tenant)
                    await self._take_in(connection, tenant, list(theirs))

    async def _take_in(self, connection: AsyncConnection, tenant: str, readings: list[Reading]) -> None:
        drops = await search_drops.since(connection, tenant, min(one.batch.crawled_at for one in readings))
        last = _last(readings)
        entries = [
            one for one in last if isinstance(one, Entry) and not drops.cover(one.row.url, one.row.seen_at)
        ]
        gone = [one for one in last if isinstance(one, Gone)]
        await search_rows.put(connection, tenant, entries, gone, self._most_pages)
        if gone and await unindexed.is_older_waiting(connection, tenant, max(one.seen_at for one in gone)):
            for one in gone:
                await search_drops.add(connection, tenant, Extent("page", one.url), now=one.seen_at)

    async def search(self, tenant: str, asked: Question) -> list[Match]:
        """The best first, of this tenant and of all who have no account.

        What this process noted is in it, unless that is so much that writing it would take long.
        """
        if len(self._noted) <= MOST_AWAITED:
            with suppress(Unavailable):  # what is written already can be searched all the same
                await self.flush()
        if not asked.all_of:
            return []
        sought = Sought.of(asked, (tenant, PUBLIC), self._clock())
        async with self._database.read() as connection:
            found = await search_rows.find(connection, sought)
        return await asyncio.to_thread(_matches, found, asked.phrases)

    async def drop(self, tenant: str, url: str) -> None:
        """`url` in its cache form."""
        await self._drop(tenant, _pages.name == name_of(tenant, url), Extent("page", url))

    async def drop_prefix(self, tenant: str, prefix: PagePrefix) -> None:
        exactly = func.substr(_pages.url, 1, len(prefix.text))
        matches: ColumnElement[bool] = exactly == prefix.text
        if not prefix.starred:
            after = func.substr(_pages.url, len(prefix.text) + 1, 1)
            matches = matches & after.in_(["", "/", "?"])
        await self._drop(tenant, (_pages.site == prefix.site) & matches, Extent.of(prefix))

    async def drop_all(self, tenant: str) -> None:
        await self._drop(tenant, true(), ALL)

    async def _drop(self, tenant: str, which: ColumnElement[bool], extent: Extent) -> None:
        async with self._flushing:
            for owner, url in list(self._noted):
                if owner == tenant and extent.has(url):
                    self._forget((owner, url))
            gone = search_rows.BATCH
            while gone == search_rows.BATCH:
                async with self._database.write() as connection:
                    gone = await search_rows.drop(connection, tenant, which)
                    if gone < search_rows.BATCH:  # with the last of them: who comes later learns of it
                        await search_drops.add(connection, tenant, extent)

    async def _write(self, entries: list[Entry]) -> None:
        """Tenants in their order, so that two who write at once never wait for each other both ways."""
        entries.sort(key=_tenant)
        async with self._database.write() as connection:
            for tenant, theirs in groupby(entries, key=_tenant):
                await search_rows.lock(connection, tenant)
                await search_rows.put(connection, tenant, list(theirs), (), self._most_pages)

    def _forget(self, noted: Noted) -> None:
        document = self._noted.pop(noted, None)
        self._characters -= _size(document) if document else 0


def _bounded(document: Document) -> Document:
    """Twice what is kept, because spaces are not."""
    return replace(
        document,
        title=document.title[: 2 * LONGEST_TITLE],
        description=document.description[: 2 * LONGEST_DESCRIPTION],
        text=document.text[: 2 * LONGEST_TEXT],
        language=document.language[:50],
    )


def _size(document: Document) -> int:
    return len(document.url) + len(document.title) + len(document.description) + len(document.text)


def _entries(batch: dict[Noted, Document]) -> list[Entry]:
    return [entry(tenant, form, document) for (tenant, form), document in batch.items()]


def _tenant(one: Entry) -> str:
    return one.row.tenant_id


def _tenant_of(reading: Reading) -> str:
    return reading.batch.tenant_id


def _parts(readings: Iterable[Reading], most: int) -> Iterator[list[Reading]]:
    """So many pages at a time."""
    part: list[Reading] = []
    room = most
    for reading in readings:
        rest = reading
        while len(rest.entries) > room:
            yield [*part, replace(rest, entries=rest.entries[:room], gone=(), is_last=False)]
            rest = replace(rest, entries=rest.entries[room:])
            part, room = [], most
        part.append(rest)
        room -= len(rest.entries)
    yield part


def _last(readings: Iterable[Reading]) -> Iterable[Entry | Gone]:
    """Each page once, as it was when it was last seen."""
    ordered = sorted(readings, key=lambda reading: reading.batch.crawled_at)
    last: dict[str, Entry | Gone] = {}
    for reading in ordered:
        last |= {one.name: one for one in reading.gone}
        last |= {entry.row.name: entry for entry in reading.entries}
    return last.values()


def _matches(rows: list[Found], phrases: tuple[Phrase, ...]) -> list[Match]:
    return [
        Match(
            url=row.final_url,
            title=row.title,
            snippet=snippet(row.text, phrases)
            or snippet(row.description, phrases)
            or beginning(row.description or row.text),
            seen_at=row.seen_at / 1000,
            published_at=None if row.published_at is None else row.published_at / 1000,
        )
        for row in rows
    ]
