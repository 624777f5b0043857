"""What was crawled gets into the search index, all of it and once, whatever happens on the way."""

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import func, select, text, update
from tests.contract.crawl.crawl_ground import LEASE, NOW, SECOND, Ground, url

from gossamer.flows.crawl.content import pack
from gossamer.flows.crawl.indexing import Indexing
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.upkeep import upkeep
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs, open_blobs
from gossamer.state.crawl.crawl_tables import unindexed as waiting
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.db.database import Database, open_database
from gossamer.state.db.tables import search_drops as drops
from gossamer.state.db.tables import search_pages, search_tenants
from gossamer.state.db.tables import stray_blobs as strays
from gossamer.state.pages.page_key import PagePrefix
from gossamer.state.search import index_queue as unindexed
from gossamer.state.search import search_drops
from gossamer.state.search.search_document import IndexedDocument, build_entry
from gossamer.state.search.search_index import IndexedPages, SearchIndex
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.pages.page import Page
from gossamer.web.search.question import Question

HOST = "a.example:80"
MINUTE = 60 * SECOND
GONE = CrawledPage(final_url="", status_code=404, outcome="error")
OK = CrawledPage(final_url="", status_code=200, outcome="ok", language="en")


@dataclass
class Library:
    """A tenant's crawls, the bodies of their pages, and who brings these into the index."""

    ground: Ground
    blobs: Blobs
    parsers: ParserPool
    said: io.StringIO

    @property
    def database(self) -> Database:
        return self.ground.database

    def index(self, database: Database | None = None, max_pages: int = 100_000) -> SearchIndex:
        return SearchIndex(database or self.database, Log(self.said), max_pages=max_pages)

    def indexing(self, database: Database | None = None, index: SearchIndex | None = None) -> Indexing:
        chosen = database or self.database
        return Indexing(
            chosen, index or self.index(chosen), self.ground.crawls, self.blobs, self.parsers, Log(self.said)
        )

    async def catch_up(self) -> None:
        await self.indexing().catch_up(asyncio.Event())

    async def crawl(
        self,
        texts: Mapping[str, str],
        row: CrawledPage = OK,
        *,
        now: int = NOW,
        **spec: Any,
    ) -> Crawl:
        """Pages by their paths, stored together."""
        wanted = [url(HOST, path) for path in texts]
        limits = CrawlSpec(seeds=(wanted[0].url,), max_pages=10_000, **spec)
        crawl = await self.ground.crawls.create(self.ground.tenant, limits, urls=wanted, now=now)
        (lease,) = await self.ground.lease(now=now)
        tasks = await self.ground.frontier.take(lease, len(wanted), now=now)
        pages = [_page(task.url, texts[task.url.partition(f"{HOST}/")[2]], row) for task in tasks]
        made = pack(pages)
        async with self.database.write() as connection:
            await orphan_blobs.register(connection, made.name, now=now)
        await self.blobs.put(made.name, made.body)
        ends = [
            TaskEnd(
                task=task,
                page=replace(
                    row, final_url=task.url, blob=place.blob, blob_offset=place.offset, blob_size=place.size
                ),
            )
            for task, place in zip(tasks, made.places, strict=True)
        ]
        assert await self.ground.frontier.settle(lease, HostSettlement(ends=ends), blobs=[made.name], now=now)
        await self.ground.hosts.release(lease, now=now)
        return crawl

    async def found(self, query: str) -> set[str]:
        matches = (await self.index().search(self.ground.tenant, Question.parse(query, limit=50))).found
        return {match.url.partition(f"{HOST}/")[2] for match in matches}

    async def counts(self) -> tuple[int, int, int, int]:
        """Pages, pages that have words, what the tenant is said to have, and batches that wait."""
        async with self.database.read() as connection:
            pages = await connection.scalar(select(func.count()).select_from(search_pages))
            words = await connection.scalar(text("SELECT count(*) FROM search_words"))
            said = await connection.scalar(select(search_tenants.c.pages))
            left = await connection.scalar(select(func.count()).select_from(waiting))
        return pages or 0, words or 0, said or 0, left or 0

    async def lapse(self) -> None:
        """The time of whoever has something in hand has run out."""
        async with self.database.write() as connection:
            await connection.execute(update(waiting).values(due_at=0))


def _page(address: str, words: str, row: CrawledPage) -> Page:
    body = f"<!doctype html><html><title>T</title><body><p>{words}</p><script>unseen()</script>".encode()
    return Page(
        url=address,
        final_url=address,
        status=row.status_code or 0,
        headers=(),
        body=body,
        media_type="text/html",
        charset="utf-8",
    )


