# mypy: disable-error-code="import-not-found,untyped-decorator,misc"
"""Crawlee for Python with its Parsel crawler; its queue in memory, which is the fastest that it has."""

import asyncio
import logging
import os
from datetime import timedelta
from urllib.parse import urldefrag, urljoin

from crawlee import ConcurrencySettings, RequestOptions, RequestTransformAction
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from parsel import Selector

from bench.crawlers.store import KeptLink, KeptPage, Seeds, Store, told, untracked

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
        configure_logging=False,
        status_message_logging_interval=timedelta(hours=1),
    )

    @crawler.router.default_handler
    async def keep(context: ParselCrawlingContext) -> None:
        page = context.selector
        body = await context.http_response.read()
        links = await context.extract_links(strategy="same-hostname", transform_request_function=_untracked)
        url = context.request.loaded_url or context.request.url
        store.add(
            KeptPage(
                url=url,
                status=context.http_response.status_code,
                headers=dict(context.http_response.headers),
                body=body,
                title=page.xpath("//title/text()").get(""),
                description=page.xpath("//meta[@name='description']/@content").get(""),
                language=page.xpath("/html/@lang").get(""),
                text=" ".join(page.xpath(TEXT).getall()),
                links=[_kept(url, link) for link in page.css("a[href]")],
            )
        )
        await context.add_requests(links)

    await crawler.run(seeds.urls)


def _kept(url: str, link: Selector) -> KeptLink:
    target = untracked(urldefrag(urljoin(url, link.attrib["href"])).url)
    return target, link.xpath("string()").get(""), link.attrib.get("rel", "")


def _untracked(options: RequestOptions) -> RequestOptions | RequestTransformAction:
    options["url"] = untracked(options["url"])
    return options


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    folder, seeds = told()
    os.chdir(folder)
    with Store(folder) as store:
        asyncio.run(crawl(seeds, store))
