"""Machines, money and days of large crawls, computed from measured costs; the tables of docs/scale.md.

Costs come from bench/results, everything else is an option. With --write the tables go into docs/scale.md.
"""

import argparse
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Final

from bench.scale.costs import Costs
from bench.scale.engines import count, steps
from bench.scale.frontier import (
    BENCH,
    BETWEEN_CHECKPOINTS,
    WEB,
    frontier_table,
    pages_table,
    vacuum_hours,
    wal_of_a_page,
)
from bench.scale.plan import Assumptions, database_seconds, make_plan, share_on_disk, simulate
from bench.scale.politeness import days_until
from bench.scale.processes import PROCESSES, speedup
from bench.table import table

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "scale.md"
PAGES: Final = (1e6, 1e8, 1e10)
FRONTIER: Final = (1e6, 1e7, 1e8, 1e9)
SHARES: Final = (0.5, 0.9, 0.99, 1.0)
UNBOUNDED: Final = 1e18
SECTIONS: Final = re.compile(r"(?s)<!-- scale: (\w+) -->\n.*?<!-- end -->")


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    assumed = Assumptions(**{each.name: getattr(options, each.name) for each in fields(Assumptions)})
    tables = make_tables(Costs.measured(), assumed, options.pages)
    print("\n\n".join(f"{name}\n\n{text}" for name, text in tables.items()))
    if options.write:
        DOCUMENT.write_text(fill(DOCUMENT.read_text("utf-8"), tables), "utf-8")


def make_tables(costs: Costs, assumed: Assumptions, pages: Sequence[float] = PAGES) -> dict[str, str]:
    return {
        "costs": _costs(costs),
        "sizes": _sizes(costs, assumed, pages),
        "machines": _machines(costs, assumed, pages),
        "frontier": _frontier(costs, assumed),
        "fit": _fit(costs),
        "processes": _processes(costs, assumed),
        "politeness": _politeness(assumed, pages),
        "engines": _engines(costs, assumed),
    }


def fill(document: str, tables: dict[str, str]) -> str:
    return SECTIONS.sub(lambda found: section(found[1], tables[found[1]]), document)


def section(name: str, text: str) -> str:
    return f"<!-- scale: {name} -->\n{text}\n<!-- end -->"


def _costs(costs: Costs) -> str:
    rows = [
        ["crawl a page", f"{costs.crawl * 1000:.2f} ms", "crawl"],
        ["render a page", f"{costs.render * 1000:,.0f} ms", "render"],
        ["index a page", f"{costs.index * 1000:.2f} ms, {costs.index_bytes / 1000:.1f} kB", "search_scale"],
        ["answer a search", f"{costs.search * 1000:.0f} ms", "search_scale"],
        ["answer a hit", f"{costs.hit * 1e6:.0f} µs", "cache"],
    ]
    return table(["to", "CPU", "measured by"], rows)


def _sizes(costs: Costs, assumed: Assumptions, pages: Sequence[float]) -> str:
    plans = [make_plan(each, costs, assumed) for each in pages]
    columns = ["pages", "hosts", "URLs", "database", "search index", "blobs", "indexes in memory"]
    return table(
        columns,
        [
            [
                count(plan.pages),
                count(plan.hosts),
                count(plan.urls),
                size(plan.database_bytes),
                size(plan.search_bytes),
                size(plan.blob_bytes),
                size(plan.frontier_index_bytes),
            ]
            for plan in plans
        ],
    )


def _machines(costs: Costs, assumed: Assumptions, pages: Sequence[float]) -> str:
    plans = [make_plan(each, costs, assumed) for each in pages]
    columns = ["pages", "days", "pages/s", "cores: crawl", "render", "index", "PostgreSQL"]
    columns += ["PostgreSQLs", "machines", "$ to crawl", "$ a month to keep"]
    return table(
        columns,
        [
            [
                count(plan.pages),
                f"{plan.days:,.1f}",
                f"{plan.pages_per_second:,.1f}",
                *(
                    f"{cores:,.2f}" if cores < 10 else f"{cores:,.0f}"
                    for cores in (plan.crawl_cores, plan.render_cores, plan.index_cores, plan.database_cores)
                ),
                str(plan.databases),
                f"{plan.machines:,}",
                f"{plan.crawl_price:,.0f}",
                f"{plan.month_price:,.0f}",
            ]
            for plan in plans
        ],
    )