@pytest.fixture
async def library(database: Database, tmp_path: Path) -> AsyncIterator[Library]:
    blobs = open_blobs(f"file://{tmp_path}/blobs", {})
    opened = Library(await Ground.on(database), blobs, ParserPool(1), io.StringIO())
    yield opened
    await opened.parsers.close()
    await blobs.close()


async def test_what_was_crawled_is_found(library: Library) -> None:
    titled = replace(OK, title="Ropes", description="A guide for sailors")
    await library.crawl({"silk": "a rope of silk", "hemp": "a rope of hemp"}, titled)
    await library.crawl({"flax": "a rope of flax"}, now=NOW + SECOND)
    assert await library.indexing().are_due()
    assert await library.found("rope") == set()
    await library.catch_up()
    assert await library.found("rope") == {"silk", "hemp", "flax"}
    assert await library.found("sailor") == {"silk", "hemp"}
    assert await library.found("unseen") == set()
    assert await library.counts() == (3, 3, 3, 0)
    assert not await library.indexing().are_due()
    assert library.said.getvalue() == ""


async def test_what_takes_long_to_read_holds_nobody_up(library: Library) -> None:
    """It is read elsewhere, and given up if that takes too long."""
    await library.crawl({"deep": "<div><!--</div>-->" * 3_000 + "a rope of silk", "flax": "a rope of flax"})
    await library.catch_up()
    assert await library.found("rope") == {"deep", "flax"}
    await library.parsers.close()
    library.parsers = ParserPool(1, seconds=0.0)
    await library.crawl(
        {"late": "<div><!--</div>-->" * 3_000 + "a rope of jute", "hemp": "a rope of hemp"}, now=NOW + SECOND
    )
    await library.catch_up()
    assert await library.found("rope") == {"deep", "flax", "hemp"}
    assert "too much time or memory" in library.said.getvalue()


async def test_only_what_is_to_be_found_and_is_for_all_of_the_tenant(library: Library) -> None:
    await library.crawl({"wall": "rope"}, replace(OK, outcome="login_wall"))
    await library.crawl({"shy": "rope"}, replace(OK, directives="noindex,nofollow"), now=NOW + SECOND)
    await library.crawl({"mine": "rope"}, now=NOW + 2 * SECOND, headers={"COOKIE": "a=b"})
    secret = await library.crawl({"later": "rope"}, now=NOW + 3 * SECOND, headers={"Authorization": "x"})
    await library.crawl({"open": "rope"}, now=NOW + 4 * SECOND, headers={"Accept-Language": "en"})
    await library.ground.crawls.cancel(secret.id, now=NOW + 4 * SECOND)
    over = await library.ground.crawls.get(secret.id)
    assert over is not None
    assert over.spec.headers == {}  # and still it is known what they were
    await library.catch_up()
    assert await library.found("rope") == {"open"}
    assert (await library.counts())[3] == 0


async def test_what_is_gone_or_does_not_want_to_be_found_any_more_leaves_the_index(library: Library) -> None:
    everything = dict.fromkeys(["404", "410", "noindex", "500", "stays"], "rope")
    await library.crawl(everything)
    await library.catch_up()
    assert await library.found("rope") == set(everything)
    await library.crawl({"404": "rope"}, GONE, now=NOW + SECOND)
    await library.crawl({"410": "rope"}, replace(GONE, status_code=410), now=NOW + SECOND)
    await library.crawl({"noindex": "rope"}, replace(OK, directives="noindex"), now=NOW + SECOND)
    await library.crawl({"500": "rope"}, replace(GONE, status_code=500), now=NOW + SECOND)
    await library.catch_up()
    assert await library.found("rope") == {"500", "stays"}
    assert await library.counts() == (2, 2, 2, 0)
    await library.crawl({"404": "rope again"}, now=NOW + 2 * SECOND)
    await library.catch_up()
    assert await library.found("again") == {"404"}


async def test_what_was_seen_last_counts_in_whatever_order_it_comes(library: Library) -> None:
    await library.crawl({"a": "first", "b": "first", "c": "first"})
    async with library.database.write() as connection:
        (first,) = await unindexed.take(connection, 1)
    await library.crawl({"a": "second"}, now=NOW + SECOND)
    await library.crawl({"b": "gone"}, GONE, now=NOW + SECOND)
    await library.catch_up()
    assert (await library.found("second"), await library.counts()) == ({"a"}, (1, 1, 1, 1))
    async with library.database.write() as connection:
        await unindexed.give_back(connection, [first], 0)
    await library.catch_up()
    assert await library.found("first") == {"c"}
    assert await library.found("second") == {"a"}
    assert await library.counts() == (2, 2, 2, 0)


