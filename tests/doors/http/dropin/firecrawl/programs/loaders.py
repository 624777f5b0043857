# mypy: ignore-errors
"""LangChain's and LlamaIndex' loaders. Prints what they loaded as JSON."""

import json
import sys

from langchain_community.document_loaders import FireCrawlLoader
from llama_index.readers.web import FireCrawlWebReader

origin, key, seed, product = sys.argv[1:]
CRAWL = {"crawl_entire_domain": True, "sitemap": "skip", "poll_interval": 0.1}
told = {}


def load(mode, url=None, **params):
    loader = FireCrawlLoader(url=url, api_key=key, api_url=origin, mode=mode, params=params)
    return loader.load()


def read(mode, params, **asked):
    return FireCrawlWebReader(api_key=key, api_url=origin, mode=mode, params=params).load_data(**asked)


told["langchain scrape"] = load("scrape", product)[0].page_content[:11]
told["langchain crawl"] = sorted(page.metadata["title"] for page in load("crawl", seed, **CRAWL, limit=31))
told["langchain map"] = [page.page_content for page in load("map", seed, sitemap="skip")]
told["langchain search"] = [
    page.metadata.get("url")
    for page in FireCrawlLoader(query="silk rope", api_key=key, api_url=origin, mode="search").load()
]
told["llamaindex scrape"] = read("scrape", {"formats": ["markdown"]}, url=product)[0].text[:11]
crawled = read("crawl", {**CRAWL, "limit": 32}, url=seed)
told["llamaindex crawl"] = len(crawled)
told["llamaindex map"] = [page.metadata.get("url") for page in read("map", {"sitemap": "skip"}, url=seed)]
told["llamaindex search"] = [page.text for page in read("search", {"limit": 3}, query="silk rope")]
json.dump(told, sys.stdout)
