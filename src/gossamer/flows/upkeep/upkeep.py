"""Upkeep: periodic work in the background, which may be late."""

import asyncio
from functools import partial
from typing import Final

from gossamer.concurrency.periodic import every, ignore
from gossamer.flows.crawl.indexing import Indexing
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.data.removal.retention import Retention
from gossamer.flows.data.warc.importer import CrawlImporter
from gossamer.flows.memory.memory import Memory
from gossamer.flows.sites.bot_reports import BotReports
from gossamer.flows.sites.site_keeper import SiteKeeper
from gossamer.flows.tenants.admit import Admission
from gossamer.flows.tenants.quotas import Quotas
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.db.database import Database
from gossamer.state.jobs import batches, heartbeats
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.search import search_drops
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants import once, sessions, tenants
from gossamer.state.tenants.usage import Usage
from gossamer.state.wakeups.wakeups import Wakeups

EVERY_SECONDS: Final = 60.0
PAGES_EVERY_SECONDS: Final = 5.0
QUOTAS_EVERY_SECONDS: Final = 3.0
QUOTAS_QUIET_SECONDS: Final = 30.0  # while nothing is written; at midnight there is room again
SITES_EVERY_SECONDS: Final = 10.0
INDEXING_SECONDS: Final = 10.0  # how long a command waits for the index
RETRY_SECONDS: Final = 0.5
RETENTION_SECONDS: Final = 600.0


async def keep_clean(database: Database, admission: Admission, log: Log) -> None:
    """Run `clean_up` until cancelled."""
    await every(EVERY_SECONDS, partial(clean_up, database, admission), on_outage=partial(_postpone, log))


async def clean_up(database: Database, admission: Admission) -> None:
    """Delete what has expired, and write down which keys were used."""
    used = admission.take_used()
    async with database.write(quiet=True) as connection:
        await once.forget_expired(connection)
        await sessions.clean_sessions(connection)
        await tenants.touch_keys(connection, used)
        await heartbeats.forget_dead(connection)
        await batches.forget_headers(connection)
        await search_drops.forget(connection)


async def keep_crawling(
    crawls: Crawls, frontier: Frontier, deleter: Deleter, importer: CrawlImporter, log: Log
) -> None:
    """Until cancelled: give back what a lost worker had taken, wake crawls that a crash left asleep, remove
    those whose import was lost, and queue deletions that have lost their jobs."""

    async def recover() -> None:
        await frontier.recover()
        await crawls.rouse()
        await importer.clean_up()
        await deleter.resume()

    await every(EVERY_SECONDS, recover, on_outage=partial(_postpone, log))


async def keep_quotas(quotas: Quotas, wakeups: Wakeups, log: Log) -> None:
    """Until cancelled: pause the crawls of tenants that have used up a quota, and let others go on."""
    with wakeups.looking(QUOTAS_QUIET_SECONDS) as rest:
        await every(QUOTAS_EVERY_SECONDS, quotas.hold_crawls, on_outage=partial(_postpone, log), rest=rest)


async def keep_memory(memory: Memory, log: Log) -> None:
    """Until cancelled: remove entries of memory whose time is over."""

    async def sweep() -> None:
        removed = await memory.sweep()
        if removed:
            log.info("memory_swept", "removed entries whose time is over", entries=removed)

    await every(EVERY_SECONDS, sweep, on_outage=partial(_postpone, log))


async def keep_in_time(retention: Retention, log: Log) -> None:
    """Until cancelled: remove what was kept long enough."""

    async def enforce() -> None:
        removed = {name: number for name, number in (await retention.enforce()).items() if number}
        if removed:
            log.info("retention", "removed what was kept long enough", removed=removed)

    await every(RETENTION_SECONDS, enforce, on_outage=partial(_postpone, log))


async def keep_indexed(index: SearchIndex, log: Log) -> None:
    """Write the words of the pages that are read into the index, until cancelled."""
    await every(PAGES_EVERY_SECONDS, index.flush, on_outage=partial(_postpone, log))


async def settle_index(index: SearchIndex, log: Log) -> None:
    """Write the words of the pages that were read, at a clean stop: what is not written now is lost."""

    async def write() -> bool:
        await index.flush()
        return False

    try:
        async with asyncio.timeout(INDEXING_SECONDS):
            await every(RETRY_SECONDS, write, at_once=True, on_outage=ignore)
    except TimeoutError:
        pass
    finally:
        if index.noted:
            log.warning(
                "search_notes_lost", "pages that were read are not in the search index", pages=index.noted
            )


async def settle_crawled(indexing: Indexing, log: Log) -> None:
    """Index pages that a command crawled. The next process indexes those that are left when time is up."""
    try:
        async with asyncio.timeout(INDEXING_SECONDS):
            await indexing.catch_up(asyncio.Event())
    except TimeoutError:
        log.debug("indexing_postponed", "not all that was crawled is in the index yet")
    except Unavailable as away:
        _postpone(log, away)


async def keep_counts(pages: PageCache, usage: Usage, log: Log) -> None:
    """Write the counts of pages from memory, until cancelled."""

    async def flush() -> None:
        await usage.flush()
        await pages.flush()

    await every(PAGES_EVERY_SECONDS, flush, on_outage=partial(_postpone, log))


async def keep_pages(pages: PageCache, wakeups: Wakeups, log: Log) -> None:
    """Repair the page cache, and hear what other processes have changed, until cancelled."""

    async def repair() -> None:
        await pages.repair()
        await pages.hear_news()

    with wakeups.looking() as rest:
        await every(PAGES_EVERY_SECONDS, repair, on_outage=partial(_postpone, log), rest=rest)


async def settle_pages(pages: PageCache, usage: Usage, log: Log) -> None:
    """Write counts from memory, and repair the page cache: at a clean stop, all at once."""
    try:
        await usage.flush()
        await pages.flush()
        await pages.repair()
        await pages.hear_news()
    except Unavailable as away:
        _postpone(log, away)


async def keep_visits(reports: BotReports, log: Log) -> None:
    """Run `settle_sites` until cancelled."""
    await every(SITES_EVERY_SECONDS, partial(settle_sites, reports, log))


async def keep_sites(keeper: SiteKeeper, wakeups: Wakeups, log: Log) -> None:
    """Look for the proofs of sites again, until cancelled."""

    async def recheck() -> None:
        await keeper.recheck_due()

    with wakeups.looking() as rest:
        await every(SITES_EVERY_SECONDS, recheck, on_outage=partial(_postpone, log), rest=rest)


async def settle_sites(reports: BotReports, log: Log) -> None:
    """Write counts from memory. Also runs at a clean stop."""
    try:
        await reports.flush()
    except Unavailable as away:
        _postpone(log, away)


def _postpone(log: Log, away: Unavailable) -> None:
    log.warning("upkeep_postponed", "upkeep will be tried again", why=away.detail)
