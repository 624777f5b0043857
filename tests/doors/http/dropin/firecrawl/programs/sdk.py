# mypy: ignore-errors
"""Everything that people do with firecrawl-py, in its two versions. Prints what it got as JSON."""

import asyncio
import json
import sys

from firecrawl import AsyncFirecrawl, Firecrawl
from firecrawl.v1 import AsyncV1FirecrawlApp, V1FirecrawlApp, V1JsonConfig, V1ScrapeOptions

origin, key, seed, product = sys.argv[1:]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
told = {}


def titles(job):
    return sorted(
        (one.metadata if isinstance(one.metadata, dict) else one.metadata_dict)["title"] for one in job.data
    )


def use_v2():
    client = Firecrawl(api_key=key, api_url=origin)
    page = client.scrape(
        product, formats=["markdown", "html", "links", {"type": "json", "schema": SCHEMA}], timeout=20_000
    )
    told["scrape"] = [
        page.markdown[:11],
        page.json,
        page.metadata.title,
        page.metadata.status_code,
        page.links is not None,
    ]
    told["map"] = sorted(link.url for link in client.map(seed, sitemap="skip").links)
    told["crawl"] = titles(
        client.crawl(seed, limit=10, crawl_entire_domain=True, sitemap="skip", poll_interval=0.1)
    )
    batch = client.batch_scrape(
        [seed, product, "http://no:99999/"], formats=["markdown"], ignore_invalid_urls=True, poll_interval=0.1
    )
    told["batch"] = [batch.status, batch.completed, titles(batch)]
    told["search"] = client.search("silk rope", limit=3).web[0].url
    told["extract"] = client.extract([product], schema=SCHEMA).data
    told["usage"] = [
        type(client.get_credit_usage().remaining_credits).__name__,
        client.get_concurrency().concurrency >= 0,
    ]
    told["queue"] = client.get_queue_status().jobs_in_queue >= 0
    begun = client.start_crawl(seed, limit=5)
    told["active"] = begun.id.split("-")[0] in [
        one.id.split("-")[0] for one in client.get_active_crawls().crawls
    ]
    told["cancel"] = client.cancel_crawl(begun.id)
    told["errors"] = client.get_crawl_errors(begun.id).errors
    try:
        client.scrape("http://127.0.0.1:9/")
    except Exception as error:  # noqa: BLE001
        told["error"] = [type(error).__name__, error.code]
    try:
        Firecrawl(api_key="fc-wrong", api_url=origin).scrape(product)
    except Exception as error:  # noqa: BLE001
        told["stranger"] = type(error).__name__


def watch_v2():
    client = Firecrawl(api_key=key, api_url=origin)
    begun = client.start_crawl(seed, limit=9, crawl_entire_domain=True, sitemap="skip")
    watcher = client.watcher(begun.id, kind="crawl", poll_interval=20, timeout=60)
    seen, ends = [], []
    watcher.add_event_listener("document", lambda event: seen.append(event["data"]["metadata"]["title"]))
    watcher.add_event_listener("done", lambda event: ends.append(event["status"]))
    watcher.start()
    watcher._thread.join(60)
    told["watched"] = [sorted(seen), ends]


async def use_async():
    client = AsyncFirecrawl(api_key=key, api_url=origin)
    page, links, crawl = await asyncio.gather(
        client.scrape(product),
        client.map(seed, sitemap="skip"),
        client.crawl(url=seed, limit=8, crawl_entire_domain=True, sitemap="skip", poll_interval=0.1),
    )
    told["async"] = [page.markdown[:11], len(links.links) >= 3, titles(crawl)]
    begun = await client.start_crawl(url=seed, limit=7, crawl_entire_domain=True, sitemap="skip")
    watcher = client.watcher(begun.id, kind="crawl", poll_interval=20, timeout=60)
    seen = [status.status async for status in watcher]
    told["async watched"] = seen[-1]


def use_v1():
    client = V1FirecrawlApp(api_key=key, api_url=f"{origin}/")
    page = client.scrape_url(product, formats=["markdown", "json"], json_options=V1JsonConfig(schema=SCHEMA))
    told["v1 scrape"] = [page.markdown[:11], page.json_field, page.metadata["statusCode"]]
    told["v1 map"] = sorted(client.map_url(seed, ignore_sitemap=True).links)
    crawl = client.crawl_url(
        seed,
        limit=6,
        allow_backward_links=True,
        ignore_sitemap=True,
        poll_interval=2,
        scrape_options=V1ScrapeOptions(formats=["markdown", "rawHtml"]),
    )
    told["v1 crawl"] = [crawl.status, titles(crawl), all(one.rawHtml for one in crawl.data)]
    batch = client.batch_scrape_urls([product], formats=["markdown"], poll_interval=2)
    told["v1 batch"] = [batch.status, titles(batch)]
    told["v1 search"] = client.search("silk rope", limit=3).data[0]["url"]


async def watch_v1():
    client = V1FirecrawlApp(api_key=key, api_url=origin)
    watcher = client.crawl_url_and_watch(seed, limit=4, allow_backward_links=True, ignore_sitemap=True)
    seen = []
    watcher.add_event_listener("document", lambda event: seen.append(event["data"]["metadata"]["title"]))
    await asyncio.wait_for(watcher.connect(), 60)
    told["v1 watched"] = [sorted(seen), watcher.status]
    page = await AsyncV1FirecrawlApp(api_key=key, api_url=origin).scrape_url(product, formats=["markdown"])
    told["v1 async"] = page.markdown[:11]


use_v2()
watch_v2()
asyncio.run(use_async())
use_v1()
asyncio.run(watch_v1())
json.dump(told, sys.stdout)
