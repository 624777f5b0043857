"""The frontier on PostgreSQL: what adding, taking and settling URLs costs as it grows.

One crawl on many hosts is filled up to a size by plain SQL, then measured through the product's own calls,
one call after another, with everything on disk before it counts as done; each number is from the median of
the calls. Then it is filled up to the next size.
"""

import argparse
import asyncio
import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Final

import asyncpg

from bench import servers
from bench.jobs import DurableServer
from bench.servers import say
from bench.table import Machine, save, table, this_machine
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.crawl.hosts import HostLease, Hosts
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.settling import CrawlTask, HostSettlement, TaskEnd
from gossamer.state.db.database import Database, open_database
from gossamer.state.tenants import tenants
from gossamer.web.crawl.spec import CrawlSpec

SIZES: Final = (10_000, 100_000, 1_000_000)
HOSTS: Final = 100
BATCH: Final = 1_000  # URLs in an addition
TAKEN: Final = 100
SETTLED: Final = 200  # pages in a transaction, of several hosts
LEASED: Final = 5
ROUNDS: Final = 20
FILL_AT_ONCE: Final = 500_000

# Hashes as they are: evenly spread. Half of the URLs wait, the others are done with.
FILL: Final = """
INSERT INTO frontier (crawl_id, url_hash, url, host, priority, depth, state, attempt, lapses, due_at,
    added_at, updated_at, reason)
SELECT $1, encode(sha256(number::text::bytea), 'hex'), 'http://h' || number % $4 || ':80/page/' || number,
    'h' || number % $4 || ':80', 1 + number % 3, 3,
    CASE WHEN number / $4 % 2 = 0 THEN 'pending' ELSE 'completed' END, 1, 0,
    1700000000000 + number, 1700000000000, 1700000000000, ''
FROM generate_series($2::bigint, $3::bigint) AS number"""
COUNT: Final = """
WITH counted AS (
    SELECT host, count(*) FILTER (WHERE state = 'pending') AS pending,
        count(*) FILTER (WHERE state = 'completed') AS completed
    FROM frontier WHERE crawl_id = $1 GROUP BY host
), known AS (
    INSERT INTO hosts (host, due_at, next_at, resting_until, failures, is_allowed, renders, pages, bytes,
        added_at)
    SELECT host, 0, 0, 0, 0, true, false, 0, 0, 0 FROM counted
    ON CONFLICT (host) DO UPDATE SET due_at = 0, lease_token = NULL, locked_until = NULL
), noted AS (
    INSERT INTO crawl_hosts (crawl_id, host, tenant_id, pending, in_progress, completed, failed, blocked,
        taken_at)
    SELECT $1, host, (SELECT tenant_id FROM crawls WHERE id = $1), pending, 0, completed, 0, 0, 0 FROM counted
    ON CONFLICT (crawl_id, host) DO UPDATE SET pending = excluded.pending, completed = excluded.completed
)
UPDATE crawls SET pending = (SELECT sum(pending) FROM counted),
    completed = (SELECT sum(completed) FROM counted)
WHERE id = $1"""
SIZE: Final = """
SELECT (SELECT pg_total_relation_size('frontier')::float / count(*) FROM frontier),
    (SELECT pg_total_relation_size('crawled_pages')::float / count(*) FROM crawled_pages)"""


@dataclass(frozen=True, slots=True)
class Rates:
    """Per second; and bytes with all indexes."""

    urls: int
    new: float
    known: float
    taken: float
    settled: float
    leased: float
    bytes_per_url: float
    bytes_per_page: float


@dataclass(slots=True)
class Watch:
    """The median of what calls took: what else the machine does in between is not the frontier's."""

    seconds: list[float] = field(default_factory=list)  # for one of what a call is about

    @contextmanager
    def timing(self, count: int) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds.append((time.perf_counter() - began) / count)

    @property
    def rate(self) -> float:
        return 1 / median(self.seconds)


@dataclass(frozen=True, slots=True)
class Ground:
    database: Database
    crawl_id: str
    frontier: Frontier
    hosts: Hosts


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    server = DurableServer()
    try:
        server.start()
        server.sql("CREATE DATABASE frontier")
        found = asyncio.run(_measured(server.url_of("frontier"), sorted(options.urls)))
    finally:
        server.remove()
    machine = this_machine()
    text = report(machine, found)
    print(text)
    save("frontier", machine, text, {"rates": [asdict(rates) for rates in found]})