async def test_a_page_that_was_read_since_it_was_crawled_stays_as_it_was_read(library: Library) -> None:
    await library.crawl({"a": "crawled"})
    index = library.index()
    read = IndexedDocument(
        url=f"http://{HOST}/a",
        title="",
        description="",
        text="read",
        language="",
        seen_at=NOW / 1000 + 1,
    )
    index.note(library.ground.tenant, read)
    await index.flush()
    await library.catch_up()
    assert (await library.found("crawled"), await library.found("read")) == (set(), {"a"})


async def test_what_is_dropped_before_it_gets_there_never_gets_there(library: Library) -> None:
    tenant, index = library.ground.tenant, library.index()
    paths = ["a", "docs", "docs/b", "docs-old", "start/c", "rest"]
    await library.crawl(dict.fromkeys(paths, "rope"))
    await index.drop(tenant, f"http://{HOST}/a".replace("http:", "https:").replace(":80", ""))
    await index.drop_prefix(tenant, PagePrefix.parse(f"http://{HOST}/docs"))
    await index.drop_prefix(tenant, PagePrefix.parse(f"http://{HOST}/start*"))
    await index.drop_all("01HZZZZZZZZZZZZZZZZZZZZZZB")
    await library.catch_up()
    assert await library.found("rope") == {"docs-old", "rest"}
    await library.crawl({"rest": "rope", "more": "rope"}, now=NOW + SECOND)
    await index.drop_all(tenant)
    later = 4 * 10**12  # after any clock of today
    await library.crawl({"a": "rope"}, now=later)
    await library.catch_up()
    assert await library.found("rope") == set()
    await library.lapse()
    await library.catch_up()
    assert await library.found("rope") == {"a"}


async def test_drops_are_remembered_only_while_something_older_may_come(library: Library) -> None:
    tenant = library.ground.tenant
    await library.crawl({"a": "rope"})

    async def left_at(now: int) -> int:
        async with library.database.write() as connection:
            await search_drops.forget(connection, now=now)
            return await connection.scalar(select(func.count()).select_from(drops)) or 0

    async with library.database.write() as connection:
        await search_drops.add(connection, tenant, search_drops.ALL, now=NOW - SECOND)
        await search_drops.add(connection, tenant, search_drops.ALL, now=NOW + SECOND)
    assert await left_at(NOW) == 2  # a transaction that is under way may be older
    assert await left_at(NOW + 10 * MINUTE) == 1
    await library.catch_up()
    assert await left_at(NOW + MINUTE) == 1
    assert await left_at(NOW + 2 * MINUTE) == 0


async def test_a_batch_is_one_persons_for_a_while_and_longer_each_time(library: Library) -> None:
    await library.crawl({"a": "rope"})
    await library.crawl({"b": "rope"}, now=NOW + SECOND)

    async def taken(now: int, most: int = 5) -> list[int]:
        async with library.database.write() as connection:
            return [batch.crawled_at for batch in await unindexed.take(connection, most, now=now)]

    assert await taken(NOW - 1) == []
    now = NOW + SECOND
    assert await taken(now, 1) == [NOW]
    assert await taken(now) == [NOW + SECOND]
    assert await taken(now + 30 * SECOND - 1) == []
    for pause in (30 * SECOND, MINUTE, 2 * MINUTE):
        now += pause
        assert await taken(now - 1) == []
        assert await taken(now) == [NOW, NOW + SECOND]
    for _ in range(10):
        now += 60 * MINUTE
        assert len(await taken(now)) == 2


async def test_several_take_different_ones_and_none_twice(library: Library, database_url: str) -> None:
    paths = [str(number) for number in range(60)]
    for number in range(0, 60, 2):
        await library.crawl(dict.fromkeys(paths[number : number + 2], f"rope n{number}"), now=NOW + number)
    others = [open_database(database_url) for _ in range(3)]
    stop = asyncio.Event()
    await asyncio.gather(*(library.indexing(each).catch_up(stop) for each in others for _ in range(2)))
    assert await library.counts() == (60, 60, 60, 0)
    for database in others:
        await database.close()


async def test_who_comes_late_writes_nothing(library: Library) -> None:
    """It was done by another, and what it said was dropped since."""
    await library.crawl({"a": "rope"})
    async with library.database.write() as connection:
        (batch,) = await unindexed.take(connection, 1)
    said = IndexedDocument(url=f"http://{HOST}/a", title="", description="", text="", language="", seen_at=0)
    late = IndexedPages(batch, [build_entry(batch.tenant_id, f"https://{HOST}/a", said)])
    await library.lapse()
    await library.catch_up()
    async with library.database.write() as connection:
        await connection.execute(text("DELETE FROM search_words"))
        await connection.execute(search_pages.delete())
    await library.index().add_crawled([late])
    assert (await library.counts())[:2] == (0, 0)


