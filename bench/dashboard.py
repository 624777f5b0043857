"""Dashboard: how fast its pages answer over a million stored pages, and what 50 open ones cost.

A database is filled with a million crawled pages in a hundred crawls, 10,000 jobs and an hour of counts.
Every page is asked for in turn, several rounds, as an admin and as a user. Then followers of the overview are
opened, and the server's CPU is compared with that of the idle server.
"""

import argparse
import asyncio
import hashlib
import io
import sqlite3
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx
import psutil  # type: ignore[import-untyped]

from bench import cache_settings, servers
from bench.table import save, table, this_machine
from gossamer.app import Service
from gossamer.flows.tenants.people import NewUser
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings
from gossamer.state.tenants.activity import Actor

PATHS: Final = (
    *("/app", "/app/playground", "/app/crawls", "/app/pages", "/app/domains", "/app/jobs", "/app/audits"),
    *("/app/cache", "/app/keys", "/app/usage", "/app/activity", "/app/health"),
)
CRAWLS: Final = 100
JOBS: Final = 10_000
PASSWORD: Final = "several words in a row"
BATCH: Final = 10_000
TARGET_MS: Final = 100


async def prepare(folder: str) -> tuple[str, str, dict[str, str]]:
    """Make the schema and two people. The tenant's id, the key, and a link of each person by role."""
    key = cache_settings.new_key()
    settings = Settings.load({}, None, {"data_dir": f"{folder}/data", "bootstrap_key": key})
    service = Service(settings, Log(io.StringIO()))
    try:
        await service.prepare()
        links = {}
        for role in ("admin", "user"):
            new = NewUser(
                email=f"{role}@example.com",
                role="admin" if role == "admin" else "user",
                tenant="u@example.com",
            )
            invited = await service.people.add(new, Actor("bench"))
            links[role] = invited.token
        return invited.user.tenant_id, key, links
    finally:
        await service.close()


