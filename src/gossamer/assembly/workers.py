"""The workers of a service: one for jobs, one for crawls."""

import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from gossamer.concurrency.loop_turns import LoopTurns
from gossamer.doors.worker.kinds import handlers
from gossamer.doors.worker.worker import Worker
from gossamer.flows.batch.batch_job import BatchRunner
from gossamer.flows.crawl.host import CrawlParts
from gossamer.flows.crawl.plan import Plans
from gossamer.flows.crawl.politeness.gate import Gates
from gossamer.flows.crawl.visiting.fetch import CrawlFetcher
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.page_parser import PageParser
from gossamer.flows.crawl.visiting.page_processor import PageProcessor
from gossamer.flows.crawl.worker import CrawlWorker
from gossamer.flows.crawl.writer import Writer
from gossamer.flows.render.render_job import RenderWork

if TYPE_CHECKING:
    from gossamer.app import Service

PAGES_A_TURN: Final = 4  # that are processed before anything else is heard,
HURRIED: Final = 1  # and while others wait for the locks of a transaction
WORK_SHARE: Final = 0.8  # of the drain time, in which jobs may run; in the rest they are given back


def open_worker(service: "Service", kinds: Collection[str]) -> Worker:
    settings = service.settings
    rendering = RenderWork(
        service.renderer,
        service.page_cache,
        service.limits,
        service.usage,
        service.render_pace,
        service.render_failures,
        service.job_waiter,
    )
    batches = BatchRunner(
        service.batcher, service.reader, service.database, service.batch_lines, settings.upgrade_url
    )
    stored = (service.deleter, service.archive_restorer, service.replayer, service.crawl_importer)
    rendered = (rendering, service.warmer, service.site_warmer, service.site_comparer)
    work = (service.auditor, *rendered, batches, service.monitor_checker, *stored)
    return Worker(
        service.jobs,
        handlers(*work, places=settings.browser_places, kinds=kinds),
        name=service.worker_name,
        log=service.log,
        metrics=service.metrics,
        stop_seconds=settings.drain_seconds * WORK_SHARE,
    )


def open_crawl_worker(service: "Service") -> CrawlWorker:
    settings, known, database = service.settings, KnownUrls(), service.database
    shared = service.hot if settings.is_hot_shared else None
    parts = CrawlParts(
        frontier=service.frontier,
        hosts=service.hosts,
        plans=Plans(service.crawls, time.monotonic, service.rule_finder.open),
        batcher=service.frontier_batcher,
        robots=service.robots_files,
        fetcher=CrawlFetcher(service.fetcher, service.browsing),
        parser=PageParser(service.crawl_parsers, settings.user_agent),
        processor=PageProcessor(known, settings.user_agent),
        writer=Writer(
            database,
            service.frontier,
            service.blobs,
            known,
            service.log,
            service.fetcher.default_headers,
        ),
        turns=LoopTurns(lambda: HURRIED if database.is_conversing else PAGES_A_TURN),
        log=service.log,
    )
    return CrawlWorker(
        parts,
        service.crawls,
        database,
        Gates(service.dialer, shared, settings.crawl_address_connections, settings.egress_allow),
        service.log,
        name=service.worker_name,
        most_hosts=settings.crawl_hosts,
        usual_delay=settings.crawl_delay,
    )
