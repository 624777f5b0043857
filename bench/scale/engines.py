"""Which engine takes over where: the bound that calls for it, and what our code must change."""

from dataclasses import dataclass

from bench.scale.costs import Costs
from bench.scale.frontier import WEB, frontier_table, pages_table, wal_of_a_page
from bench.scale.plan import Assumptions, database_seconds


@dataclass(frozen=True, slots=True)
class Step:
    engine: str
    bound: str  # of the engine before it
    changes: str


def steps(costs: Costs, assumed: Assumptions) -> list[Step]:
    return [
        Step(
            "PostgreSQL, for a SQLite file",
            f"a second machine, or {count(assumed.sqlite_gb * 1e9 / _bytes_of_a_page(costs, assumed))} pages "
            f"({assumed.sqlite_gb:g} GB in one file with one writer)",
            "nothing: `GOSSAMER_DATABASE_URL`",
        ),
        Step(
            "S3, for a folder",
            f"a second machine, or {count(assumed.disk_gb * 1e9 / assumed.page_bytes)} pages "
            f"({assumed.disk_gb:,.0f} GB)",
            "nothing: `GOSSAMER_BLOBS_URL`",
        ),
        Step(
            "partitions of `frontier` and `crawled_pages`",
            f"{count(assumed.partition_gb * 1e9 / _index_bytes_of_a_url())} URLs, where the indexes of the "
            f"frontier have {assumed.partition_gb:g} GB",
            "a migration for PostgreSQL alone (`state/db/migrations`) that partitions both by `crawl_id`, "
            "with which every key of theirs begins; statements stay. To drop a partition instead of deleting "
            "rows, `state/crawl/removal` must know of it",
        ),
        Step(
            "read replicas",
            f"{assumed.database_cores * assumed.busy / costs.search:,.0f} searches a second, or lists and "
            "exports that slow the writer",
            "a second URL in `state/db/postgres` for reads that may be seconds old: `state/search`, "
            "`state/crawl/reading`, exports. Reads after one's own write stay on the primary: keys, jobs, "
            "payments",
        ),
        _several_databases(costs, assumed),
        _several_nodes(costs, assumed),
    ]


def _several_databases(costs: Costs, assumed: Assumptions) -> Step:
    in_memory = assumed.database_gb * 1e9 * assumed.for_indexes
    pages = in_memory / (_index_bytes_of_a_url() * assumed.urls_per_page)
    seconds = database_seconds(1, assumed.urls_per_page, costs, 0.0, assumed)
    wal = wal_of_a_page(pages * assumed.urls_per_page, WEB, assumed.urls_per_page)
    rate = min(assumed.database_cores * assumed.busy / seconds, assumed.wal_bytes / wal)
    settled = costs.frontier[-1].settled
    return Step(
        "several PostgreSQL, by tenant or crawl",
        f"{count(pages)} pages at a time (the frontier's indexes fill {assumed.database_gb:g} GB), or "
        f"{rate:,.0f} pages a second ({assumed.wal_bytes / 1e6:,.0f} MB of WAL); one crawl alone settles "
        f"{settled:,.0f}, because its row is written by one worker at a time",
        "as several installations: nothing, but each asks a host at its own pace. As one: "
        "`state/db/database` opens several, flows choose by tenant or crawl, and what all share stays in the "
        "first: `state/crawl/hosts` (or a host is asked twice at a time), `state/tenants`, `state/pay`, "
        "`state/jobs`",
    )


def _several_nodes(costs: Costs, assumed: Assumptions) -> Step:
    hits = assumed.busy / assumed.valkey_hit
    return Step(
        "several nodes of Redis Cluster",
        f"{hits:,.0f} hits a second, the most that one node counts, from "
        f"{hits * costs.hit / assumed.busy:.1f} cores of servers",
        "all keys of an installation are in one slot now. `state/kv/resp` needs a connection to each node; "
        "`state/kv/hot_redis` a hash tag by caller for windows and keys, another by page, and an index of "
        "pages for each node; the script of a hit becomes two. Until then: several installations, each with "
        "a node of its own",
    )


def count(number: float) -> str:
    """Two digits of a number, in words."""
    for size, word in ((1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if number >= size:
            digits = number / size
            return f"{digits:,.0f} {word}" if digits >= 10 else f"{digits:.1f} {word}"
    return f"{number:.0f}"


def _bytes_of_a_page(costs: Costs, assumed: Assumptions) -> float:
    many = 1e7
    stored = frontier_table(WEB).bytes(many * assumed.urls_per_page) + pages_table(WEB).bytes(many)
    return stored / many + costs.index_bytes


def _index_bytes_of_a_url() -> float:
    many = 1e8
    return frontier_table(WEB).index_bytes(many) / many