def fill(folder: str, tenant_id: str, pages: int, now: int) -> None:
    with sqlite3.connect(Path(folder, "data", "gossamer.db")) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(crawled_pages)")]
        database.execute("PRAGMA synchronous = OFF")
        for number in range(CRAWLS):
            crawl(database, number, tenant_id, pages // CRAWLS, now)
        rows: list[tuple[object, ...]] = []
        for row in stored_pages(columns, pages, now):
            rows.append(row)
            if len(rows) == BATCH:
                insert(database, "crawled_pages", columns, rows)
        insert(database, "crawled_pages", columns, rows)
        jobs(database, tenant_id, now)


def crawl_id(number: int) -> str:
    return f"01JCRAWL{number:018d}"


def crawl(database: sqlite3.Connection, number: int, tenant_id: str, pages: int, now: int) -> None:
    row: dict[str, object] = {
        "id": crawl_id(number),
        "tenant_id": tenant_id,
        "name": f"Crawl {number}",
        "state": "running" if number < 3 else "done",
        "is_default": 0,
        "spec_json": '{"spec":{"seeds":["https://example.com/"]}}',
        "max_pages": 10_000_000,
        "pending": 500 if number < 3 else 0,
        "in_progress": 0,
        "completed": pages,
        "failed": 0,
        "blocked": 0,
        "pages": pages,
        "bytes": pages * 9_000,
        "created_at": now - 9_000_000 + number,
        "started_at": now - 8_000_000,
        "finished_at": None if number < 3 else now - 1_000,
        "request_id": "wl_bench",
    }
    fill_row(database, "crawls", row)
    for minute in range(60):
        fill_row(
            database,
            "crawl_minutes",
            {
                "crawl_id": crawl_id(number),
                "minute": now // 60_000 - minute,
                "fetched": 40,
                "status_2xx": 38,
                "status_4xx": 2,
            },
        )


def stored_pages(columns: list[str], pages: int, now: int) -> Iterator[tuple[object, ...]]:
    for number in range(pages):
        url = f"https://host{number % 997}.example/section/{number % 31}/article-{number}"
        values = {
            "crawl_id": crawl_id(number % CRAWLS),
            "url_hash": hashlib.sha256(url.encode()).hexdigest(),
            "url": url,
            "final_url": url,
            "host": f"host{number % 997}.example:443",
            "status_code": 200 if number % 50 else 404,
            "content_type": "text/html",
            "content_length": 9_000,
            "title": f"Article {number}",
            "language": "en",
            "via": "link",
            "outcome": "ok" if number % 50 else "not_found",
            "crawled_at": now - pages + number,
        }
        yield tuple(values.get(column, default(column)) for column in columns)


def default(column: str) -> object:
    if column in ("duplicate_of", "blob"):
        return None
    is_number = column.endswith(("_count", "_ms", "_size", "_offset", "_length")) or column == "depth"
    return 0 if is_number else ""


def jobs(database: sqlite3.Connection, tenant_id: str, now: int) -> None:
    for number in range(JOBS):
        is_done = number % 10 != 0
        row: dict[str, object] = {
            "job_id": f"01JJOB{number:020d}",
            "tenant_id": tenant_id,
            "kind": ("audit", "render", "batch")[number % 3],
            "status": "done" if is_done else "queued",
            "priority": 2,
            "attempt": int(is_done),
            "max_attempts": 3,
            "queued_at": now - 5_000,
            "run_at": now - 5_000,
            "started_at": now - 4_000 if is_done else None,
            "finished_at": now - 3_000 if is_done else None,
            "cancel_requested": 0,
            "payload_json": '{"url":"https://example.com/"}',
            "progress_pct": 100 * is_done,
            "event_seq": 0,
            "request_id": "wl_bench",
        }
        fill_row(database, "jobs", row)


def fill_row(database: sqlite3.Connection, name: str, row: dict[str, object]) -> None:
    """Insert a row; columns that must not be empty and are not named get a zero or an empty text."""
    for _, column, kind, required, given, _ in database.execute(f"PRAGMA table_info({name})").fetchall():
        if required and given is None and column not in row:
            row[column] = 0 if "INT" in kind or kind == "BOOLEAN" else ""
    insert(database, name, list(row), [tuple(row.values())])


def insert(
    database: sqlite3.Connection, name: str, columns: list[str], rows: list[tuple[object, ...]]
) -> None:
    marks = ", ".join("?" * len(columns))
    database.executemany(f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({marks})", rows)
    rows.clear()


def sign_in(address: str, token: str) -> httpx.Client:
    client = httpx.Client(base_url=address, timeout=60)
    client.post("/api/auth/link", json={"token": token, "password": PASSWORD}).raise_for_status()
    return client


def measure(client: httpx.Client, path: str, rounds: int) -> list[float]:
    """Milliseconds."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        client.get(path).raise_for_status()
        times.append((time.perf_counter() - started) * 1_000)
    return times


def cpu_share(pid: int, seconds: float) -> float:
    """Of a core, in per cent."""
    process = psutil.Process(pid)
    before = sum(process.cpu_times()[:2])
    time.sleep(seconds)
    return float(sum(process.cpu_times()[:2]) - before) / seconds * 100


def follow(stack: ExitStack, client: httpx.Client) -> None:
    """Open the overview's stream and leave it open. What arrives stays in the socket."""
    stream = client.stream("GET", "/api/stats/stream", headers={"Accept": "text/event-stream"})
    stack.enter_context(stream).raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench dashboard", description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--followers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    chosen = parser.parse_args()
    servers.stop_when_terminated()
    machine = this_machine()
    with TemporaryDirectory() as folder:
        tenant_id, key, links = asyncio.run(prepare(folder))
        servers.say(f"dashboard: storing {chosen.pages:,} pages and {JOBS:,} jobs")
        fill(folder, tenant_id, chosen.pages, int(time.time() * 1_000))
        quiet = {"GOSSAMER_SERVE_WORKER": "no", "GOSSAMER_LOG_LEVEL": "error"}
        with servers.gossamer(Path(folder), quiet) as server:
            address = server.address
            times = {
                role: {path: measure(client, path, chosen.rounds) for path in PATHS}
                for role, client in ((role, sign_in(address, token)) for role, token in links.items())
            }
            servers.say("dashboard: followers of the overview")
            idle = cpu_share(server.pid, chosen.seconds)
            with ExitStack() as stack:
                followers = stack.enter_context(
                    httpx.Client(
                        base_url=address,
                        timeout=None,
                        headers={"Authorization": f"Bearer {key}"},
                        limits=httpx.Limits(max_connections=None),
                    )
                )
                for _ in range(chosen.followers):
                    follow(stack, followers)
                followed = cpu_share(server.pid, chosen.seconds)
    rows = [
        [path, *(f"{pick(times[role][path]):.0f}" for role in times for pick in (statistics.median, max))]
        for path in PATHS
    ]
    text = (
        f"{machine}\n\n{chosen.pages:,} pages, {JOBS:,} jobs, {chosen.rounds} rounds; milliseconds, SQLite. "
        f"Target for the overview: {TARGET_MS} ms.\n\n"
        + table(["page", "admin, median", "admin, longest", "user, median", "user, longest"], rows)
        + f"\n\n{chosen.followers} open overviews cost {followed - idle:.1f} % of a core; "
        f"the idle server costs {idle:.1f} %.\n"
    )
    print(text)
    save(
        "dashboard",
        machine,
        text,
        {"times": times, "idle": idle, "followed": followed, "pages": chosen.pages},
    )


if __name__ == "__main__":
    main()
