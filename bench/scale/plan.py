"""From costs and assumptions to machines, money and days for so many pages."""

import math
from dataclasses import dataclass, field
from typing import Any, Final

from bench.scale import politeness
from bench.scale.costs import Costs
from bench.scale.frontier import WEB, call_seconds, frontier_table, pages_table, wal_of_a_page
from bench.scale.politeness import DAY, Progress
from bench.scale.storage import missing

MONTH: Final = 30 * DAY
HOURS: Final = 24.0


def _assume(default: float, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What was not measured. Prices are of the order that large providers ask, in dollars."""

    days: float = _assume(30, "in which a crawl should end, if hosts allow it")
    delay: float = _assume(1, "seconds between an answer of a host and the next request to it")
    answer: float = _assume(0.3, "seconds that a host takes to answer")
    pages_per_host: float = _assume(100, "in the mean")
    zipf: float = _assume(1, "exponent of the sizes of hosts")
    largest_host: float = _assume(100_000, "pages taken from one host at most")
    urls_per_page: float = _assume(4, "known URLs for each stored page")
    page_bytes: float = _assume(20_000, "of a stored body, compressed")
    pages_per_blob: float = _assume(200, "bodies stored as one object")
    rendered: float = _assume(0.05, "share of pages that need a browser")
    recrawl: float = _assume(0.25, "share of pages fetched again in a month")
    busy: float = _assume(0.6, "share of a core's time that is used")
    machine_cores: float = _assume(16, "cores of a machine for crawling")
    database_cores: float = _assume(64, "cores of the largest database machine")
    database_gb: float = _assume(512, "memory of the largest database machine")
    for_indexes: float = _assume(0.75, "share of its memory that holds indexes")
    partition_gb: float = _assume(16, "indexes of one partition at most")
    sqlite_share: float = _assume(0.05, "of a crawled page's CPU, in SQLite's one writer; from a profile")
    sqlite_gb: float = _assume(75, "size up to which a SQLite file is convenient to copy and to repair")
    disk_gb: float = _assume(2_000, "disk of one machine")
    wal_bytes: float = _assume(500e6, "of WAL that a database writes, ships and replays in a second")
    disk_read: float = _assume(100e-6, "seconds to read a page of an index from disk")
    valkey_hit: float = _assume(
        26e-6, "CPU seconds of Valkey for a hit: count twice, read key and page's start"
    )
    core_hour: float = _assume(0.04, "price, with 4 GB of memory")
    memory_gb_hour: float = _assume(0.005, "price, of a database machine")
    disk_gb_month: float = _assume(0.08, "price, of a database's disk")
    object_gb_month: float = _assume(0.023, "price, of an object store")
    thousand_puts: float = _assume(0.005, "price of writing 1,000 objects")


@dataclass(frozen=True, slots=True)
class Plan:
    pages: float
    urls: float
    hosts: int
    database_bytes: float
    frontier_index_bytes: float
    search_bytes: float
    blob_bytes: float
    days: float  # until the last page
    crawl_cores: float
    render_cores: float
    index_cores: float
    database_cores: float
    databases: int
    machines: int
    crawl_price: float
    month_price: float  # to keep what is stored

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.days / DAY


def make_plan(pages: float, costs: Costs, assumed: Assumptions) -> Plan:
    urls, hosts = pages * assumed.urls_per_page, max(1, round(pages / assumed.pages_per_host))
    frontier, stored = frontier_table(WEB), pages_table(WEB)
    frontier_index_bytes = frontier.index_bytes(urls)
    database_bytes = frontier.bytes(urls) + stored.bytes(pages)
    search_bytes, blob_bytes = pages * costs.index_bytes, pages * assumed.page_bytes
    days = simulate(pages, assumed, pages / assumed.days / DAY)[-1].days

    def cores(seconds: float) -> float:
        return seconds / (days * DAY) / assumed.busy

    visits = pages * (1 + assumed.recrawl * days * DAY / MONTH)
    crawl, render = cores(visits * costs.crawl), cores(visits * assumed.rendered * costs.render)
    index = cores(visits * costs.index)
    gigabytes = frontier_index_bytes / assumed.for_indexes / 1e9
    database = cores(database_seconds(visits, visits * assumed.urls_per_page, costs, 0.0, assumed))
    wal = visits * wal_of_a_page(urls, WEB, assumed.urls_per_page) / (days * DAY)
    databases = max(
        1,
        math.ceil(gigabytes / assumed.database_gb),
        math.ceil(database / assumed.database_cores),
        math.ceil(wal / assumed.wal_bytes),
    )
    working = crawl + render + index
    running = (working + database) * assumed.core_hour + gigabytes * assumed.memory_gb_hour
    month = (database_bytes + search_bytes) / 1e9 * assumed.disk_gb_month
    month += blob_bytes / 1e9 * assumed.object_gb_month
    puts = visits / assumed.pages_per_blob / 1000 * assumed.thousand_puts
    return Plan(
        pages=pages,
        urls=urls,
        hosts=hosts,
        database_bytes=database_bytes,
        frontier_index_bytes=frontier_index_bytes,
        search_bytes=search_bytes,
        blob_bytes=blob_bytes,
        days=days,
        crawl_cores=crawl,
        render_cores=render,
        index_cores=index,
        database_cores=database,
        databases=databases,
        machines=math.ceil(working / assumed.machine_cores) + databases,
        crawl_price=running * HOURS * days + puts + month * days * DAY / MONTH / 2,  # storage fills up
        month_price=month,
    )


def simulate(
    pages: float, assumed: Assumptions, pages_per_second: float, largest: float | None = None
) -> list[Progress]:
    hosts = max(1, round(pages / assumed.pages_per_host))
    most = max(assumed.largest_host if largest is None else largest, assumed.pages_per_host)
    groups = politeness.zipf(pages, hosts, assumed.zipf, most)
    return politeness.crawl(groups, assumed.delay + assumed.answer, pages_per_second)


def database_seconds(
    pages: float, urls: float, costs: Costs, share_missing: float, assumed: Assumptions
) -> float:
    """Of PostgreSQL, to settle pages and add their URLs. A settled page has one new link already; what it
    lacks in memory, it reads from disk."""
    settled, new = call_seconds(costs, lambda row: row.settled), call_seconds(costs, lambda row: row.new)
    disk = assumed.disk_read * share_missing
    return pages * (settled.at(share_missing) + disk) + max(0.0, urls - pages) * (
        new.at(share_missing) + disk
    )


def share_on_disk(index_bytes: float, gigabytes: float, assumed: Assumptions) -> float:
    return missing(index_bytes, gigabytes * 1e9 * assumed.for_indexes)
