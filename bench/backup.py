"""Backup and restore: rows and megabytes a second, beside the databases' own tools and restic.

One installation on each database: crawled pages with their URLs, every tenth in the search index, and blobs.
Ours includes what the others leave out: reading back and comparing, the blobs, and the words of the index,
which are made again. Restic copies a copy of the database, since it may not read one in use, and the blobs.
CPU seconds are those of all processes that take part. "MB there" is what stands at the place or the store of
blobs afterwards; a second backup adds only rows. Restored rows are in the database and not among them. The
encrypted restore comes second and replaces the rows of the first, which takes time of its own.
"""

import argparse
import asyncio
import hashlib
import os
import random
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import psutil  # type: ignore[import-untyped]
from tests.contract.backup.backup_ground import row_of

from bench import servers
from bench.jobs import DurableServer
from bench.servers import say
from bench.table import Machine, save, table, this_machine
from gossamer.flows.data.backup.back_up import BackupMaker
from gossamer.flows.data.backup.restore import Restorer
from gossamer.state.backup.backup_place import open_place
from gossamer.state.backup.dumped_tables import DUMPED, FACETS, Row
from gossamer.state.backup.row_store import open_target
from gossamer.state.blobs.blobs import open_blobs
from gossamer.state.crawl.crawl_tables import crawled_pages, frontier
from gossamer.state.db.database import open_database
from gossamer.state.db.tables import search_pages
from gossamer.state.kv.hot_memory import MemoryHot

PAGES: Final = 200_000
SEARCHED: Final = 10  # one page in so many is in the search index
BLOB_BYTES: Final = 200_000
PAGES_IN_A_BLOB: Final = 100
CRAWL: Final = "01J00000000000000000000001"
KEY: Final = "a key for a measurement"
WORDS: Final = ("web", "page", "link", "crawl", "text", "spider", "thread", "silk", "gossamer", "autumn")

Work = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Measured:
    what: str
    wall: float
    cpu: float
    rows: int
    megabytes: float  # that it left on the disk

    def cells(self) -> list[str]:
        rate = f"{self.rows / self.wall:,.0f}" if self.rows else "-"
        speed, size = f"{self.megabytes / self.wall:,.0f}", f"{self.megabytes:,.0f}"
        return [self.what, f"{self.wall:.1f}", f"{self.cpu:.1f}", rate, size, speed]


def pages_of(numbers: range) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """A crawled page and its URL."""
    for number in numbers:
        name, url = (
            hashlib.sha256(str(number).encode()).hexdigest(),
            f"https://h{number % 100}.example/page/{number}",
        )
        blob = f"crawls/{number // PAGES_IN_A_BLOB:08}"
        known = {"crawl_id": CRAWL, "url_hash": name, "url": url, "host": f"h{number % 100}.example:443"}
        title = " ".join(random.Random(number).choices(WORDS, k=8))
        told = {"title": title, "description": title * 2, "content_hash": name}
        page = {**known, **told, "final_url": url, "blob": blob}
        yield row_of(crawled_pages, page), row_of(frontier, {**known, "state": "completed", "priority": 2})


def searched_of(numbers: range) -> Iterator[Row]:
    for number in numbers:
        words = random.Random(number).choices(WORDS, k=600)
        url = f"https://h{number % 100}.example/page/{number}"
        page = {"id": number + 1, "name": f"{number:064}", "url": url, "final_url": url}
        page["text"] = " ".join(words)
        row = {**row_of(search_pages, page), FACETS: "t1 s1"}
        yield tuple(row.get(name) for name in DUMPED["search_pages"].columns)