async def _measured(url: str, sizes: Sequence[int]) -> list[Rates]:
    database = open_database(url, deadline=60)
    await database.migrate()
    async with database.write() as connection:
        tenant = await tenants.ensure_tenant(connection, "a@example.com")
    crawl = await Crawls(database).create(tenant.id, CrawlSpec(scope="any", max_pages=10**9))
    ground = Ground(database, crawl.id, Frontier(database), Hosts(database, lease_ms=600_000))
    found, filled = [], 0
    for size in sizes:
        began = time.perf_counter()
        await _fill(url, crawl.id, filled, size)
        say(f"{size:,} URLs: filled in {time.perf_counter() - began:.0f} s")
        filled = size
        found.append(await _rates(url, ground, size))
        say(f"{size:,} URLs: {found[-1]}")
    await database.close()
    return found


async def _fill(url: str, crawl_id: str, first: int, size: int) -> None:
    connection = await asyncpg.connect(url)
    for start in range(first, size, FILL_AT_ONCE):
        await connection.execute(FILL, crawl_id, start, min(size, start + FILL_AT_ONCE) - 1, HOSTS)
    await connection.execute(COUNT, crawl_id)
    await connection.execute("VACUUM ANALYZE frontier")
    await connection.execute("CHECKPOINT")
    await connection.close()


async def _rates(url: str, ground: Ground, size: int) -> Rates:
    batches = [[_url(f"{size}-{turn}-{each}") for each in range(BATCH)] for turn in range(ROUNDS)]
    new, known = Watch(), Watch()
    for watch in (new, known):
        for batch in batches:
            with watch.timing(BATCH):
                await ground.frontier.add(ground.crawl_id, batch)
    leased, taken = Watch(), Watch()
    leases: list[HostLease] = []
    for _ in range(ROUNDS):
        with leased.timing(LEASED):
            leases += await ground.hosts.lease("bench", LEASED)
    most = min(TAKEN, size // HOSTS // 2)
    tasks = []
    for lease in leases:
        with taken.timing(most):
            tasks.append((lease, await ground.frontier.take(lease, most)))
    settled = await _settled(ground, tasks, size)
    connection = await asyncpg.connect(url)
    bytes_per_url, bytes_per_page = await connection.fetchrow(SIZE)
    await connection.close()
    return Rates(
        urls=size,
        new=new.rate,
        known=known.rate,
        taken=taken.rate,
        settled=settled.rate,
        leased=leased.rate,
        bytes_per_url=bytes_per_url,
        bytes_per_page=bytes_per_page,
    )


async def _settled(ground: Ground, taken: Sequence[tuple[HostLease, list[CrawlTask]]], size: int) -> Watch:
    """Pages with a new link each, and ten that are known."""
    batches: list[list[tuple[HostLease, HostSettlement]]] = [[]]
    for lease, tasks in taken:
        links = [_url(f"{size}-link-{lease.host}-{number}") for number in range(len(tasks))]
        old = [_url(f"{size}-{number % ROUNDS}-{number}") for number in range(10 * len(tasks))]
        ends = [TaskEnd(task=task, page=_page(task)) for task in tasks]
        batches[-1].append((lease, HostSettlement(ends=ends, new={ground.crawl_id: [*links, *old]})))
        if sum(len(batch.ends) for _, batch in batches[-1]) >= SETTLED:
            batches.append([])
    watch = Watch()
    for together in batches[:-1]:
        with watch.timing(SETTLED):
            await ground.frontier.settle_many(together)
    for lease, _ in taken:
        await ground.hosts.release(lease)
    return watch


def _url(name: str) -> NewUrl:
    digest = hashlib.sha256(name.encode()).hexdigest()
    host = f"h{int(digest[:8], 16) % HOSTS}:80"
    return NewUrl(f"http://{host}/new/{name}", digest, host, 4, 2, found_on=digest)


def _page(task: CrawlTask) -> CrawledPage:
    return CrawledPage(
        final_url=task.url,
        status_code=200,
        content_type="text/html",
        content_length=20_000,
        content_hash=task.url_hash,
        fingerprint=task.url_hash[:32],
        title="A page about something",
        description="What it says about it, in a sentence or two.",
        language="en",
        outcome="ok",
    )


def report(machine: Machine, found: Sequence[Rates]) -> str:
    columns = (
        "URLs",
        "new/s",
        "known/s",
        "taken/s",
        "pages settled/s",
        "hosts leased/s",
        "bytes/URL",
        "bytes/page",
    )
    rows = [
        (
            f"{rates.urls:,}",
            *(f"{rate:,.0f}" for rate in (rates.new, rates.known, rates.taken, rates.settled, rates.leased)),
            f"{rates.bytes_per_url:,.0f}",
            f"{rates.bytes_per_page:,.0f}",
        )
        for rates in found
    ]
    return f"# The frontier\n\n{machine}\n\n{table(columns, rows)}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench frontier", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--urls", type=int, nargs="+", default=list(SIZES), help="sizes to measure at")
    return parser.parse_args()


if __name__ == "__main__":
    main()
