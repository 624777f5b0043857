# mypy: disable-error-code="import-not-found,import-untyped"
"""spider-rs for Node fetches and follows links; lxml takes the pages apart, as in tuned Scrapy.

Its own package gives bodies, and neither texts nor a database to keep them in."""

import json
import subprocess
import sys
from pathlib import Path

from bench.crawlers.lxml_page import take_apart
from bench.crawlers.store import Store, told

SCRIPT = Path(__file__).with_suffix(".cjs")


def crawl(seeds: str, store: Store) -> None:
    with subprocess.Popen(["node", str(SCRIPT), seeds], stdout=subprocess.PIPE, bufsize=1 << 20) as spider:
        assert spider.stdout is not None
        for line in spider.stdout:
            about = json.loads(line)
            body = spider.stdout.read(about["size"])
            if body and about["headers"].get("content-type", "").startswith("text/html"):
                store.add(take_apart(about["url"], about["status"], about["headers"], body, "utf-8"))
    if spider.returncode:
        raise SystemExit(spider.returncode)


if __name__ == "__main__":
    folder, _ = told()
    with Store(folder) as store:
        crawl(sys.argv[2], store)
