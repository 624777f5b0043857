"""Crawl4AI's HTTP mode: no browser, no cache, its default markdown. It has an environment of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from crawl4ai import (  # type: ignore[import-not-found]  # no dependency of ours
    AsyncWebCrawler,
    CacheMode,
    CrawlerRunConfig,
)
from crawl4ai.__version__ import __version__  # type: ignore[import-not-found]
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy  # type: ignore[import-not-found]

from bench.contenders.worker import ReadAsync, serve_tasks


@asynccontextmanager
async def reader() -> AsyncIterator[ReadAsync]:
    config = CrawlerRunConfig(cache_mode=CacheMode.BYPASS, verbose=False)
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy()) as crawler:

        async def read(url: str) -> str:
            result = await crawler.arun(url, config)
            if not result.success:
                raise RuntimeError(f"{url} was not fetched: {result.error_message}")
            return str(result.markdown.raw_markdown)

        yield read


if __name__ == "__main__":
    serve_tasks(__version__, reader())