async def fill(url: str, blobs_url: str, pages: int) -> int:
    """Returns the number of rows."""
    database = open_database(url)
    await database.migrate()
    await database.close()
    count = 0
    async with open_target(url) as rows:
        for start in range(0, pages, 10_000):
            made = list(pages_of(range(start, min(start + 10_000, pages))))
            for table_, place in ((crawled_pages, 0), (frontier, 1)):
                dumped = DUMPED[table_.name]
                batch = [tuple(pair[place].get(name) for name in dumped.columns) for pair in made]
                await rows.insert(dumped, dumped.columns, batch)
                count += len(batch)
        for start in range(0, pages // SEARCHED, 2_000):
            found = list(searched_of(range(start, min(start + 2_000, pages // SEARCHED))))
            await rows.insert(DUMPED["search_pages"], DUMPED["search_pages"].columns, found)
            count += len(found)
        names = [f"crawls/{number:08}" for number in range(-(-pages // PAGES_IN_A_BLOB))]
        await rows.insert(DUMPED["crawl_blobs"], ("blob", "crawl_id"), [(name, CRAWL) for name in names])
    blobs = open_blobs(blobs_url, os.environ)
    for name in names:
        await blobs.put(name, random.Random(name).randbytes(BLOB_BYTES))
    await blobs.close()
    return count + len(names)


class Stopwatch:
    """Wall and CPU time of this process, its children, and of servers that take part."""

    def __init__(self, *served: int) -> None:
        self._served = served
        self._began, self._before = time.monotonic(), self._cpu()

    def read(self) -> tuple[float, float]:
        return time.monotonic() - self._began, self._cpu() - self._before

    def _cpu(self) -> float:
        own = os.times()
        ours = own.user + own.system + own.children_user + own.children_system
        return ours + sum(map(_cpu_of, self._served))


def _cpu_of(pid: int) -> float:
    total = 0.0
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        times = process.cpu_times()
        total += times.user + times.system + times.children_user + times.children_system
    return total


def size_of(path: Path) -> float:
    if path.is_file():
        return path.stat().st_size / 1e6
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file()) / 1e6


@dataclass(frozen=True, slots=True)
class Scene:
    """Where one installation is, and where its copies go."""

    name: str
    folder: Path
    url: str
    empty_url: str
    rows: int
    pids: tuple[int, ...]

    async def measure(self, what: str, work: Work, left: Path, rows: int) -> Measured:
        watch = Stopwatch(*self.pids)
        await work()
        wall, cpu = watch.read()
        say(f"{self.name}: {what}: {wall:.1f} s")
        return Measured(f"{self.name}: {what}", wall, cpu, rows, size_of(left))

    async def ours(self, key: str) -> list[Measured]:
        where, restored = self.folder / f"backup{bool(key):d}", self.folder / f"restored{bool(key):d}"
        blobs = open_blobs(f"file://{self.folder}/blobs", os.environ)
        place = await open_place(str(where), key, os.environ, create=True)
        database, target = open_database(self.url), open_database(self.empty_url)
        target_blobs = open_blobs(f"file://{restored}", os.environ)

        async def back_up() -> None:
            await BackupMaker(database=database, database_url=self.url, blobs=blobs, place=place).run()

        async def restore() -> None:
            restorer = Restorer(
                database=target, database_url=self.empty_url, blobs=target_blobs, hot=MemoryHot(), place=place
            )
            await restorer.run(await place.newest(), replace=True)

        sealed = ", encrypted" if key else ""
        measured = [
            await self.measure(f"gossamer backup{sealed}", back_up, where, self.rows),
            await self.measure(f"gossamer backup again{sealed}", back_up, where, self.rows),
            await self.measure(f"gossamer restore{sealed}", restore, restored, self.rows),
        ]
        for opened in (database, target, blobs, target_blobs, place):
            await opened.close()
        shutil.rmtree(where)
        shutil.rmtree(restored)
        return measured

    async def run(self, what: str, command: list[str], left: Path, rows: int, **environ: str) -> Measured:
        async def work() -> None:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environ})

        return await self.measure(what, work, left, rows)


async def measure_sqlite(folder: Path, pages: int) -> list[Measured]:
    path = folder / "gossamer.db"
    url = f"sqlite:///{path}"
    rows = await fill(url, f"file://{folder}/blobs", pages)
    scene = Scene("SQLite", folder, url, f"sqlite:///{folder}/empty.db", rows, ())
    measured = await scene.ours("") + await scene.ours(KEY)
    copy = folder / "copy.db"
    if shutil.which("sqlite3"):
        copying = ["sqlite3", str(path), f".backup {copy}"]
        measured.append(await scene.run("sqlite3 .backup (no blobs)", copying, copy, rows))
    if shutil.which("restic") and copy.exists():
        safe = folder / "restic"
        key = {"RESTIC_PASSWORD": KEY, "RESTIC_REPOSITORY": str(safe), "XDG_CACHE_HOME": str(folder)}
        subprocess.run(["restic", "init", "-q"], check=True, env={**os.environ, **key})
        saved = ["restic", "backup", "-q", str(copy), str(folder / "blobs")]
        measured.append(await scene.run("restic backup", saved, safe, rows, **key))
        back = folder / "back"
        restoring = ["restic", "restore", "-q", "latest", "--target", str(back)]
        measured.append(await scene.run("restic restore", restoring, back, rows, **key))
    return measured


async def measure_postgres(folder: Path, pages: int, server: DurableServer) -> list[Measured]:
    server.sql("CREATE DATABASE full_one")
    server.sql("CREATE DATABASE empty_one")
    url, empty = server.url_of("full_one"), server.url_of("empty_one")
    rows = await fill(url, f"file://{folder}/blobs", pages)
    scene = Scene("PostgreSQL", folder, url, empty, rows, (server.pid,))
    measured = await scene.ours("") + await scene.ours(KEY)
    dump = folder / "dump"
    dumping = [str(server.programs / "pg_dump"), "-Fc", "-f", str(dump), url]
    measured.append(await scene.run("pg_dump -Fc (no blobs)", dumping, dump, rows))
    server.sql("CREATE DATABASE other_one")
    restoring = [str(server.programs / "pg_restore"), "-d", server.url_of("other_one"), str(dump)]
    measured.append(await scene.run("pg_restore (no blobs)", restoring, dump, rows))
    return measured


def report(machine: Machine, pages: int, measured: list[Measured]) -> str:
    columns = ["", "wall s", "CPU s", "rows/s", "MB there", "MB/s"]
    blobs = -(-pages // PAGES_IN_A_BLOB)
    about = (
        f"{pages:,} crawled pages with their URLs, {pages // SEARCHED:,} of them in the search index, "
        f"{blobs:,} blobs of {BLOB_BYTES / 1000:.0f} kB."
    )
    measures = table(columns, [each.cells() for each in measured])
    explained = (__doc__ or "").partition("\n")[2].strip()
    return f"# Backup\n\n{machine}\n\n{about}\n\n{measures}\n\n{explained}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=PAGES)
    pages = parser.parse_args().pages
    servers.stop_when_terminated()
    machine = this_machine()
    with ExitStack() as stack:
        folder = Path(mkdtemp(prefix="gossamer-bench-"))
        stack.callback(shutil.rmtree, folder)
        server = DurableServer()
        stack.callback(server.remove)
        server.start()
        (folder / "sqlite").mkdir()
        (folder / "postgres").mkdir()
        measured = asyncio.run(measure_sqlite(folder / "sqlite", pages))
        measured += asyncio.run(measure_postgres(folder / "postgres", pages, server))
    text = report(machine, pages, measured)
    print(text)
    save("backup", machine, text, {"pages": pages, "measured": [asdict(each) for each in measured]})


if __name__ == "__main__":
    main()
