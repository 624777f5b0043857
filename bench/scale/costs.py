"""What was measured: the costs of one page, read from `bench/results`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Self

from bench.crawl_contenders import SECOND
from bench.table import RESULTS


@dataclass(frozen=True, slots=True)
class FrontierRow:
    """One size at which `scripts/bench frontier` measured. Rates are calls of one connection, per second."""

    urls: int
    new: float
    known: float
    settled: float
    bytes_per_url: float
    bytes_per_page: float


@dataclass(frozen=True, slots=True)
class SharedDatabase:
    """A database that the processes of a crawl share, as `scripts/bench crawl` measured it."""

    name: str
    page: float  # CPU seconds of a page, in one process and in the database
    database: float  # of these, in the database's own processes; SQLite has none
    second: (
        float  # times that two processes are as fast as one, on two cores that the crawled servers use too
    )


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU in seconds on a core of the machine that measured; bytes as stored."""

    crawl: float  # fetch, parse and store a page
    render: float  # the same in a browser, on top
    index: float  # make a page searchable
    index_bytes: float
    search: float  # a question, the mean of all kinds
    hit: float  # answer from the hot tier
    frontier: tuple[FrontierRow, ...]
    shared: tuple[SharedDatabase, ...]

    @classmethod
    def measured(cls, results: Path = RESULTS) -> Self:
        sites = _rows(results, "crawl", "sites")
        crawls = [row for site in sites for row in site["rows"] if row["name"] == "Gossamer"]
        renders = [row for row in _rows(results, "render") if row["name"] == "Gossamer"]
        hits = [row for row in _rows(results, "cache", "hits") if row["name"] == "Gossamer, Valkey"]
        index = _largest_index(_read(results, "search_scale"))
        names = FrontierRow.__dataclass_fields__
        return cls(
            crawl=mean(row["cpu_per_1000"] for row in crawls) / 1000,
            render=mean(row["cpu"] for row in renders),
            index=index["index_cpu_ms"] / 1000,
            index_bytes=index["kilobytes_per_page"] * 1000,
            search=mean(median(kind["cpu"]) for kind in index["milliseconds"].values()) / 1000,
            hit=hits[0]["cpu"] / 1e6,
            frontier=tuple(
                FrontierRow(**{name: row[name] for name in names})
                for row in _rows(results, "frontier", "rates")
            ),
            shared=tuple(_shared_databases(sites)),
        )


def _shared_databases(sites: Sequence[Any]) -> Iterator[SharedDatabase]:
    """Of the sites where both sizes were measured, the one with the largest pages, which comes last."""
    for name, (first, second) in SECOND.items():
        for site in reversed(sites):
            rows = {row["name"]: row for row in site["rows"]}
            if first in rows and second in rows:
                alone = rows[first]
                database = median(one["database"] / one["pages"] for one in alone["rounds"])
                speed = rows[second]["rate"] / alone["rate"]
                yield SharedDatabase(name, alone["cpu_per_1000"] / 1000, database, speed)
                break


def _largest_index(found: Mapping[str, Any]) -> Any:
    """Of PostgreSQL, which keeps what is too large for SQLite."""
    sizes = [name for name in found if name.startswith("postgresql ")]
    return found[max(sizes, key=lambda name: int(name.split()[1]))]


def _rows(results: Path, bench: str, name: str = "rows") -> Sequence[Any]:
    rows: Sequence[Any] = _read(results, bench)[name]
    return rows


def _read(results: Path, bench: str) -> Any:
    return json.loads((results / f"{bench}.json").read_text("utf-8"))
