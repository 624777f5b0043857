# mypy: disable-error-code="import-not-found,untyped-decorator,misc"
"""Scrapy as its documentation has it: a LinkExtractor, selectors, an item pipeline."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor

from bench.crawlers.store import KeptPage, Seeds, Store, told, untracked

TEXT = "//body//text()[not(ancestor::script or ancestor::style)]"


class Keeping:
    """The pipeline."""

    def open_spider(self) -> None:
        self._store = Store(told()[0])

    def close_spider(self) -> None:
        self._store.__exit__(None, None, None)

    def process_item(self, item: KeptPage) -> KeptPage:
        self._store.add(item)
        return item


class Pages(scrapy.Spider):
    name = "pages"

    def __init__(self, seeds: Seeds) -> None:
        super().__init__()
        self._seeds = seeds
        self._links = LinkExtractor(process_value=untracked)

    async def start(self) -> AsyncIterator[Any]:
        for url in self._seeds.urls:
            yield scrapy.Request(url)

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        if not isinstance(response, TextResponse):
            return
        links = self._links.extract_links(response)
        yield KeptPage(
            url=response.url,
            status=response.status,
            headers=dict(response.headers.to_unicode_dict()),
            body=response.body,
            title=response.xpath("//title/text()").get(""),
            description=response.xpath("//meta[@name='description']/@content").get(""),
            language=response.xpath("/html/@lang").get(""),
            text=" ".join(response.xpath(TEXT).getall()),
            links=[(link.url, link.text, "nofollow" if link.nofollow else "") for link in links],
        )
        for link in links:
            if urlsplit(link.url).netloc in self._seeds.hosts:
                yield response.follow(link)


SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": 32,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "ITEM_PIPELINES": {Keeping: 300},
}

if __name__ == "__main__":
    process = CrawlerProcess(SETTINGS)
    process.crawl(Pages, seeds=told()[1])
    process.start()
