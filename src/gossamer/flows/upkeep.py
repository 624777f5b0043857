"""Upkeep: what has to be done now and then, and may be late."""

import asyncio
from typing import Final

from gossamer.flows.admit import Admission
from gossamer.flows.crawl.indexing import Indexing
from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.state import batches, heartbeats, job_table, once, search_drops, tenants
from gossamer.state.crawls import Crawls
from gossamer.state.database import Database
from gossamer.state.frontier import Frontier
from gossamer.state.page_cache import PageCache
from gossamer.state.search_index import SearchIndex
from gossamer.state.usage import Usage

EVERY_SECONDS: Final = 60.0
PAGES_EVERY_SECONDS: Final = 5.0
INDEXING_SECONDS: Final = 10.0  # for which somebody waits
JOB_DAYS: Final = 30.0


async def keep_up(database: Database, admission: Admission, log: Log) -> None:
    """Run until cancelled; whatever is away now is asked again next time."""
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        try:
            await once_over(database, admission)
        except Unavailable as away:
            log.warning("upkeep_postponed", "upkeep will be tried again", why=away.detail)


async def once_over(database: Database, admission: Admission) -> None:
    """Forget what has expired, a batch at a time; write down which keys were used."""
    used = admission.take_used()
    async with database.write() as connection:
        await once.forget_expired(connection)
        await tenants.touch_keys(connection, used)
        await heartbeats.forget_dead(connection)
        await job_table.forget_old(connection, days=JOB_DAYS)
        await batches.forget(connection)
        await batches.forget_headers(connection)
        await search_drops.forget(connection)


async def keep_crawling(crawls: Crawls, frontier: Frontier, log: Log) -> None:
    """Run until cancelled: give back what a lost worker had taken, and wake what a crash has left asleep."""
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        try:
            await frontier.recover()
            await crawls.rouse()
        except Unavailable as away:
            log.warning("upkeep_postponed", "upkeep will be tried again", why=away.detail)


async def keep_indexed(index: SearchIndex, log: Log) -> None:
    """Run until cancelled: write down the words of the pages that were read."""
    while True:
        await asyncio.sleep(PAGES_EVERY_SECONDS)
        await settle_index(index, log)


async def settle_index(index: SearchIndex, log: Log) -> None:
    """The same, once."""
    try:
        await index.flush()
    except Unavailable as away:
        log.warning("upkeep_postponed", "upkeep will be tried again", why=away.detail)


async def settle_crawled(indexing: Indexing, log: Log) -> None:
    """For who crawls without a server: what was crawled gets into the index now, or by who comes next."""
    try:
        async with asyncio.timeout(INDEXING_SECONDS):
            await indexing.catch_up(asyncio.Event())
    except TimeoutError:
        log.debug("indexing_postponed", "not all that was crawled is in the index yet")
    except Unavailable as away:
        log.warning("upkeep_postponed", "upkeep will be tried again", why=away.detail)


async def tend(pages: PageCache, usage: Usage, log: Log) -> None:
    """Run until cancelled: write down what was counted in memory, mend what is broken in the cache."""
    while True:
        await asyncio.sleep(PAGES_EVERY_SECONDS)
        await settle(pages, usage, log)


async def settle(pages: PageCache, usage: Usage, log: Log) -> None:
    """The same, once. Also called at the end, so that after a clean stop nothing is uncounted."""
    try:
        await usage.flush()
        await pages.flush()
        await pages.repair()
        await pages.hear_news()
    except Unavailable as away:
        log.warning("upkeep_postponed", "upkeep will be tried again", why=away.detail)
