"""Results of crawls, by site: the last run of each, and the figures of earlier ones."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

import msgspec

from bench.crawl_contenders import APART, PEER, SECOND
from bench.crawl_run import Round
from bench.servers import ROOT
from bench.table import RESULTS, Machine, save, table

NAME: Final = "crawl"
KEPT_RUNS: Final = 3  # earlier ones of each site
# fmt: off
COLUMNS: Final = (
    "", "pages", "requests", "pages/s", "CPU s per 1,000", "start-up CPU s", "database CPU s", "idle %",
    "peak MB", "rate / Scrapy", "CPU Scrapy / own",
)
EARLIER_COLUMNS: Final = ("before", "run", "pages/s", "CPU s per 1,000", "rate / Scrapy", "CPU Scrapy / own")
# fmt: on


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    rounds: tuple[Round, ...]

    @property
    def rate(self) -> float:
        return median(one.rate for one in self.rounds)

    @property
    def cost(self) -> float:
        return median(one.cost for one in self.rounds)

    @property
    def middle(self) -> Round:
        return sorted(self.rounds, key=lambda one: one.rate)[len(self.rounds) // 2]


@dataclass(frozen=True, slots=True)
class EarlierRow:
    name: str
    rate: float
    cpu_per_1000: float


@dataclass(frozen=True, slots=True)
class EarlierRun:
    date: str
    commit: str
    rows: tuple[EarlierRow, ...]


@dataclass(frozen=True, slots=True)
class SiteResult:
    """The last run on a site."""

    name: str
    source: str
    machine: Machine
    commit: str
    rows: tuple[Row, ...]
    missing: tuple[str, ...] = ()  # contenders, and why
    before: tuple[EarlierRun, ...] = ()  # newest first

    def earlier(self) -> tuple[EarlierRun, ...]:
        """This run and those before it, as the next run will have them."""
        rows = tuple(EarlierRow(row.name, round(row.rate, 1), round(row.cost, 3)) for row in self.rows)
        return (EarlierRun(self.machine.date, self.commit, rows), *self.before)[:KEPT_RUNS]


def saved() -> list[SiteResult]:
    file = RESULTS / f"{NAME}.json"
    if not file.exists():
        return []
    return msgspec.convert(json.loads(file.read_text())["sites"], list[SiteResult])


def merge(old: Sequence[SiteResult], new: Sequence[SiteResult]) -> list[SiteResult]:
    """The new results, with the old ones of their sites as earlier runs; other sites stay as they were.

    Sites of many hosts come last, by the size of their pages.
    """
    known = {one.name: one for one in old}
    for one in new:
        earlier = known[one.name].earlier() if one.name in known else ()
        known[one.name] = replace(one, before=earlier)
    return sorted(known.values(), key=lambda one: (one.name[0].isdigit(), one.name))


def keep(machine: Machine, results: Sequence[SiteResult]) -> None:
    save(NAME, machine, report(results), {"sites": msgspec.to_builtins([_summed(one) for one in results])})


def report(results: Sequence[SiteResult]) -> str:
    return (
        "# Crawls\n\nNo delay, one core each (two processes: both).\n\n"
        + "\n\n".join(map(_section, results))
        + "\n"
    )


def commit() -> str:
    """What was measured."""
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _summed(result: SiteResult) -> dict[str, Any]:
    whole: dict[str, Any] = msgspec.to_builtins(result)
    for row, told in zip(result.rows, whole["rows"], strict=True):
        told.update(rate=round(row.rate, 1), cpu_per_1000=round(row.cost, 3), idle=row.middle.idle)
    return whole


def _section(result: SiteResult) -> str:
    peer = next((row for row in result.rows if row.name == PEER), None)
    rounds = min(len(row.rounds) for row in result.rows)
    parts = [
        f"## {result.name}: {result.source}",
        f"{result.machine}; {result.commit or 'an earlier version'}; median of {rounds} rounds",
        table(COLUMNS, [_cells(row, peer) for row in result.rows]),
        *_seconds(result.rows),
        *(f"Not measured: {reason}" for reason in result.missing),
    ]
    if result.before:
        rows = [_earlier_cells(run, row) for run in result.before for row in run.rows]
        parts.append(table(EARLIER_COLUMNS, rows))
    return "\n\n".join(parts)


def _cells(row: Row, peer: Row | None) -> list[str]:
    one = row.middle
    return [
        row.name,
        f"{one.pages:,}",
        f"{one.requests:,}",
        f"{row.rate:,.0f}",
        f"{row.cost:.2f}",
        " + ".join(f"{used:.1f}" for used in one.startup),
        f"{one.database:.1f}" if one.database else "",
        "" if one.idle is None else f"{one.idle * 100:.0f}",
        f"{one.peak / 1e6:.0f}",
        f"{row.rate / peer.rate:.1f}" if peer else "",
        f"{peer.cost / row.cost:.1f}" if peer else "",
    ]


def _seconds(rows: Sequence[Row]) -> list[str]:
    """What a second process brings."""
    rates = {row.name: row.rate for row in rows}
    pairs = {f"on {database}": pair for database, pair in SECOND.items()} | {"with a crawl each": APART}
    told = [
        f"{rates[two] / rates[one]:.2f} {how}"
        for how, (one, two) in pairs.items()
        if one in rates and two in rates
    ]
    return [f"Two processes beside one, pages/s: {', '.join(told)}"] if told else []


def _earlier_cells(run: EarlierRun, row: EarlierRow) -> list[str]:
    peer = next((one for one in run.rows if one.name == PEER), None)
    return [
        row.name,
        f"{run.date} {run.commit}".strip(),
        f"{row.rate:,.0f}",
        f"{row.cpu_per_1000:.2f}",
        f"{row.rate / peer.rate:.1f}" if peer else "",
        f"{peer.cpu_per_1000 / row.cpu_per_1000:.1f}" if peer else "",
    ]
