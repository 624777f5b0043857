"""What is done now and then for the pages and the usage, and at a clean stop."""

import asyncio
import io
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest
from tests.servers.postgres import PostgresServer
from tests.servers.tiers import Tiers, page_of

from gossamer.flows.upkeep import upkeep
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.blobs.blobs import open_blobs
from gossamer.state.db.database import Database, open_database
from gossamer.state.db.tables import stray_blobs
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.pages.cached_page import Location
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.state.tenants.usage import Usage
from gossamer.web.search.question import Question

PAGE = IndexedDocument(url="https://a/", title="a", description="", text="", language="", seen_at=0)
ASKED = Question.parse("a")


async def test_settling_writes_down_and_mends(tiers: Tiers) -> None:
    cache, usage, stream = tiers.cache(), Usage(tiers.database, lambda: 0.0), io.StringIO()
    await cache.put(tiers.key(), page_of(b"one"))
    await cache.put(tiers.key(), page_of(b"two"))
    await cache.get(tiers.key())
    usage.count(tiers.tenant, "key", "hot")
    await tiers.make_due()
    await upkeep.settle_pages(cache, usage, Log(stream))
    assert [(row.access_count, row.due_at) for row in await tiers.rows()] == [(1, None)]
    assert await tiers.rows(stray_blobs) == []
    assert (await Usage(tiers.database, lambda: 0.0).report(tiers.tenant)).totals.hits == 1
    assert stream.getvalue() == ""


async def test_it_goes_on_when_the_database_comes_back(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("blobs")
    tiers = Tiers(MemoryHot(), open_blobs(f"file://{folder}", {}), open_database(postgres.url, deadline=2.0))
    await tiers.prepare()
    usage, stream = Usage(tiers.database, lambda: 0.0), io.StringIO()
    usage.count(tiers.tenant, "key", "hot")
    monkeypatch.setattr(upkeep, "PAGES_EVERY_SECONDS", 0.01)
    postgres.stop()
    tending = asyncio.create_task(upkeep.keep_counts(tiers.cache(), usage, Log(stream)))
    async with asyncio.timeout(60):
        while "upkeep_postponed" not in stream.getvalue():
            await asyncio.sleep(0.01)
    postgres.start()
    reading = Usage(tiers.database, lambda: 0.0)
    async with asyncio.timeout(60):
        while (await reading.report(tiers.tenant)).totals.hits != 1:
            await asyncio.sleep(0.01)
    tending.cancel()
    await asyncio.gather(tending, return_exceptions=True)
    await tiers.close()


async def test_pages_that_were_read_get_into_the_index_when_the_database_comes_back(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, stream = open_database(postgres.url, deadline=2.0), io.StringIO()
    index = SearchIndex(database, Log(stream), max_pages=10)
    index.note(PUBLIC, PAGE)
    monkeypatch.setattr(upkeep, "PAGES_EVERY_SECONDS", 0.01)
    postgres.stop()
    keeping = asyncio.create_task(upkeep.keep_indexed(index, Log(stream)))
    async with asyncio.timeout(60):
        while "upkeep_postponed" not in stream.getvalue():
            await asyncio.sleep(0.01)
    postgres.start()
    elsewhere = SearchIndex(database, Log(stream), max_pages=10)
    async with asyncio.timeout(60):
        while not (await elsewhere.search(PUBLIC, ASKED)).found:
            await asyncio.sleep(0.01)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await database.close()


@pytest.fixture
async def hurried(sqlite: str) -> AsyncIterator[Database]:
    opened = open_database(sqlite, deadline=0.5)
    yield opened
    await opened.close()


@contextmanager
def another_writer(url: str) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


async def test_a_stop_waits_for_another_writer_before_pages_that_were_read_are_given_up(
    hurried: Database, sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "INDEXING_SECONDS", 60.0)
    stream = io.StringIO()
    index = SearchIndex(hurried, Log(stream), max_pages=10)
    index.note(PUBLIC, PAGE)
    with another_writer(sqlite) as other:
        settling = asyncio.create_task(upkeep.settle_index(index, Log(stream)))
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):  # as was its own attempt, which came before
            await index.flush()
        other.execute("ROLLBACK")
        await settling
    assert (index.noted, stream.getvalue()) == (0, "")


async def test_a_stop_says_how_many_pages_that_were_read_are_lost_to_the_index(
    hurried: Database, sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "INDEXING_SECONDS", 0.1)
    stream = io.StringIO()
    index = SearchIndex(hurried, Log(stream), max_pages=10)
    index.note(PUBLIC, PAGE)
    with another_writer(sqlite):
        await upkeep.settle_index(index, Log(stream))
    told = msgspec.json.decode(stream.getvalue())
    assert (told["event"], told["pages"]) == ("search_notes_lost", 1)


async def test_what_another_process_changes_is_noticed(tmp_path: Path) -> None:
    """Two hot tiers on one database, as a server and a worker beside it have them."""
    folder, address = tmp_path / "blobs", f"sqlite:///{tmp_path}/pages.db"
    ours = Tiers(MemoryHot(), open_blobs(f"file://{folder}", {}), open_database(address))
    await ours.prepare()
    theirs = Tiers(
        MemoryHot(), open_blobs(f"file://{folder}", {}), open_database(address), tenant=ours.tenant
    )
    here, there, usage = ours.cache(alone=True), theirs.cache(alone=True), Usage(ours.database, lambda: 0.0)
    names = ("/changed", "/deleted", "/kept")
    for name in names:
        await here.put(ours.key(name), page_of(b"one"))
    settle = partial(upkeep.settle_pages, here, usage, Log(io.StringIO()))
    await settle()
    await there.put(ours.key("/changed"), page_of(b"two"))
    await there.drop(ours.key("/deleted"))
    await settle()
    changed, deleted, kept = [await here.get(ours.key(name)) for name in names]
    assert changed is not None
    assert changed.page.html() == b"two"
    assert deleted is None
    assert kept is not None
    assert kept.location is Location.HOT
    await theirs.close()
    await ours.close()
