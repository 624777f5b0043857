# mypy: disable-error-code="import-not-found,untyped-decorator,misc"
"""Crawlee for Python with its Parsel crawler; its queue in memory, which is the fastest that it has."""

import asyncio
import logging
import os
from datetime import timedelta

from crawlee import ConcurrencySettings
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

from bench.crawlers.store import Seeds, Store, told

TEXT = "//body//text()[not(ancestor::script or ancestor::style)]"
AT_ONCE = 32


async def crawl(seeds: Seeds, store: Store) -> None:
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        configuration=Configuration(available_memory_ratio=0.9),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=AT_ONCE, desired_concurrency=AT_ONCE, max_concurrency=AT_ONCE
        ),
        respect_robots_txt_file=True,
        max_request_retries=0,
        configure_logging=False,
        status_message_logging_interval=timedelta(hours=1),
    )

    @crawler.router.default_handler
    async def keep(context: ParselCrawlingContext) -> None:
        page = context.selector
        body = await context.http_response.read()
        links = await context.extract_links(strategy="same-hostname")
        store.add(
            context.request.loaded_url or context.request.url,
            context.http_response.status_code,
            page.xpath("//title/text()").get(""),
            page.xpath("//meta[@name='description']/@content").get(""),
            len(links),
            " ".join(page.xpath(TEXT).getall()),
            body,
        )
        await context.add_requests(links)

    await crawler.run(seeds.urls)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    folder, seeds = told()
    os.chdir(folder)
    with Store(folder) as store:
        asyncio.run(crawl(seeds, store))
