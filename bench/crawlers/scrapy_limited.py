# mypy: disable-error-code="import-not-found,untyped-decorator,misc"
"""Scrapy as its documentation has it, with a limit of depth and of pages."""

import sys

from scrapy.crawler import CrawlerProcess

from bench.crawlers.scrapy_idiomatic import SETTINGS, Pages
from bench.crawlers.store import told

if __name__ == "__main__":
    depth, most = (int(text) for text in sys.argv[3:5])
    limits = {"DEPTH_LIMIT": depth, "CLOSESPIDER_PAGECOUNT": most}
    process = CrawlerProcess({**SETTINGS, **limits})
    process.crawl(Pages, seeds=told()[1])
    process.start()
