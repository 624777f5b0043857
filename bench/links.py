"""Links: what it costs a crawl to keep the links and heads of its pages, in bytes and in CPU.

Pages of documentation that is installed go through what a crawl does after a fetch, in this process: parse,
judge, and pack a batch for its blob, once without and once with the section of links. CPU is the best of
several rounds.
"""

import argparse
import hashlib
import time
from collections.abc import Callable, Sequence
from glob import glob
from pathlib import Path
from typing import Any, Final

from bench.table import save, table, this_machine
from gossamer.flows.crawl.content import PackedPages, pack
from gossamer.flows.crawl.plan import MAX_ALIKE, CrawlPlan
from gossamer.flows.crawl.seeds import new_url
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.page_processor import PageProcessor
from gossamer.flows.crawl.visiting.visit import Visited
from gossamer.flows.crawl.writer import pack_visits
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.settling import CrawlTask
from gossamer.web.crawl.fingerprint import Neighbours
from gossamer.web.crawl.progress import NO_COUNTS
from gossamer.web.crawl.scope import Scope
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.pages.page import Page
from gossamer.web.robots.robots import Robots
from gossamer.web.url.url import Url

HOST: Final = "https://docs.test/"
AT_ONCE: Final = 40  # pages in a blob: what a worker stores at a time while it is busy
REQUEST: Final = (("user-agent", "Gossamer"), ("accept", "text/html"), ("accept-encoding", "gzip, br, zstd"))
HEADERS: Final = (
    ("server", "nginx/1.26.0"),
    ("date", "Wed, 18 Nov 2026 06:00:00 GMT"),
    ("content-type", "text/html; charset=utf-8"),
    ("last-modified", "Tue, 17 Nov 2026 06:00:00 GMT"),
    ("etag", '"655f2d1c-4f3a"'),
    ("cache-control", "max-age=600"),
)
SITES: Final = {
    "python3-doc": "/usr/share/doc/python3*-doc/html",
    "postgresql-doc": "/usr/share/doc/postgresql-doc-*/html",
    "git-doc": "/usr/share/doc/git-doc",
    "openjdk-17-doc": "/usr/share/doc/openjdk-17-doc/api",
    "linux-doc": "/usr/share/doc/linux-doc*/html",
}
COLUMNS: Final = (
    "",
    "pages",
    "links per page",
    "content, bytes per page",
    "links and heads",
    "more",
    "CPU ms per page",
    "of that for links",
    "more",
)


def main() -> None:
    options = _options()
    rows = [_measured(name, options) for name, place in SITES.items() if glob(place)]
    machine = this_machine()
    text = f"{machine}\n\n{_about(options)}\n\n{table(COLUMNS, [one['row'] for one in rows])}"
    print(text)
    save("links", machine, text, {"sites": [one["document"] for one in rows]})


def _measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    pages = read_pages(Path(glob(SITES[name])[0]).resolve(), options.pages)
    visits, parsing = _best(options.rounds, lambda: _visit(pages))
    plain, without = _best(options.rounds, lambda: _packed(visits, _without_links))
    linked, with_links = _best(options.rounds, lambda: _packed(visits, _with_links))
    count = len(visits)
    content, whole = (sum(len(one.body) for one in made) / count for made in (plain, linked))
    cpu, extra = (parsing + with_links) / count * 1_000, (with_links - without) / count * 1_000
    links = sum(len(one.links) for one in visits) / count
    row = (
        name,
        f"{count:,}",
        f"{links:,.0f}",
        f"{content:,.0f}",
        f"{whole - content:,.0f}",
        f"{(whole - content) / content:.1%}",
        f"{cpu:.2f}",
        f"{extra:.2f}",
        f"{extra / (cpu - extra):.1%}",
    )
    return {"row": row, "document": {"site": name, "pages": count, "links": links, "content": content,
                                     "withLinks": whole, "cpuMs": cpu, "cpuMsForLinks": extra}}  # fmt: skip


def read_pages(folder: Path, most: int) -> list[Page]:
    files = sorted(folder.rglob("*.html"), key=lambda file: hash_of(file.name))[:most]
    return [
        Page(
            url=HOST + str(file.relative_to(folder)),
            final_url=HOST + str(file.relative_to(folder)),
            status=200,
            headers=HEADERS,
            body=file.read_bytes(),
            media_type="text/html",
            charset="utf-8",
        )
        for file in files
        if file.stat().st_size < 1_000_000
    ]


def hash_of(name: str) -> str:
    """An order that is the same each time, and mixes folders."""
    return hashlib.sha256(name.encode()).hexdigest()


def _visit(pages: Sequence[Page]) -> list[Visited]:
    spec = CrawlSpec(seeds=(HOST,), sitemaps=False)
    crawl = Crawl(
        id="bench",
        tenant_id="",
        name="",
        state="running",
        is_default=False,
        spec=spec,
        counts=NO_COUNTS,
        created_at=0,
    )
    plan = CrawlPlan(crawl, Scope.of(spec), Neighbours(MAX_ALIKE), 0, 0.0)
    processor, anything = PageProcessor(KnownUrls(), "Gossamer"), Robots.parse("")
    visits = []
    for page in pages:
        new = new_url(Url.parse(page.url), spec, depth=0)
        task = CrawlTask(
            crawl_id="bench",
            url_hash=new.url_hash,
            url=new.url,
            host=new.host,
            depth=0,
            priority=0,
            attempt=1,
        )
        visits.append(processor.process(task, plan, page, anything, 0.0, None))
    return visits


def _packed(visits: Sequence[Visited], make: Callable[[Sequence[Visited]], PackedPages]) -> list[PackedPages]:
    return [make(visits[at : at + AT_ONCE]) for at in range(0, len(visits), AT_ONCE)]


def _without_links(visits: Sequence[Visited]) -> PackedPages:
    return pack([one.page for one in visits if one.page is not None])


def _with_links(visits: Sequence[Visited]) -> PackedPages:
    return pack_visits(visits, REQUEST)


def _best(rounds: int, work: Callable[[], Any]) -> tuple[Any, float]:
    best, found = float("inf"), None
    for _ in range(rounds):
        began = time.process_time()
        found = work()
        best = min(best, time.process_time() - began)
    return found, best


def _about(options: argparse.Namespace) -> str:
    return (
        f"Up to {options.pages:,} pages of each, {AT_ONCE} in a blob, best of {options.rounds}. Content "
        "is compressed and has the heads of its answers; links have their text, `rel` and place."
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
