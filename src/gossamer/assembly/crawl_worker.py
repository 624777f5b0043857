"""The worker for crawls, which has processes of its own: a server imports it only if it crawls itself."""

import time
from typing import TYPE_CHECKING

from gossamer.flows.crawl.host import CrawlParts
from gossamer.flows.crawl.plan import Plans
from gossamer.flows.crawl.politeness.gate import Gates
from gossamer.flows.crawl.visiting.fetch import CrawlFetcher
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.page_parser import PageParser
from gossamer.flows.crawl.visiting.page_processor import PageProcessor
from gossamer.flows.crawl.worker import CrawlWorker
from gossamer.flows.crawl.writer import Writer

if TYPE_CHECKING:
    from gossamer.app import Service


def open_crawl_worker(service: "Service") -> CrawlWorker:
    settings, known = service.settings, KnownUrls()
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
            service.database,
            service.frontier,
            service.blobs,
            known,
            service.log,
            service.fetcher.default_headers,
        ),
        log=service.log,
    )
    return CrawlWorker(
        parts,
        service.crawls,
        service.database,
        Gates(service.dialer, shared, settings.crawl_address_connections, settings.egress_allow),
        service.log,
        name=service.worker_name,
        most_hosts=settings.crawl_hosts,
        usual_delay=settings.crawl_delay,
    )
