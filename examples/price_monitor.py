"""A price monitor: reads product pages, compares them with the last run, and prints what has changed.

It needs no server. The last run is kept in a file. Run it by cron; it exits with 1 if a page could not be
read.

    python price_monitor.py prices.json https://shop.example.com/rope https://shop.example.com/net
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import gossamer

FIELDS = {"name": "string", "price": "number", "currency": "string", "availability": "string"}


def main(file: Path, urls: list[str]) -> int:
    before: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.exists() else {}
    now, failed = dict(before), 0
    with gossamer.open_sync() as web:
        for url in urls:
            try:
                now[url] = read(web, url)
            except gossamer.GossamerError as error:  # what was known of it stays
                print(f"{url}: {error}", file=sys.stderr)
                failed += 1
    for url in urls:
        for change in changes(before.get(url), now.get(url, {})):
            print(f"{now[url].get('name') or url}: {change}")
    unfinished = file.with_suffix(".new")
    unfinished.write_text(json.dumps(now, indent=2, ensure_ascii=False))
    os.replace(unfinished, file)  # so that the file is never half of one
    return 1 if failed else 0


def read(web: gossamer.SyncClient, url: str) -> dict[str, Any]:
    """The data of a product. A page without a price, such as a captcha, is an error."""
    found = web.extract(url, fields=FIELDS, render="auto", model=False)
    data: dict[str, Any] = dict(found.data)
    if data.get("price") is None:
        raise gossamer.GossamerError(f"There is no price on the page ({found.outcome})", code="NO_PRICE")
    return data


def changes(before: dict[str, Any] | None, now: dict[str, Any]) -> list[str]:
    if before is None:
        return [f"new, {now['price']} {now.get('currency') or ''}".rstrip()] if now else []
    return [
        f"{field} {before.get(field)} → {now.get(field)}"
        for field in FIELDS
        if before.get(field) != now.get(field)
    ]


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
