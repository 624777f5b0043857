"""The frontier as PostgreSQL stores it, for any number of URLs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bench.scale.costs import Costs, FrontierRow
from bench.scale.storage import GROUPS, RANDOM, Column, Heap, Number, Table, Text, Tree, missing

ID, HASH = Text(26), Text(64)
SMALL, INTEGER, LONG, FLAG = Number(2), Number(4), Number(8), Number(1)
STATE: Final = Text(8)  # `pending` or `completed`
BENCH_BUFFERS: Final = 128e6  # shared_buffers of the measured PostgreSQL
UPDATES: Final = 2  # of a URL: taken, settled. Both change an index, so each leaves a dead row behind
VACUUM_AT: Final = 0.2  # autovacuum_vacuum_scale_factor
SCAN: Final = 500e6  # bytes a second that a vacuum reads
BETWEEN_CHECKPOINTS: Final = 1e6  # changes


@dataclass(frozen=True, slots=True)
class Shape:
    """What texts in a row measure."""

    url: float
    host: float
    found_on: bool
    waiting: float  # the share of URLs that wait
    title: float = 60
    description: float = 140


BENCH: Final = Shape(url=24, host=6, found_on=False, waiting=0.5, title=22, description=44)
WEB: Final = Shape(url=76, host=17, found_on=True, waiting=0.5)


def frontier_table(shape: Shape) -> Table:
    url, host = Text(shape.url), Text(shape.host)
    columns: list[Column] = [ID, HASH, url, host, SMALL, SMALL, STATE, SMALL, SMALL, LONG, LONG, LONG]
    columns += [Text(0), SMALL, FLAG]
    if shape.found_on:
        columns.append(HASH)
    return Table(
        Heap(columns, nulls=0 if shape.found_on else 1),
        [
            Tree([ID, HASH], RANDOM),
            Tree([ID, host, SMALL, LONG], GROUPS, share=shape.waiting),
        ],
    )


def pages_table(shape: Shape) -> Table:
    url, host = Text(shape.url), Text(shape.host)
    texts = [Text(shape.title), Text(shape.description), Text(2), Text(0), Text(0)]
    columns: list[Column] = [ID, HASH, url, url, host, SMALL, Text(9), LONG, HASH, Text(32), *texts]
    columns += [INTEGER, SMALL, Text(6), LONG, INTEGER, Text(0), Text(2), LONG, LONG]
    return Table(
        Heap(columns, nulls=3),
        [
            Tree([ID, HASH], RANDOM),
            Tree([ID, LONG, HASH], GROUPS),
            Tree([ID, host, LONG, HASH], GROUPS),
        ],
    )


@dataclass(frozen=True, slots=True)
class CallSeconds:
    """How long a call takes: with everything in memory, and for each page that is not."""

    base: float
    miss: float

    def at(self, share_missing: float) -> float:
        return self.base + self.miss * share_missing


def call_seconds(costs: Costs, rate: Callable[[FrontierRow], float]) -> CallSeconds:
    """From the smallest and the largest measured frontier. The sizes between them check it."""
    small, large = costs.frontier[0], costs.frontier[-1]
    base = 1 / rate(small)
    return CallSeconds(base, (1 / rate(large) - base) / share_missing(large.urls, BENCH, BENCH_BUFFERS))


def share_missing(urls: float, shape: Shape, memory: float) -> float:
    return missing(frontier_table(shape).index_bytes(urls), memory)


def vacuum_hours(urls: float, shape: Shape) -> tuple[float, float]:
    """One pass over the frontier and its indexes, and all passes while every URL is taken and settled."""
    one = frontier_table(shape).bytes(urls) / SCAN / 3600
    return one, one * UPDATES / VACUUM_AT


def wal_of_a_page(urls: float, shape: Shape, urls_per_page: float) -> float:
    """Its URLs are inserted, its own is updated, and the page is inserted beside as many as there are."""
    known, stored = frontier_table(shape), pages_table(shape)
    wal = urls_per_page * known.insert_wal(urls, BETWEEN_CHECKPOINTS)
    wal += UPDATES * known.update_wal(urls, BETWEEN_CHECKPOINTS)
    return wal + stored.insert_wal(urls / urls_per_page, BETWEEN_CHECKPOINTS)
