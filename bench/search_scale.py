"""Search at scale: what a search costs in CPU and time among up to a million pages, on both databases.

The pages are short and made up: 30,000 words as common as Zipf's law says, and six tenants of different sizes
with some hundred hosts. Our own code adds the first hundred thousand. Their rows are then copied inside the
database with other ids and names, so posting lists are as long as those of a million pages. At each size our
own code adds some thousand pages more, which is what indexing is measured by. One database grows from size to
size. Texts are shorter than real ones; what it costs to cut long ones into passages is in `retrieval`.
Questions are asked for the largest tenant, which has half of the pages, and `small tenant` for the smallest.
"""

import argparse
import asyncio
import io
import itertools
import random
import sqlite3
import sys
import tempfile
import time
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, Final

import psutil  # type: ignore[import-untyped]
from sqlalchemy import text as sql
from tests.servers.postgres import PostgresServer

from bench.table import save, table, this_machine
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.db.database import Database, open_database
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.search.search_index_postgres import RUN_BITS
from gossamer.web.search.passages import TextHeading
from gossamer.web.search.question import Question

WORDS: Final = 30_000
TEXT_WORDS: Final = 80  # of a page, on average
TENANT_SHARES: Final = (50, 25, 12, 7, 4, 2)  # percent of the pages
HOSTS: Final = 300  # of a tenant
AT_ONCE: Final = 4_000  # pages that are noted before they are written
ADDED: Final = 100_000  # pages at most that our own code adds first; others are copies of them
DATABASES: Final = ("sqlite", "postgresql")
ASKED: Final = 20  # questions of a kind
ROUNDS: Final = 3  # in which each is asked
COMMON: Final = range(2, 40)  # ranks of words that most or many pages have
USUAL: Final = range(200, 3_000)
RARE: Final = range(8_000, WORDS)


class Vocabulary:
    """Made-up words, the first the most common, and texts of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u")]
        made = ("".join(parts) for size in (2, 3) for parts in itertools.product(syllables, repeat=size))
        words = list(itertools.islice(made, 3 * WORDS))
        random.Random(1).shuffle(words)
        self.words = [f"{word}k" for word in words[:WORDS]]  # stems do not change them
        self._sums = list(itertools.accumulate(1 / rank for rank in range(1, WORDS + 1)))

    def text(self, words: int) -> list[str]:
        top = self._sums[-1]
        return [self.words[bisect(self._sums, self.random.random() * top)] for _ in range(words)]

    def pick(self, ranks: range) -> str:
        return self.words[self.random.choice(ranks)]


def tenant_name(number: int) -> str:
    return f"01HZZZZZZZZZZZZZZZZZZZZZT{number}"


def pages(vocabulary: Vocabulary) -> Iterator[tuple[str, IndexedDocument]]:
    """Without end."""
    numbers = range(len(TENANT_SHARES))
    for number in itertools.count():
        (tenant,) = vocabulary.random.choices(numbers, TENANT_SHARES)
        host = int(HOSTS * vocabulary.random.random() ** 3)
        title = " ".join(vocabulary.text(4))
        heading = " ".join(vocabulary.text(3))
        size = max(20, int(vocabulary.random.gauss(TEXT_WORDS, TEXT_WORDS / 3)))
        text = f"{heading} {' '.join(vocabulary.text(size))}."
        yield (
            tenant_name(tenant),
            IndexedDocument(
                url=f"https://h{host}.t{tenant}.example/{number}",
                title=title,
                description="",
                text=text,
                headings=(TextHeading(0, len(heading), 2),),
                language="en",
                seen_at=1_700_000_000.0 + number,
            ),
        )


def questions(vocabulary: Vocabulary) -> dict[str, list[tuple[str, Question]]]:
    """By kind, with the tenant that asks."""
    pick = vocabulary.pick
    largest, smallest = tenant_name(0), tenant_name(len(TENANT_SHARES) - 1)

    def some(make: Callable[[], str], tenant: str = largest) -> list[tuple[str, Question]]:
        return [(tenant, Question.parse(make())) for _ in range(ASKED)]

    return {
        "one common word": some(lambda: pick(COMMON)),
        "three common words": some(lambda: " ".join(pick(COMMON) for _ in range(3))),
        "a common and a rare word": some(lambda: f"{pick(COMMON)} {pick(RARE)}"),
        "two rare words": some(lambda: f"{pick(RARE)} {pick(RARE)}"),
        "six words of a question": some(
            lambda: " ".join([*(pick(COMMON) for _ in range(2)), *(pick(USUAL) for _ in range(4))])
        ),
        "phrase of common words": some(lambda: f'"{pick(COMMON)} {pick(COMMON)}"'),
        "typing error": some(lambda: _misspelt(pick(USUAL))),
        "common word of a host": some(
            lambda: f"{pick(COMMON)} site:h{vocabulary.random.randrange(HOSTS)}.t0.example"
        ),
        "small tenant": some(lambda: " ".join(pick(COMMON) for _ in range(2)), smallest),
    }


def _misspelt(word: str) -> str:
    return f"{word[:2]}{word[3]}{word[2]}{word[4:]}"


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one search, in milliseconds."""

    cpu: float
    wall: float


