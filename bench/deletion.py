"""What others notice of a large deletion: cached pages are fetched while a crawl is deleted beside them.

    scripts/bench deletion [--urls 1000000] [--database sqlite|postgres|both]

A server serves a cached page and deletes the crawl at the same time. The client asks at a steady rate, and
measures each request from the moment it was due: first with nothing else to do, then during the deletion.
"""

import argparse
import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx
from sqlalchemy import insert, text, update

from bench import cache_settings, servers
from bench.jobs import DurableServer
from bench.table import save, table, this_machine
from gossamer.state.blobs.blobs import open_blobs
from gossamer.state.crawl.crawl_tables import crawl_blobs, crawled_pages, crawls, frontier
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.db.database import Database, open_database
from gossamer.state.tenants import tenants
from gossamer.web.crawl.spec import CrawlSpec

HEAD: Final = ("database", "meanwhile", "requests", "p50", "p95", "p99", "slowest", "failed", "seconds")
RATE: Final = 20  # requests a second
QUIET_SECONDS: Final = 15.0
AT_ONCE: Final = 5_000  # rows that are stored in one transaction
PAGES_IN_BLOB: Final = 100
NOW: Final = 1_790_000_000_000


@dataclass(frozen=True, slots=True)
class Measured:
    database: str
    when: str
    times: list[float]  # seconds
    failed: int
    seconds: float

    def share(self, share: float) -> str:
        ordered = sorted(self.times)
        return f"{ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000:.1f}"

    def row(self) -> list[str]:
        columns = [self.share(0.5), self.share(0.95), self.share(0.99), self.share(1.0)]
        return [
            self.database,
            self.when,
            f"{len(self.times):,}",
            *columns,
            str(self.failed),
            f"{self.seconds:.0f}",
        ]


