"""The model of scale: it fits what was measured, behaves as crawls do, and is what the document shows."""

import asyncio
import itertools
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path

import asyncpg
import pytest
from bench.frontier import FILL, HOSTS, _url
from bench.scale import __main__ as scale
from bench.scale.costs import Costs, FrontierRow
from bench.scale.engines import count, steps
from bench.scale.frontier import (
    BENCH,
    BENCH_BUFFERS,
    WEB,
    call_seconds,
    frontier_table,
    pages_table,
    share_missing,
    vacuum_hours,
    wal_of_a_page,
)
from bench.scale.plan import Assumptions, Plan, make_plan
from bench.scale.politeness import DAY, HostGroup, crawl, days_until, zipf
from bench.scale.processes import speedup
from bench.scale.storage import PAGE, Number, Text, Tree, missing, packed

from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.db.database import open_database
from gossamer.state.tenants import tenants
from gossamer.web.crawl.spec import CrawlSpec
from tests.servers.postgres import PostgresServer

ROOT = Path(__file__).parents[1]
COSTS = Costs.measured()
USUAL = Assumptions()
SIZE_ERROR = 0.05  # as docs/scale.md says
TIME_ERROR = 0.30
LIVE_ERROR = 0.30  # a small database: leaves are as full as chance has it


# It fits what was measured.


@pytest.mark.parametrize("row", COSTS.frontier, ids=lambda row: f"{row.urls}")
def test_sizes_are_those_that_the_bench_measured(row: FrontierRow) -> None:
    urls = frontier_table(BENCH).bytes(row.urls) / row.urls
    pages = pages_table(BENCH).bytes(row.urls) / row.urls
    assert urls == pytest.approx(row.bytes_per_url, rel=SIZE_ERROR)
    assert pages == pytest.approx(row.bytes_per_page, rel=SIZE_ERROR)


@pytest.mark.parametrize("row", COSTS.frontier[1:-1], ids=lambda row: f"{row.urls}")
@pytest.mark.parametrize("name", ["new", "known", "settled"])
def test_the_sizes_between_take_as_long_as_the_outer_ones_predict(row: FrontierRow, name: str) -> None:
    def rate(of: FrontierRow) -> float:
        return float(getattr(of, name))

    predicted = call_seconds(COSTS, rate).at(share_missing(row.urls, BENCH, BENCH_BUFFERS))
    assert predicted == pytest.approx(1 / rate(row), rel=TIME_ERROR)


@pytest.fixture
def durable() -> Iterator[PostgresServer]:
    """One that writes whole pages after a checkpoint, as PostgreSQL does where nothing else is set."""
    server = PostgresServer("full_page_writes=on", "autovacuum=off")
    try:
        server.start()
        yield server
    finally:
        server.remove()


async def test_postgres_stores_and_logs_what_the_model_says(durable: PostgresServer) -> None:
    rows, added = 30_000, 1_000
    durable.sql("CREATE DATABASE scale")
    url = durable.url_of("scale")
    database = open_database(url)
    await database.migrate()
    async with database.write() as connection:
        tenant = await tenants.ensure_tenant(connection, "a@example.com")
    made = await Crawls(database).create(tenant.id, CrawlSpec(scope="any"))
    operator = await asyncpg.connect(url)
    await operator.execute(FILL, made.id, 0, rows - 1, HOSTS)
    sizes = [
        await operator.fetchval("SELECT pg_relation_size($1::text::regclass)", name)
        for name in ("frontier", "pk_frontier", "ix_frontier_pending")
    ]
    await operator.execute("CHECKPOINT")
    position = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
    before = await operator.fetchval(position)
    await Frontier(database).add(made.id, [_url(f"scale-{number}") for number in range(added)])
    wal = await operator.fetchval(position) - before
    await operator.close()
    await database.close()
    table = frontier_table(BENCH)
    predicted = [table.heap.pages(rows) * PAGE, *(tree.bytes(rows) for tree in table.trees)]
    assert predicted == pytest.approx(sizes, rel=LIVE_ERROR)
    assert table.insert_wal(rows, added) == pytest.approx(wal / added, rel=LIVE_ERROR)


