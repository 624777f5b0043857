"""Stored pages are read without what recurs on the pages of their host."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bench.site_pages import SITES
from msgspec.structs import replace
from tests.contract.crawl.crawl_ground import NOW, Ground, page, urls

from gossamer.flows.crawl.content import pack
from gossamer.flows.crawl.reading.results import CrawlResults, WantedContent
from gossamer.flows.crawl.reading.site_memories import SiteMemories
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs, open_blobs
from gossamer.state.crawl.crawled_pages import PageFilter
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.reading import host_sample
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.db.database import Database
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading_options import ReadingOptions

SITE = SITES[0].pages
HTML = "text/html"


@pytest.fixture
async def blobs(tmp_path: Path) -> AsyncIterator[Blobs]:
    opened = open_blobs(f"file://{tmp_path}", {})
    yield opened
    await opened.close()


@pytest.fixture
async def parsers() -> AsyncIterator[ParserPool]:
    opened = ParserPool(1)
    yield opened
    await opened.close()


async def store(
    ground: Ground, blobs: Blobs, count: int, crawl: Crawl | None = None, *, now: int = NOW
) -> Crawl:
    """Store pages of the site."""
    crawl = crawl or await ground.crawl(urls("a:80", count))
    (lease,) = await ground.lease(now=now)
    tasks = await ground.frontier.take(lease, count, now=now)
    bodies = [SITE[at % len(SITE)].html.encode() for at in range(len(tasks))]
    answers = [
        Page(
            url=task.url,
            final_url=task.url,
            status=200,
            headers=(),
            body=body,
            media_type=HTML,
            charset="utf-8",
        )
        for task, body in zip(tasks, bodies, strict=True)
    ]
    made = pack(answers, now / 1000)
    async with ground.database.write() as connection:
        await orphan_blobs.register(connection, made.name, now=now)
    await blobs.put(made.name, made.body)
    ends = []
    for task, place in zip(tasks, made.places, strict=True):
        row = replace(page(task, content_type=HTML, outcome="ok"), content_hash="known", blob=place.blob)
        ends.append(TaskEnd(task=task, page=replace(row, blob_offset=place.offset, blob_size=place.size)))
    assert await ground.frontier.settle(lease, HostSettlement(ends=ends), blobs=[made.name], now=now)
    await ground.hosts.release(lease, now=now)
    return crawl


async def read(results: CrawlResults, crawl: Crawl, wanted: WantedContent) -> list[str]:
    found = await results.listing(PageFilter(crawl_id=crawl.id), None, 100)
    return [shown.content or "" async for shown in results.read(found, wanted)]


@pytest.mark.parametrize("count", [3, 12])
async def test_stored_pages_are_read_without_what_recurs_once_there_are_enough(
    database: Database, blobs: Blobs, parsers: ParserPool, count: int
) -> None:
    ground = await Ground.on(database)
    crawl = await store(ground, blobs, count)
    memories = SiteMemories(database, blobs, parsers)
    results = CrawlResults(database, ground.crawls, blobs, parsers, memories)
    letter, own = SITE[0].site_wide[2], SITE[0].own.splitlines()[1]
    texts = await read(results, crawl, WantedContent("text"))
    assert [letter in text for text in texts] == [count < 4] * count
    assert any(own in text for text in texts)
    whole = WantedContent("text", ReadingOptions(main_content=False))
    assert all(letter in text for text in await read(results, crawl, whole))


async def test_a_sample_is_spread_over_the_crawl_and_bounded(database: Database, blobs: Blobs) -> None:
    ground = await Ground.on(database)
    crawl = await ground.crawl(urls("a:80", 60))
    for at in range(6):
        await store(ground, blobs, 10, crawl, now=NOW + at * 60_000)
    async with database.read() as connection:
        sample = await host_sample.take(connection, crawl.id, "a:80")
        assert await host_sample.take(connection, crawl.id, "b:80") == []
    assert len(sample) == len({one.url_hash for one in sample}) == host_sample.SAMPLE
    assert len({one.blob for one in sample}) >= host_sample.GROUPS - 1
