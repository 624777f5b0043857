"""Crawls: whole sites, beside Scrapy (tuned and as documented), Crawlee and spider-rs.

All crawl the same local sites with no delay and do the same work: fetch, obey robots.txt, parse, follow links
once, and keep of each page what Gossamer keeps. Each is a process on a core of its own, and what it fetched
is counted in the server's log. They take turns, round after round; each number is the median of its rounds.
Time runs from the first request to the end of the process; CPU before that is counted, and shown by itself.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench import crawl_contenders, crawl_results, crawl_sites, servers
from bench.crawl_contenders import Contender
from bench.crawl_results import Row, SiteResult
from bench.crawl_run import CrawlBench, Round
from bench.crawl_sites import Site
from bench.jobs import DurableServer
from bench.table import this_machine

ROUNDS: Final = 3
HOSTS: Final = 200


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    contenders, missing = crawl_contenders.available(options.only)
    machine, commit = this_machine(), crawl_results.commit()
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch, _postgres(contenders) as postgres:
        folder = Path(scratch)
        bench = CrawlBench(folder, servers.share_cores(), postgres)
        sites = [
            crawl_sites.build(key, folder / key, options.hosts, options.pages, options.documentation)
            for key in options.sites
        ]
        found = measure(bench, sites, contenders, options.rounds)
    results = [
        SiteResult(site.name, site.source, machine, commit, rows, tuple(missing))
        for site, rows in found.items()
    ]
    merged = crawl_results.merge(crawl_results.saved(), results)
    print(crawl_results.report([one for one in merged if one.name in {site.name for site in sites}]))
    if options.save or _is_whole(options):
        crawl_results.keep(machine, merged)


def measure(
    bench: CrawlBench, sites: Sequence[Site], contenders: Sequence[Contender], rounds: int
) -> dict[Site, tuple[Row, ...]]:
    found: dict[tuple[Site, Contender], list[Round]] = {
        (site, one): [] for site in sites for one in contenders
    }
    for turn in range(rounds):
        for (site, one), measured in found.items():
            measured.append(bench.crawl(one, site))
            servers.say(f"round {turn + 1} of {rounds}: {site.name}: {one.name}: {_told(measured[-1])}")
    return {site: tuple(Row(one.name, tuple(found[site, one])) for one in contenders) for site in sites}


@contextmanager
def _postgres(contenders: Sequence[Contender]) -> Iterator[DurableServer | None]:
    if not any(one.on_postgres for one in contenders):
        yield None
        return
    server = DurableServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


def _is_whole(options: argparse.Namespace) -> bool:
    """Whether sites were crawled in their usual size, by all, often enough."""
    return not options.only and not options.pages and options.hosts == HOSTS and options.rounds >= ROUNDS


def _told(one: Round) -> str:
    cost = f"{one.cost:.2f} CPU s per 1,000, {one.peak / 1e6:.0f} MB"
    return f"{one.pages:,} pages of {one.requests:,} requests, {one.rate:,.0f}/s, {cost}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench crawl", description=(__doc__ or "").partition("\n")[0]
    )
    contenders, sites = [one.key for one in crawl_contenders.ALL], list(crawl_sites.SITES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--sites", nargs="+", default=sites, choices=sites)
    parser.add_argument(
        "--only", nargs="+", default=[], choices=contenders, help="crawlers; saves no results"
    )
    parser.add_argument("--hosts", type=int, default=HOSTS, help="of a generated web")
    parser.add_argument("--pages", type=int, help="of each of them; saves no results")
    parser.add_argument("--documentation", type=Path, help="a folder with an index.html, not a package")
    parser.add_argument("--save", action="store_true", help="save the results of a part, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