def _frontier(costs: Costs, assumed: Assumptions) -> str:
    columns = ["URLs", "bytes", "indexes", "levels", "WAL/new URL", "WAL/page", "vacuum, one", "vacuum, all"]
    columns += ["partitions", "pages/s, 64 GB", "pages/s, in memory"]
    rows = []
    for urls in FRONTIER:
        stored = frontier_table(WEB)
        wal = stored.insert_wal(urls, BETWEEN_CHECKPOINTS), wal_of_a_page(urls, WEB, assumed.urls_per_page)
        one, every = vacuum_hours(urls, WEB)
        indexes = stored.index_bytes(urls)
        missing = share_on_disk(indexes, 64, assumed)
        rates = [
            1 / database_seconds(1, assumed.urls_per_page, costs, share, assumed) for share in (missing, 0.0)
        ]
        rows.append(
            [
                count(urls),
                size(stored.bytes(urls)),
                size(indexes),
                " + ".join(str(len(tree.levels(urls))) for tree in stored.trees),
                *map(size, wal),
                f"{one * 60:,.1f} min",
                f"{every:,.1f} h",
                f"{max(1, -(-indexes // (assumed.partition_gb * 1e9))):.0f}",
                *(f"{rate:,.0f}" for rate in rates),
            ]
        )
    return table(columns, rows)


def _fit(costs: Costs) -> str:
    rows = []
    for row in costs.frontier:
        urls = frontier_table(BENCH).bytes(row.urls) / row.urls
        pages = pages_table(BENCH).bytes(row.urls) / row.urls
        rows.append(
            [
                f"{row.urls:,}",
                f"{urls:,.0f}",
                f"{row.bytes_per_url:,.0f}",
                f"{urls / row.bytes_per_url - 1:+.1%}",
                f"{pages:,.0f}",
                f"{row.bytes_per_page:,.0f}",
                f"{pages / row.bytes_per_page - 1:+.1%}",
            ]
        )
    return table(
        ["URLs", "bytes/URL: model", "measured", "error", "bytes/page: model", "measured", "error"], rows
    )


def _politeness(assumed: Assumptions, pages: Sequence[float]) -> str:
    rows = []
    for each in pages:
        for name, largest in (
            (f"{assumed.largest_host:,.0f}", assumed.largest_host),
            ("no bound", UNBOUNDED),
        ):
            progress = simulate(each, assumed, UNBOUNDED, largest)
            days = [f"{days_until(progress, share):,.2f}" for share in SHARES]
            rows.append([count(each), name, *days])
    return table(["pages", "of a host at most", *(f"{share:.0%} after" for share in SHARES)], rows)


def _processes(costs: Costs, assumed: Assumptions) -> str:
    rows = []
    for each in costs.shared:
        servers = assumed.database_cores if each.database else 1
        shared = each.database or each.page * assumed.sqlite_share
        predicted = [speedup(number, each.page - shared, shared, servers) for number in PROCESSES]
        cells = [f"{each.page * 1000:.2f} ms", f"{shared * 1000:.2f} ms", f"{each.second:.2f}"]
        rows.append([each.name, *cells, *(f"{value:.2f}" for value in predicted[1:])])
    columns = ["database", "a page", "of it shared", "two, measured", *(str(one) for one in PROCESSES[1:])]
    return table(columns, rows)


def _engines(costs: Costs, assumed: Assumptions) -> str:
    lines = ["| then comes | at | what must change |", "|---|---|---|"]
    lines += [f"| {step.engine} | {step.bound} | {step.changes} |" for step in steps(costs, assumed)]
    return "\n".join(lines)


def size(number: float) -> str:
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= unit:
            digits = number / unit
            return f"{digits:,.0f} {name}" if digits >= 10 else f"{digits:.1f} {name}"
    return f"{number:.0f} B"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/scale",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--pages", type=float, nargs="+", default=list(PAGES), help="sizes of crawls")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scale.md")
    for each in fields(Assumptions):
        option = f"--{each.name.replace('_', '-')}"
        parser.add_argument(option, type=float, default=each.default, help=each.metadata["help"])
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