async def store(database: Database, folder: Path, number: int) -> str:
    """A crawl with this many URLs; every second one has a page."""
    async with database.write() as connection:
        tenant = await tenants.ensure_tenant(connection, "bench@example.com")
    crawl = await Crawls(database).create(tenant.id, CrawlSpec(seeds=("http://a/",), max_pages=number))
    blobs = open_blobs(f"file://{folder}/data/blobs", {})
    for first in range(0, number, AT_ONCE):
        numbers = range(first, min(number, first + AT_ONCE))
        names = sorted({_blob(each) for each in numbers})
        for name in names:
            await blobs.put(name, b"content")
        async with database.write(seconds=600) as connection:
            await connection.execute(insert(frontier), [_url(crawl.id, each) for each in numbers])
            pages = [_page(crawl.id, each) for each in numbers if each % 2]
            await connection.execute(insert(crawled_pages), pages)
            rows = [{"blob": name, "crawl_id": crawl.id} for name in names]
            await connection.execute(insert(crawl_blobs), rows)
    async with database.write(seconds=600) as connection:
        done = update(crawls).where(crawls.c.id == crawl.id)
        over = {"state": "done", "finished_at": NOW}
        await connection.execute(done.values(completed=number, pages=number // 2, **over))
        if database.dialect == "postgresql":
            await connection.execute(text("ANALYZE"))
    await blobs.close()
    return crawl.id


def _blob(number: int) -> str:
    return f"crawls/{number // PAGES_IN_BLOB:026}"


def _url(crawl_id: str, number: int) -> dict[str, Any]:
    return {
        "crawl_id": crawl_id,
        "url_hash": f"{number * 2_654_435_761 % 2**64:064x}",
        "url": f"http://a.example/{number}",
        "host": "a.example:80",
        "priority": 2,
        "depth": 1,
        "state": "completed",
        "attempt": 1,
        "lapses": 0,
        "due_at": NOW,
        "added_at": NOW,
        "updated_at": NOW,
        "reason": "",
    }


def _page(crawl_id: str, number: int) -> dict[str, Any]:
    url = _url(crawl_id, number)
    texts = ("content_type", "content_hash", "fingerprint", "title", "description", "language", "canonical")
    return {
        **{name: url[name] for name in ("crawl_id", "url_hash", "url", "host", "depth")},
        **dict.fromkeys((*texts, "directives", "error"), ""),
        **dict.fromkeys(("content_length", "links_count", "duration_ms", "blob_offset", "blob_size"), 0),
        "final_url": url["url"],
        "status_code": 200,
        "duplicate_of": None,
        "via": "fetch",
        "crawled_at": NOW + number // PAGES_IN_BLOB,
        "outcome": "ok",
        "blob": _blob(number),
    }


@asynccontextmanager
async def page() -> AsyncIterator[str]:
    """A site with one page."""
    body = b"<!doctype html><title>A page</title><p>" + b"Something to read. " * 100
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(head + body)
                await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


async def fetch(client: httpx.AsyncClient, target: str) -> httpx.Response:
    return await client.post("/fetch", params={"cache": "true"}, json={"url": target})


class Asker:
    """Asks for a cached page at a steady rate, whatever the answers do."""

    def __init__(self, client: httpx.AsyncClient, target: str) -> None:
        self.client, self.target = client, target
        self.times: list[float] = []
        self.failed = 0
        self._asking: set[asyncio.Task[None]] = set()

    async def ask_until(self, stop: asyncio.Event) -> None:
        due = time.perf_counter()
        while not stop.is_set():
            due += 1 / RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            task = asyncio.create_task(self._ask(due))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        await asyncio.gather(*self._asking)

    async def _ask(self, due: float) -> None:
        answer = await fetch(self.client, self.target)
        self.times.append(time.perf_counter() - due)
        self.failed += answer.status_code != 200


async def measure(name: str, database_url: str, folder: Path, number: int) -> list[Measured]:
    folder.mkdir()
    database = open_database(database_url)
    await database.migrate()
    servers.say(f"{name}: storing {number:,} URLs")
    crawl_id = await store(database, folder, number)
    await database.close()
    key = cache_settings.new_key()
    settings = {**cache_settings.settings(key), "GOSSAMER_DATABASE_URL": database_url}
    cores = servers.share_cores()
    async with page() as target:
        with servers.gossamer(folder, settings, cores=cores.server) as server:
            headers = {"Authorization": f"Bearer {key}"}
            async with httpx.AsyncClient(base_url=server.address, headers=headers, timeout=60.0) as client:
                return await _compare(name, client, target, crawl_id)


async def _compare(name: str, client: httpx.AsyncClient, target: str, crawl_id: str) -> list[Measured]:
    (await fetch(client, target)).raise_for_status()
    quiet, busy = Asker(client, target), Asker(client, target)
    stop = asyncio.Event()
    asking = asyncio.create_task(quiet.ask_until(stop))
    await asyncio.sleep(QUIET_SECONDS)
    stop.set()
    await asking
    servers.say(f"{name}: deleting")
    stop, began = asyncio.Event(), time.perf_counter()
    asking = asyncio.create_task(busy.ask_until(stop))
    job = (await client.delete(f"/api/crawls/{crawl_id}")).raise_for_status().json()
    while not (state := (await client.get(job["statusUrl"])).json())["finishedAt"]:
        await asyncio.sleep(0.5)
    took = time.perf_counter() - began
    stop.set()
    await asking
    if state["status"] != "done":
        raise SystemExit(f"the deletion ended as {state['status']}: {state['error']}")
    return [
        Measured(name, "nothing else", quiet.times, quiet.failed, QUIET_SECONDS),
        Measured(name, "deleting", busy.times, busy.failed, took),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    given = parser.parse_args()
    servers.stop_when_terminated()
    found: list[Measured] = []
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="bench-deletion-"))
        urls = {}
        if given.database != "postgres":
            urls["SQLite"] = f"sqlite:///{folder}/gossamer.db"
        if given.database != "sqlite":
            postgres = DurableServer()
            stack.callback(postgres.remove)
            postgres.start()
            postgres.sql("CREATE DATABASE deletion")
            urls["PostgreSQL"] = postgres.url_of("deletion")
        for name, url in urls.items():
            found += asyncio.run(measure(name, url, Path(folder, name), given.urls))
    machine = this_machine()
    shown = table(HEAD, [each.row() for each in found])
    told = (
        f"{machine}\n\nA cached page is fetched {RATE} times a second, by the clock, while the same server "
        f"deletes a crawl of {given.urls:,} URLs. Every second URL has a page; {PAGES_IN_BLOB} URLs share a "
        f"blob. Milliseconds from the moment a request was due.\n\n{shown}\n"
    )
    print(told)
    save("deletion", machine, told, {"urls": given.urls, "rows": [each.row() for each in found]})


if __name__ == "__main__":
    main()