@dataclass(slots=True)
class Scale:
    database: str
    pages: int
    build_seconds: float = 0.0  # since the size before
    index_cpu_ms: float = 0.0  # of a page that is added now, in this process and the database
    kilobytes: float = 0.0  # of a page
    costs: dict[str, list[Cost]] = field(default_factory=dict)


class CpuMeter:
    """CPU seconds of this process, and of a database server beside it."""

    def __init__(self, server: int | None = None) -> None:
        self._server = server

    def __call__(self) -> float:
        if self._server is None:
            return process_time()
        times = [one.cpu_times() for one in psutil.Process(self._server).children(recursive=True)]
        return process_time() + float(sum(one.user + one.system for one in times))


@dataclass(slots=True)
class GrowingIndex:
    """The index of one database, from size to size."""

    database: Database
    url: str
    meter: CpuMeter
    made: Iterator[tuple[str, IndexedDocument]] = field(default_factory=lambda: pages(Vocabulary(2)))
    added: int = 0  # pages that copies are made of
    copies: int = 1

    async def grow(self, count: int) -> Scale:
        started = perf_counter()
        if not self.added:
            self.added = min(count, ADDED)
            for start in range(0, self.added, AT_ONCE):
                await self._add(min(AT_ONCE, self.added - start))
        times = max(self.copies, count // self.added)
        await multiply(self.url, self.added, range(self.copies, times))
        self.copies = times
        spent = await self._add(AT_ONCE)
        if self.database.dialect == "postgresql":
            await _execute(self.url, "VACUUM ANALYZE")
        seconds = perf_counter() - started
        held = await self._held()
        size = await _size(self.database)
        return Scale(self.database.dialect, count, seconds, spent / AT_ONCE * 1000, size / held / 1000)

    async def _add(self, count: int) -> float:
        """Add pages by the way that fetched pages go; return the CPU seconds."""
        index = _index(self.database)
        batch = list(itertools.islice(self.made, count))
        started = self.meter()
        for tenant, document in batch:
            index.note(tenant, document)
        await flush(index)
        return self.meter() - started

    async def _held(self) -> int:
        async with self.database.read() as connection:
            return int(await connection.scalar(sql("SELECT count(*) FROM search_pages")) or 0)


async def flush(index: SearchIndex) -> None:
    """On a busy machine, a transaction may take too long; its notes are kept."""
    for _ in range(5):
        with suppress(Unavailable):
            return await index.flush()
    raise SystemExit("bench: the database is too slow")


async def multiply(url: str, added: int, copies: range) -> None:
    """Copy the first rows behind the last, once for each number, with other ids, names and addresses."""
    if not copies:
        return
    is_postgres = url.startswith("postgresql:")
    words = copied = "words" if is_postgres else "facets, title, description, body"
    key = "id" if is_postgres else "rowid"
    named = "printf('%032d', :copy) || substr(name, 33)"
    if is_postgres:
        named = "lpad((:copy)::text, 32, '0') || substr(name, 33)"
        run = f"('@r' || ((id + :more) >> {RUN_BITS}))::tsvector"
        own = f"'@r' || (id >> {RUN_BITS})"
        copied = f"ts_delete(words, {own}) || {run}"
        await _execute(url, "DROP INDEX ix_search_words_words")
    others = "tenant_id, site, seen_at, published_at, title, description, text, language, outline"
    statements = [
        (
            f"INSERT INTO search_pages (id, name, url, final_url, {others}) SELECT id + :more, {named},"
            f" url || '/' || :copy, final_url || '/' || :copy, {others} FROM search_pages WHERE id <= :added"
        ),
        (
            f"INSERT INTO search_words ({key}, {words}) SELECT {key} + :more, {copied} FROM search_words"
            f" WHERE {key} <= :added"
        ),
        (
            "INSERT INTO search_weights (id, weights) SELECT id + :more, weights FROM search_weights"
            " WHERE id <= :added"
        ),
    ]
    for copy in copies:
        last = await _execute(url, "SELECT max(id) FROM search_pages")
        for statement in statements:
            given = statement
            for name, value in (("more", last), ("copy", copy), ("added", added)):
                given = given.replace(f":{name}", str(value))
            await _execute(url, given)
        print(f"  {(copy + 1) * added:,} pages", file=sys.stderr)
    counted = "SELECT count(*) FROM search_pages p WHERE p.tenant_id = search_tenants.tenant_id"
    await _execute(url, f"UPDATE search_tenants SET pages = ({counted})")
    if is_postgres:
        sequence = "pg_get_serial_sequence('search_pages', 'id')"
        await _execute(url, f"SELECT setval({sequence}, (SELECT max(id) FROM search_pages))")
        await _execute(url, "CREATE INDEX ix_search_words_words ON search_words USING gin (words)")


async def measure(database: Database, scale: Scale, meter: CpuMeter) -> None:
    index = _index(database)
    for kind, asked in questions(Vocabulary(3)).items():
        scale.costs[kind] = [await _ask(index, meter, *one) for one in asked]


async def _ask(index: SearchIndex, meter: CpuMeter, tenant: str, question: Question) -> Cost:
    """The best of some rounds: others use the machine too."""
    costs = []
    for _ in range(ROUNDS):
        cpu, wall = meter(), perf_counter()
        with suppress(Unavailable):  # on a busy machine it may be ended; what it took, it took
            await index.search(tenant, question)
        costs.append(Cost((meter() - cpu) * 1000, (perf_counter() - wall) * 1000))
    return Cost(min(one.cpu for one in costs), min(one.wall for one in costs))


def _index(database: Database) -> SearchIndex:
    return SearchIndex(database, Log(io.StringIO()), max_pages=10_000_000, clock=time.time)


async def _execute(url: str, statement: str) -> Any:
    """On a connection without deadlines; returns the first value."""
    if not url.startswith("postgresql:"):
        with closing(sqlite3.connect(url, timeout=60)) as connection, connection:
            row = connection.execute(statement).fetchone()
            return row[0] if row else None
    import asyncpg

    postgres: Any = await asyncpg.connect(url)
    try:
        return await postgres.fetchval(statement)
    finally:
        await postgres.close()


async def _size(database: Database) -> int:
    async with database.read() as connection:
        if database.dialect == "sqlite":
            query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        else:
            query = "SELECT pg_database_size(current_database())"
        return int(await connection.scalar(sql(query)) or 0)


async def run(url: str, counts: Sequence[int], meter: CpuMeter) -> list[Scale]:
    database = open_database(url)
    try:
        await database.migrate()
        index = GrowingIndex(database, url, meter)
        scales = []
        for count in counts:
            scale = await index.grow(count)
            print(f"{scale.database}, {count:,} pages: {scale.build_seconds:.0f} s", file=sys.stderr)
            await measure(database, scale, meter)
            scales.append(scale)
        return scales
    finally:
        await database.close()


def report(machine: str, scales: Sequence[Scale]) -> str:
    columns = ["question", *(f"{one.database}, {one.pages:,}" for one in scales)]
    rows = []
    for kind in scales[0].costs:
        cells = []
        for scale in scales:
            costs = scale.costs[kind]
            cpu, wall = sorted(one.cpu for one in costs), sorted(one.wall for one in costs)
            late = int(0.95 * (len(costs) - 1))
            cells.append(f"{median(cpu):.0f}, {cpu[late]:.0f} / {median(wall):.0f}, {wall[late]:.0f}")
        rows.append([kind, *cells])
    rows.append(["index: CPU ms a page", *(f"{one.index_cpu_ms:.1f}" for one in scales)])
    rows.append(["index: kB a page", *(f"{one.kilobytes:.1f}" for one in scales)])
    head = (
        f"CPU of this process and the database / time, each the median and the 95th percentile of {ASKED} "
        f"questions, in milliseconds; the best of {ROUNDS} rounds. {machine}."
    )
    return f"{head}\n\n{table(columns, rows)}"


def document(scales: Sequence[Scale]) -> dict[str, Any]:
    return {
        f"{one.database} {one.pages}": {
            "build_seconds": one.build_seconds,
            "index_cpu_ms": one.index_cpu_ms,
            "kilobytes_per_page": one.kilobytes,
            "milliseconds": {
                kind: {"cpu": [cost.cpu for cost in costs], "wall": [cost.wall for cost in costs]}
                for kind, costs in one.costs.items()
            },
        }
        for one in scales
    }


def main() -> None:
    options = _options()
    counts = sorted(options.pages)
    scales = []
    if options.only != "postgresql":
        with tempfile.TemporaryDirectory(prefix="gossamer-scale-") as folder:
            scales += asyncio.run(run(str(Path(folder) / "gossamer.db"), counts, CpuMeter()))
    if options.only != "sqlite":
        server = PostgresServer("shared_buffers=1GB", "maintenance_work_mem=256MB", "max_wal_size=8GB")
        try:
            server.start()
            url = server.create_database("template1")
            scales += asyncio.run(run(url, counts, CpuMeter(server.pid)))
        finally:
            server.remove()
    machine = this_machine()
    text = report(str(machine), scales)
    print(text)
    if not options.dry:
        save("search_scale", machine, text, document(scales))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, nargs="+", default=[100_000, 1_000_000], help="how many")
    parser.add_argument("--only", choices=DATABASES, help="one of the databases")
    parser.add_argument("--dry", action="store_true", help="do not save the results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
