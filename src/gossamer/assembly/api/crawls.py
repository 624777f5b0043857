"""Crawls and their pages."""

import time
from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import EndpointGroup
from gossamer.doors.http.api.crawl.crawl_events import CrawlEventsEndpoints
from gossamer.doors.http.api.crawl.crawl_graph import CrawlGraphEndpoints
from gossamer.doors.http.api.crawl.crawl_guide import CrawlGuideEndpoints
from gossamer.doors.http.api.crawl.crawl_page_links import PageLinksEndpoints
from gossamer.doors.http.api.crawl.crawl_pages import CrawlPagesEndpoints
from gossamer.doors.http.api.crawl.crawl_preview import CrawlPreviewEndpoints
from gossamer.doors.http.api.crawl.crawl_refresh import CrawlRefreshEndpoints
from gossamer.doors.http.api.crawl.crawl_stats import StatsEndpoints
from gossamer.doors.http.api.crawl.crawls import CrawlsEndpoints
from gossamer.doors.http.api.crawl.domains import DomainsEndpoints
from gossamer.doors.http.api.crawl.frontier import FrontierEndpoints
from gossamer.doors.http.api.upkeep.crawl_export import CrawlExportEndpoints
from gossamer.doors.http.api.upkeep.crawl_import import CrawlImportEndpoints
from gossamer.flows.crawl.reading.crawl_guide import CrawlGuides
from gossamer.flows.crawl.reading.links_in import LinksInFinder
from gossamer.flows.data.warc.exporter import CrawlExporter

if TYPE_CHECKING:
    from gossamer.app import Service


class CrawlApi(EndpointGroup):
    def __init__(self, service: "Service") -> None:
        crawls, control = service.crawls, service.crawl_control
        pages = CrawlPagesEndpoints(crawls, service.crawl_results)
        self.crawls = CrawlsEndpoints(
            crawls, service.seeder, control, service.deleter, service.subscriber, service.crawl_refresher
        )
        self.crawl_pages = pages
        self.page_links = PageLinksEndpoints(pages, LinksInFinder(service.crawl_results, service.kept_links))
        self.crawl_refresh = CrawlRefreshEndpoints(crawls, pages, service.crawl_refresher)
        self.crawl_events = CrawlEventsEndpoints(crawls, service.crawl_feed)
        self.crawl_preview = CrawlPreviewEndpoints(service.crawl_previewer, service.seeder)
        self.crawl_guide = CrawlGuideEndpoints(crawls, CrawlGuides(service.crawl_results))
        self.crawl_export = CrawlExportEndpoints(
            crawls, CrawlExporter(service.crawl_results, service.kept_links)
        )
        self.crawl_graph = CrawlGraphEndpoints(crawls, service.crawl_graphs)
        self.crawl_import = CrawlImportEndpoints(service.crawl_importer, service.settings.import_bytes)
        self.domains = DomainsEndpoints(crawls, service.hosts, control)
        self.stats = StatsEndpoints(crawls, service.crawl_stats, time.time)
        self.frontier = FrontierEndpoints(crawls, service.frontier, service.seeder, control)
