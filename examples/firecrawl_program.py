"""A program that was written for Firecrawl, with one line changed: the address.

Before:  client = Firecrawl(api_key=key)
After:   client = Firecrawl(api_key=key, api_url=server)

The key is one of your Gossamer. docs/coming-from/firecrawl.md says what works and what differs.

    pip install firecrawl-py
    export GOSSAMER_SERVER=http://127.0.0.1:8080 GOSSAMER_KEY=sk_live_…
    python firecrawl_program.py https://example.com/
"""

import os
import sys

from firecrawl import Firecrawl
from firecrawl.v2.types import JsonFormat

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}, "description": {"type": "string"}}}


def main(url: str) -> int:
    key, server = os.environ["GOSSAMER_KEY"], os.environ.get("GOSSAMER_SERVER", "http://127.0.0.1:8080")
    client = Firecrawl(api_key=key, api_url=server)

    page = client.scrape(url, formats=["markdown", JsonFormat(type="json", schema=SCHEMA)])
    print((page.markdown or "").partition("\n")[0])
    print(page.json)

    for link in client.map(url, limit=100).links[:5]:
        print("link", link.url)

    job = client.crawl(url, limit=5, crawl_entire_domain=True)
    for document in job.data:
        print("page", document.metadata.source_url, len(document.markdown or ""))
    return 0 if job.status == "completed" else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