async def test_cut_off_anywhere_nothing_is_lost_or_there_twice(library: Library) -> None:
    for number in range(12):
        await library.crawl({f"{number}/{page}": f"rope n{number}" for page in range(3)}, now=NOW + number)
    for steps in range(1, 40, 3):
        cut = asyncio.create_task(library.catch_up())
        for _ in range(steps):
            await asyncio.sleep(0)
        cut.cancel()
        await asyncio.gather(cut, return_exceptions=True)
        await library.lapse()
    await library.catch_up()
    assert await library.counts() == (36, 36, 36, 0)


async def test_a_large_batch_is_written_in_parts_and_is_done_with_the_last(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "gossamer.state.search.search_index.PAGES_PER_TRANSACTION", {"sqlite": 4, "postgresql": 4}
    )
    sizes = (10, 1, 4, 3, 8)
    for number, size in enumerate(sizes):
        texts = {f"{number}/{page}": f"rope n{number}" for page in range(size)}
        await library.crawl(texts, now=NOW + number)
    cut = asyncio.create_task(library.catch_up())
    async with asyncio.timeout(30):
        while (await library.counts())[0] < 4:
            await asyncio.sleep(0)
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    await library.lapse()
    await library.catch_up()
    assert await library.counts() == (26, 26, 26, 0)
    assert [len(await library.found(f"n{number}")) for number in range(len(sizes))] == list(sizes)


async def test_while_the_bodies_are_away_pages_wait_and_then_go_on(library: Library, tmp_path: Path) -> None:
    await library.crawl({"a": "rope"})
    kept = tmp_path / "blobs"
    kept.rename(tmp_path / "away")
    kept.write_text("no folder")
    with pytest.raises(Unavailable):
        await library.catch_up()
    assert (await library.counts())[3] == 1
    async with library.database.read() as connection:
        assert await connection.scalar(select(waiting.c.attempt)) == 0
    kept.unlink()
    (tmp_path / "away").rename(kept)
    await library.lapse()
    await library.catch_up()
    assert await library.found("rope") == {"a"}


async def test_bodies_that_are_gone_or_damaged_hold_nobody_up(library: Library) -> None:
    await library.crawl({"gone": "rope"})
    await library.crawl({"damaged": "rope " * 50, "whole": "rope"}, now=NOW + SECOND)
    async with library.database.read() as connection:
        names = (await connection.scalars(select(waiting.c.blob).order_by(waiting.c.crawled_at))).all()
    await library.blobs.drop(names[:1])
    whole = await library.blobs.get(names[1])
    assert whole is not None
    async with library.database.read() as connection:
        which = text("SELECT blob_offset FROM crawled_pages WHERE url LIKE '%damaged'")
        at = await connection.scalar(which)
    await library.blobs.put(names[1], whole[:at] + b"????" + whole[at + 4 :])
    await library.catch_up()
    assert await library.found("rope") == {"whole"}
    assert (await library.counts())[3] == 0
    assert "a page is not readable" in library.said.getvalue()


async def test_no_index_lets_nothing_pile_up(library: Library) -> None:
    await library.crawl({"a": "rope"})
    await library.indexing(index=library.index(max_pages=0)).catch_up(asyncio.Event())
    assert await library.counts() == (0, 0, 0, 0)


async def test_pages_without_a_body_and_batches_that_lost_their_lease_are_not_waited_for(
    library: Library,
) -> None:
    ground = library.ground
    await ground.crawl([url(HOST, "a"), url(HOST, "b")])
    (lease,) = await ground.lease()
    one, two = await ground.frontier.take(lease, 2, now=NOW)
    bare = TaskEnd(task=one, page=replace(OK, final_url=one.url))
    assert await ground.frontier.settle(lease, HostSettlement(ends=[bare]), now=NOW)
    late = TaskEnd(task=two, page=replace(OK, final_url=two.url, blob="x"))
    assert not await ground.frontier.settle(lease, HostSettlement(ends=[late]), now=NOW + 2 * LEASE)
    assert (await library.counts())[3] == 0
    assert await ground.rows(strays) == []


async def test_run_goes_on_until_it_is_stopped_and_then_gives_back_what_it_has(library: Library) -> None:
    stop = asyncio.Event()
    running = asyncio.create_task(library.indexing().run(stop))
    await library.crawl({"a": "rope"})
    async with asyncio.timeout(30):
        while await library.found("rope") != {"a"}:
            await asyncio.sleep(0.02)
    stop.set()
    await running
    await library.crawl({"b": "rope"}, now=NOW + SECOND)
    await library.indexing().catch_up(stop)
    assert await library.counts() == (1, 1, 1, 1)
    await upkeep.settle_crawled(library.indexing(), Log(library.said))
    assert await library.counts() == (2, 2, 2, 0)
