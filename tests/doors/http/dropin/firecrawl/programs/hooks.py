# mypy: ignore-errors
"""Jobs of firecrawl-py that tell a receiver, given as an address alone and with options."""

import json
import os
import sys

from firecrawl import Firecrawl
from firecrawl.v2.types import ScrapeOptions, WebhookConfig

origin, key, seed, product = sys.argv[1:]
client = Firecrawl(api_key=key, api_url=origin)
hook = WebhookConfig(
    url=os.environ["HOOK"],
    headers={"X-Team": "spiders"},
    metadata={"order": "7"},
    events=["started", "page", "completed"],
)
crawl = client.start_crawl(
    seed,
    limit=10,
    crawl_entire_domain=True,
    sitemap="skip",
    webhook=hook,
    scrape_options=ScrapeOptions(formats=["markdown", "links"]),
)
batch = client.start_batch_scrape([product], formats=["html"], webhook=os.environ["HOOK"])
print(json.dumps({"crawl": crawl.id, "batch": batch.id}))
