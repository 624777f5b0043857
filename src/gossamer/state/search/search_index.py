"""The search index: the words of pages that were read, by tenant.

Pages that callers read are noted in memory and written later. The notes are bounded: during an outage of the
database, new ones replace the oldest. A batch is dropped from memory only after it was written, and writing
it twice changes nothing. Crawled pages come by the thousand and are already stored; `flows/crawl/indexing`
adds them when there is time.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import ColumnElement, func, true

from gossamer.observe.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.db.tables import search_pages
from gossamer.state.pages.page_key import PagePrefix
from gossamer.state.search import index_queue, lexicon, search_drops, search_rows
from gossamer.state.search.index_queue import IndexBatch
from gossamer.state.search.lexicon import KnownWords
from gossamer.state.search.search_document import (
    MAX_DESCRIPTION_CHARS,
    MAX_TEXT_CHARS,
    MAX_TITLE_CHARS,
    GonePage,
    IndexedDocument,
    IndexEntry,
    Match,
    SearchQuery,
    build_entry,
    key_of,
    read_outline,
)
from gossamer.state.search.search_drops import ALL, Extent
from gossamer.state.search.search_rows import FoundRow, embedded_passages
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.search.fusion import FoundPassage, blend
from gossamer.web.search.hits import MAX_PASSAGES, HitFinder, TermHit, best_passages, nearness
from gossamer.web.search.passages import link_to
from gossamer.web.search.question import Question
from gossamer.web.search.snippet import MatchSpan, beginning, excerpt
from gossamer.web.search.spelling import may_be_misspelt
from gossamer.web.search.terms import Standing, Term, languages_of, terms_of, words_of
from gossamer.web.search.vectors import NOTHING_NEAR, NearestPages
from gossamer.web.url.url import Url, cache_form

MAX_NOTED_PAGES: Final = 10_000
MAX_NOTED_CHARS: Final = 32_000_000  # of all notes
CATCH_UP_SECONDS: Final = 3.0  # in which a search writes the notes of its tenants, some 5 ms each
CATCH_UP_PAGES: Final = 50  # in a transaction: what is written when time is up need not be written again
# On SQLite all writers wait for a transaction, on PostgreSQL those that write for the same tenant.
PAGES_PER_TRANSACTION: Final = {"sqlite": 200, "postgresql": 250}
MAX_LOOKS: Final = 3  # of a search, while pages that it has found are replaced
MIN_READ: Final = 10  # of the best pages: their texts are read to see whether their terms are near each other
NEARNESS: Final = 0.25  # how much that counts
CRAWLED_TRANSACTION_SECONDS: Final = 20.0  # no caller waits for it

_pages: Final = search_pages.c
Noted = tuple[str, str]  # tenant, and URL in cache form


class IndexedPages(Struct, frozen=True):
    """The content of a batch of crawled pages, or of a part of it."""

    batch: IndexBatch
    entries: Sequence[IndexEntry] = ()
    gone: Sequence[GonePage] = ()
    is_last: bool = True  # this is the last part of the batch


class Matches(Struct, frozen=True):
    """The results of a search; if it ended early, the best results so far."""

    found: tuple[Match, ...]
    complete: bool = True
    corrected: Mapping[str, str] = field(default_factory=dict)  # words that were replaced, and by what
    current: bool = True  # False if pages were read that are not in the index yet


class SearchIndex:
    def __init__(
        self, database: Database, log: Log, *, max_pages: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._database = database
        self._log = log
        self._max_pages = max_pages
        self._clock = clock
        self._batch_pages = PAGES_PER_TRANSACTION[database.dialect]
        self._noted: dict[Noted, IndexedDocument] = {}
        self._characters = 0
        self._forgotten = 0
        self._writing = asyncio.Lock()

    @property
    def is_kept(self) -> bool:
        return self._max_pages > 0

    @property
    def noted(self) -> int:
        """How many pages are still to be written."""
        return len(self._noted)

    def note(self, tenant: str, document: IndexedDocument) -> None:
        """Note a document without waiting. A later document of the same URL replaces it."""
        if not self.is_kept:
            return
        try:
            form = cache_form(Url.parse(document.url))
        except Problem:  # not a URL that can be visited
            return
        self._forget((tenant, form))
        self._noted[tenant, form] = kept = _bound(document)
        self._characters += _size(kept)
        while len(self._noted) > MAX_NOTED_PAGES or self._characters > MAX_NOTED_CHARS:
            self._forget(next(iter(self._noted)))
            self._forgotten += 1

    async def flush(self) -> None:
        """Write the notes to the database. Notes that could not be written are kept."""
        await self._write_noted(list(self._noted), self._batch_pages)

    async def add_crawled(self, readings: Sequence[IndexedPages]) -> None:
        """Add crawled pages, and finish each batch with its last part.

        A batch that another worker has finished is skipped.
        """
        for some in _parts(readings, self._batch_pages):
            async with self._database.write(seconds=CRAWLED_TRANSACTION_SECONDS) as connection:
                queued = await index_queue.finish(connection, [one.batch for one in some if one.is_last])
                queued += await index_queue.hold(connection, [one.batch for one in some if not one.is_last])
                ours = sorted((one for one in some if one.batch in queued), key=_tenant_of)
                for tenant, theirs in groupby(ours, key=_tenant_of):
                    await search_rows.lock(connection, tenant)
                    await self._add_crawled(connection, tenant, list(theirs))

    async def _add_crawled(
        self, connection: AsyncConnection, tenant: str, readings: list[IndexedPages]
    ) -> None:
        drops = await search_drops.since(connection, tenant, min(one.batch.crawled_at for one in readings))
        last = _latest(readings)
        entries = [
            one
            for one in last
            if isinstance(one, IndexEntry) and not drops.cover(one.row.url, one.row.seen_at)
        ]
        gone = [one for one in last if isinstance(one, GonePage)]
        await search_rows.put(connection, tenant, entries, gone, self._max_pages)
        if gone and await index_queue.is_older_waiting(connection, tenant, max(one.seen_at for one in gone)):
            for one in gone:
                await search_drops.add(connection, tenant, Extent("page", one.url), now=one.seen_at)

    async def search(self, tenant: str, asked: Question, near: NearestPages = NOTHING_NEAR) -> Matches:
        """Search the pages of a tenant and of callers without an account, best first; `near` are those that
        mean what was asked.

        Notes of this process are written first. If that takes too long, or the database refuses them, what is
        written is searched.
        """
        tenants = (tenant, PUBLIC)
        current = await self._catch_up(tenants)
        return replace(await self.search_within(tenants, asked, near), current=current)

    async def _catch_up(self, tenants: tuple[str, ...]) -> bool:
        """Write what was noted for these tenants; returns whether all of it is written."""
        noted = [(owner, url) for owner, url in self._noted if owner in tenants]
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS):
                await self._write_noted(noted, CATCH_UP_PAGES)
        except (TimeoutError, Unavailable):
            return False
        return True

    async def search_within(
        self,
        tenants: tuple[str, ...],
        asked: Question,
        near: NearestPages = NOTHING_NEAR,
        facets: tuple[tuple[str, ...], ...] = (),
    ) -> Matches:
        """Search what is indexed for these tenants and has one facet of each group."""
        if not asked.all_of:
            return Matches(())
        async with self._database.scan() as connection:
            question, known, corrected = await self._understand(connection, tenants, asked)
            query = _query(question, known, tenants, self._clock()).within(facets)
            rows, standings, complete = await self._look(connection, query, near)
        passages = {one.page: one.place for one in near.passages}
        matches = await asyncio.to_thread(_matches, rows, standings, query, passages)
        return Matches(matches, complete, corrected if matches else {})

    async def _look(
        self, connection: AsyncConnection, query: SearchQuery, near: NearestPages
    ) -> tuple[list[FoundRow], Mapping[int, Standing], bool]:
        """The rows of the best pages, how all that were found stand, and whether the search was complete.

        A page that is replaced has another id then, so one that was found may be gone when it is read.
        """
        passages = [one.page for one in near.passages]
        for _ in range(MAX_LOOKS):
            found, complete = await search_rows.find(connection, query, passages, self._database.is_too_long)
            standings = blend(found, near)
            best = sorted(standings, key=lambda page: (standings[page].order, -page))
            chosen = best[: max(MIN_READ, query.limit)]
            rows = await search_rows.rows(connection, chosen, query.tenants)
            if {row.id for row in rows}.issuperset(set(chosen).difference(passages)):
                break
        return rows, standings, complete

    async def _understand(
        self, connection: AsyncConnection, tenants: tuple[str, ...], asked: Question
    ) -> tuple[Question, KnownWords, dict[str, str]]:
        """Look up the words of a question, and replace those that are in no page by words that are."""
        known = await self._look_up(connection, tenants, asked)
        corrected: dict[str, str] = {}
        query = _query(asked, known, tenants, self._clock())
        for number, term in enumerate(query.terms):
            is_word = len(term.phrases[0]) == 1 and not term.is_firm
            if not is_word or any(known.having.get(word) for phrase in term.phrases for word in phrase):
                continue
            if not may_be_misspelt(term.said) or await search_rows.exists(connection, query, number):
                continue
            if meant := await lexicon.nearest(connection, tenants, term.said):
                corrected[term.said] = meant
        if not corrected:
            return asked, known, corrected
        question = asked.replacing(corrected)
        return question, await self._look_up(connection, tenants, question), corrected

    async def _look_up(
        self, connection: AsyncConnection, tenants: tuple[str, ...], question: Question
    ) -> KnownWords:
        first = languages_of(question, ())
        known = await lexicon.look_up(connection, tenants, words_of(question, first))
        likely = languages_of(question, known.languages)
        if set(likely) <= set(first):
            return known
        return await lexicon.look_up(connection, tenants, words_of(question, likely))

    async def drop(self, tenant: str, url: str) -> None:
        """Remove one page; `url` is in cache form."""
        await self._drop(tenant, _pages.name == key_of(tenant, url), Extent("page", url))

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
        async with self._writing:
            for owner, url in list(self._noted):
                if owner == tenant and extent.has(url):
                    self._forget((owner, url))
            gone = search_rows.MAX_DELETED_PAGES
            while gone == search_rows.MAX_DELETED_PAGES:
                async with self._database.write() as connection:
                    gone = await search_rows.drop(connection, tenant, which)
                    if (
                        gone < search_rows.MAX_DELETED_PAGES
                    ):  # with the last of them, for pages that are added later
                        await search_drops.add(connection, tenant, extent)
                        if extent == ALL:
                            await lexicon.forget(connection, tenant)

    async def _write_noted(self, wanted: Sequence[Noted], most: int) -> None:
        """Write notes, at most so many at a time. In between, others may write or drop some of them."""
        if self._forgotten:
            self._log.warning("search_notes_lost", "the oldest notes made room", pages=self._forgotten)
            self._forgotten = 0
        for start in range(0, len(wanted), most):
            async with self._writing:
                these = wanted[start : start + most]
                batch = {noted: self._noted[noted] for noted in these if noted in self._noted}
                await self._write(await asyncio.to_thread(_entries, batch))
                for noted, document in batch.items():
                    if self._noted.get(noted) is document:  # not replaced meanwhile
                        self._forget(noted)

    async def _write(self, entries: list[IndexEntry]) -> None:
        """Write entries in the order of their tenants, so that concurrent writers never deadlock."""
        if not entries:
            return
        entries.sort(key=_tenant)
        async with self._database.write() as connection:
            for tenant, theirs in groupby(entries, key=_tenant):
                await search_rows.lock(connection, tenant)
                await search_rows.put(connection, tenant, list(theirs), (), self._max_pages)

    def _forget(self, noted: Noted) -> None:
        document = self._noted.pop(noted, None)
        self._characters -= _size(document) if document else 0


def _bound(document: IndexedDocument) -> IndexedDocument:
    """Cut a document to twice what is stored, because cleaning removes spaces."""
    return replace(
        document,
        title=document.title[: 2 * MAX_TITLE_CHARS],
        description=document.description[: 2 * MAX_DESCRIPTION_CHARS],
        text=document.text[: 2 * MAX_TEXT_CHARS],
        language=document.language[:50],
    )


def _size(document: IndexedDocument) -> int:
    return len(document.url) + len(document.title) + len(document.description) + len(document.text)


def _entries(batch: dict[Noted, IndexedDocument]) -> list[IndexEntry]:
    return [build_entry(tenant, form, document) for (tenant, form), document in batch.items()]


def _tenant(one: IndexEntry) -> str:
    return one.row.tenant_id


def _tenant_of(reading: IndexedPages) -> str:
    return reading.batch.tenant_id


def _parts(readings: Iterable[IndexedPages], most: int) -> Iterator[list[IndexedPages]]:
    """Split readings into parts of at most `most` pages."""
    part: list[IndexedPages] = []
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


def _latest(readings: Iterable[IndexedPages]) -> Iterable[IndexEntry | GonePage]:
    """Return each page once, in its latest version."""
    ordered = sorted(readings, key=lambda reading: reading.batch.crawled_at)
    last: dict[str, IndexEntry | GonePage] = {}
    for reading in ordered:
        last |= {one.name: one for one in reading.gone}
        last |= {entry.row.name: entry for entry in reading.entries}
    return last.values()


def _query(question: Question, known: KnownWords, tenants: tuple[str, ...], now: float) -> SearchQuery:
    languages = languages_of(question, known.languages)
    return SearchQuery.of(question, terms_of(question, languages, known.rarity), languages, tenants, now)


def _matches(
    rows: list[FoundRow], standings: Mapping[int, Standing], query: SearchQuery, near: Mapping[int, int]
) -> tuple[Match, ...]:
    """Let pages come first that have the terms near each other, and find the passages of the best; `near` has
    the place of the passage that is nearest in meaning, by page."""
    finder = HitFinder(query.terms)
    hits = {row.id: finder.find(row.text, row.language, standings[row.id].missing) for row in rows}

    def place(row: FoundRow) -> tuple[bool, float]:
        standing = standings[row.id]
        closeness = 1 + NEARNESS * nearness(hits[row.id], query.terms)
        return standing._replace(score=standing.score * closeness).order

    best = sorted(rows, key=place)[: query.limit]
    return tuple(
        _match(row, standings[row.id], query.terms, finder, hits[row.id], near.get(row.id)) for row in best
    )


def _match(
    row: FoundRow,
    standing: Standing,
    terms: Sequence[Term],
    finder: HitFinder,
    hits: Sequence[TermHit],
    nearest: int | None,
) -> Match:
    passages = best_passages(row.final_url, row.text, read_outline(row.outline), hits, terms)
    if nearest is not None and len(passages) < MAX_PASSAGES:
        passages += [
            one for one in _nearest_passage(row, nearest) if one.url not in {p.url for p in passages}
        ]
    return Match(
        url=row.final_url,
        title=row.title,
        snippet=passages[0].snippet if passages else _description(row, finder),
        seen_at=row.seen_at / 1000,
        published_at=None if row.published_at is None else row.published_at / 1000,
        passages=tuple(passages),
        missing=tuple(terms[number].said for number in standing.missing),
    )


def _nearest_passage(row: FoundRow, place: int) -> list[FoundPassage]:
    """Empty if the page has changed since it was embedded."""
    return [
        FoundPassage(passage.headings, beginning(passage.text), link_to(row.final_url, passage))
        for passage in embedded_passages(row)[place : place + 1]
    ]


def _description(row: FoundRow, finder: HitFinder) -> str:
    """What is shown of a page whose text has no term."""
    spans = [MatchSpan(hit.start, hit.end) for hit in finder.find(row.description, row.language)]
    return excerpt(row.description, spans) if spans else beginning(row.description or row.text)