# Pages and trees.


def test_alignment_leaves_gaps() -> None:
    assert packed([Number(2), Number(8)]) == 16
    assert packed([Number(8), Number(2)]) == 10
    assert packed([Text(26), Number(2)]) == 30
    assert packed([Text(200)]) == 204, "a long text has four bytes of length"


def test_levels_of_a_tree() -> None:
    tree = Tree([Text(26), Text(64)], fill=0.69)
    assert tree.levels(1) == [1]
    assert tree.levels(tree.in_page * 2) == [2, 1]
    for rows in (10**4, 10**9):
        pages = tree.levels(rows)
        assert pages[-1] == 1
        assert all(parent == -(-child // tree.in_page) for child, parent in itertools.pairwise(pages))


def test_changed_leaves_are_bounded_by_inserts_and_by_leaves() -> None:
    tree = Tree([Text(26), Text(64)], fill=0.69)
    for rows, inserts in ((10**4, 10**6), (10**9, 10), (10**6, 10**4)):
        changed = tree.leaves_changed(rows, inserts)
        assert 0 < changed <= min(inserts, tree.levels(rows)[0])


def test_memory_that_holds_everything_misses_nothing() -> None:
    assert missing(100, 100) == missing(100, 200) == 0
    assert missing(100, 25) == 0.75


GROWING: list[Callable[[float], float]] = [
    lambda urls: frontier_table(WEB).bytes(urls),
    lambda urls: len(frontier_table(WEB).trees[0].levels(urls)),
    lambda urls: frontier_table(WEB).insert_wal(urls, 1e6),
    lambda urls: frontier_table(WEB).update_wal(urls, 1e6),
    lambda urls: wal_of_a_page(urls, WEB, 4),
    lambda urls: vacuum_hours(urls, WEB)[1],
    lambda urls: share_missing(urls, WEB, 64e9),
]


@pytest.mark.parametrize("number", range(len(GROWING)))
def test_nothing_of_the_frontier_shrinks_as_it_grows(number: int) -> None:
    found = [GROWING[number](10.0**power) for power in range(4, 10)]
    assert found == sorted(found)
    assert found[-1] > found[0]


# Politeness.


def test_zipf_gives_the_pages_to_the_hosts() -> None:
    groups = zipf(1_000_000, 10_000, 1, largest=5_000)
    assert sum(group.hosts for group in groups) == 10_000
    assert sum(group.hosts * group.pages for group in groups) == pytest.approx(1_000_000)
    assert max(group.pages for group in groups) == 5_000
    sizes = [group.pages for group in groups]
    assert sizes == sorted(sizes, reverse=True)


def test_equal_hosts_end_together_after_their_delays() -> None:
    progress = crawl([HostGroup(10, 86_400)], 2, 1e9)
    assert progress[-1].days == pytest.approx(2)
    assert days_until(progress, 0.5) == pytest.approx(1)


def test_few_workers_are_the_bound_where_hosts_are_many() -> None:
    progress = crawl([HostGroup(1_000, 864)], 1, pages_per_second=10)
    assert progress[-1].days == pytest.approx(1_000 * 864 / 10 / DAY)


def test_a_large_host_goes_on_alone() -> None:
    """By hand: two hosts of 10 and 100 pages at one a second, and one worker of one page a second."""
    progress = crawl([HostGroup(1, 100), HostGroup(1, 10)], 1, pages_per_second=1)
    assert [(round(each.days * DAY), each.pages) for each in progress] == [(0, 0), (20, 20), (110, 110)]


# Plans.

FACTS = [each.name for each in fields(Plan) if each.name not in {"days", "pages"}]


def test_larger_crawls_take_more_of_everything() -> None:
    plans = [make_plan(10.0**power, COSTS, USUAL) for power in range(6, 11)]
    for name in FACTS:
        found = [getattr(plan, name) for plan in plans]
        assert found == sorted(found), name


@pytest.mark.parametrize(
    ("changed", "more"),
    [
        ({"rendered": 0.5}, "render_cores"),
        ({"recrawl": 1.0}, "crawl_cores"),
        ({"page_bytes": 40_000}, "blob_bytes"),
        ({"urls_per_page": 8}, "frontier_index_bytes"),
        ({"delay": 60}, "days"),
        ({"core_hour": 1}, "crawl_price"),
        ({"object_gb_month": 1}, "month_price"),
        ({"wal_bytes": 1e6}, "databases"),
        ({"database_gb": 64}, "databases"),
        ({"machine_cores": 1}, "machines"),
        ({"pages_per_host": 10}, "hosts"),
    ],
)
def test_an_assumption_changes_what_depends_on_it(changed: dict[str, float], more: str) -> None:
    usual = make_plan(1e9, COSTS, USUAL)
    other = make_plan(1e9, COSTS, replace(USUAL, **changed))
    assert getattr(other, more) > getattr(usual, more)


def test_units_of_a_plan() -> None:
    """By hand: a core for a day at 1 $ an hour, and a GB for a month at 1 $."""
    costs = replace(COSTS, crawl=86_400 / 1e6, render=0, index=0, index_bytes=0)
    assumed = replace(USUAL, days=1, busy=1, recrawl=0, largest_host=1e5, delay=0, answer=0.01)
    plan = make_plan(1e6, costs, assumed)
    assert plan.days == pytest.approx(1)
    assert plan.crawl_cores == pytest.approx(1)
    assert plan.blob_bytes == 20e9
    free = replace(
        assumed, thousand_puts=0, memory_gb_hour=0, disk_gb_month=0, object_gb_month=0, core_hour=1
    )
    cores = plan.crawl_cores + plan.database_cores
    assert make_plan(1e6, costs, free).crawl_price == pytest.approx(24 * cores)
    kept = replace(free, object_gb_month=1)
    assert make_plan(1e6, costs, kept).month_price == pytest.approx(20)


def test_counts_in_words() -> None:
    assert [count(number) for number in (999, 1e6, 12.4e6, 4e10)] == [
        "999",
        "1.0 million",
        "12 million",
        "40 billion",
    ]


@pytest.mark.parametrize("servers", [1, 4])
@pytest.mark.parametrize("shared", [0.0, 0.1, 0.4, 1.0])
def test_processes_bring_as_much_as_the_database_lets_them(shared: float, servers: int) -> None:
    speeds = [speedup(number, 1 - shared, shared, servers) for number in (1, 2, 4, 8, 64)]
    assert speeds[0] == pytest.approx(1)
    assert speeds == pytest.approx(sorted(speeds))
    assert speeds[-1] <= (servers / shared if shared else 64) + 1e-9
    if not shared:
        assert speeds == pytest.approx([1, 2, 4, 8, 64])


# The document.


def test_the_document_shows_what_the_script_prints() -> None:
    document = scale.DOCUMENT.read_text("utf-8")
    tables = scale.make_tables(COSTS, USUAL)
    assert sorted(scale.SECTIONS.findall(document)) == sorted(tables)
    assert scale.fill(document, tables) == document, "`scripts/scale --write` updates it"


def test_an_option_for_every_assumption(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        scale.main(["--help"])
    shown = capsys.readouterr().out
    for each in fields(Assumptions):
        assert f"--{each.name.replace('_', '-')} " in shown


def test_options_change_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    scale.main(["--pages", "5e7", "--page-bytes", "1e6"])
    assert "50 TB" in capsys.readouterr().out


async def test_the_script_runs() -> None:
    command = [str(ROOT / "scripts" / "scale"), "--pages", "1e6"]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    printed, _ = await process.communicate()
    assert process.returncode == 0
    for text in scale.make_tables(COSTS, USUAL, [1e6]).values():
        assert text in printed.decode()


def test_every_step_says_its_bound_and_what_changes() -> None:
    found = steps(COSTS, USUAL)
    assert len({step.engine for step in found}) == len(found)
    assert all(step.bound and step.changes for step in found)
    smaller = steps(COSTS, replace(USUAL, database_gb=64, disk_gb=100, sqlite_gb=1, partition_gb=1))
    assert sum(old.bound != new.bound for old, new in zip(found, smaller, strict=True)) == 4
