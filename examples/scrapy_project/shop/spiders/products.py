"""Products of a shop whose pages are made by scripts."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.http import Response

RENDERED = {"gossamer": {"render": True, "waitForSelector": "h1"}}


class ProductsSpider(scrapy.Spider):
    name = "products"

    def __init__(self, start: str, **options: Any) -> None:
        super().__init__(**options)
        self.start_url = start

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request(self.start_url, self.parse_list)  # by Scrapy itself

    def parse_list(self, response: Response) -> Iterator[scrapy.Request]:
        for link in response.css("a.product"):
            yield response.follow(link, self.parse_product, meta=RENDERED)

    def parse_product(self, response: Response) -> Iterator[dict[str, Any]]:
        if "gossamer:ok" not in response.flags:  # a captcha, a login: not the product
            self.logger.warning("%s is not the page: %s", response.url, response.flags)
            return
        yield {
            "url": response.url,
            "name": response.css("h1::text").get(),
            "price": response.css(".price::text").get(),
        }
