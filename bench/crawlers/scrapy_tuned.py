# mypy: disable-error-code="import-not-found,untyped-decorator,import-untyped,misc"
"""Scrapy as fast as it goes without leaving it: uvloop, lxml in place of selectors, a set of strings in
place of request fingerprints, and no middleware that this crawl has no use for."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse

from bench.crawlers.lxml_page import take_apart
from bench.crawlers.store import Seeds, Store, told


class Pages(scrapy.Spider):
    name = "pages"

    def __init__(self, seeds: Seeds, store: Store) -> None:
        super().__init__()
        self._seeds = seeds
        self._store = store
        self._seen = set(seeds.urls)

    async def start(self) -> AsyncIterator[Any]:
        for url in self._seeds.urls:
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        if not isinstance(response, TextResponse) or not response.body:
            return
        headers = dict(response.headers.to_unicode_dict())
        page = take_apart(response.url, response.status, headers, response.body, response.encoding)
        self._store.add(page)
        for link in {url for url, _, _ in page.links} - self._seen:
            if urlsplit(link).netloc in self._seeds.hosts:
                self._seen.add(link)
                yield scrapy.Request(link, dont_filter=True)


SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "HTTPCACHE_ENABLED": False,
    "DOWNLOADER_STATS": False,
    "DEPTH_STATS_VERBOSE": False,
    "EXTENSIONS": {
        "scrapy.extensions.memusage.MemoryUsage": None,
        "scrapy.extensions.logstats.LogStats": None,
        "scrapy.extensions.corestats.CoreStats": None,
    },
    "SPIDER_MIDDLEWARES": {
        "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
        "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
        "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    },
}

if __name__ == "__main__":
    folder, seeds = told()
    with Store(folder) as store:
        process = CrawlerProcess(SETTINGS)
        process.crawl(Pages, seeds=seeds, store=store)
        process.start()
