"""The processes that a server starts for crawls, and for what becomes of them in the search index."""

import asyncio
import io
import signal
import socket
import sys
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]
import pytest
from sqlalchemy import select
from tests.doors.processes import Start
from tests.site.server import Site

from gossamer.doors.worker.children import Children
from gossamer.doors.worker.fork_server import COMMAND
from gossamer.doors.worker.forked_process import ForkServer
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.settings.settings import Settings
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.db.database import Database, open_database
from gossamer.state.db.tables import search_pages
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.web.crawl.spec import CrawlSpec

SECONDS = 60.0
KINDS = ("crawl", "index")
TOKEN = "a-token-for-prometheus"


async def crawl(folder: Path, url: str) -> None:
    """Until it is done, and what it stored can be found, by whoever does it."""
    database = open_database(f"sqlite:///{folder}/gossamer.db")
    await database.migrate()
    crawls, spec = Crawls(database), CrawlSpec(seeds=(url,), max_depth=0, delay=0.0)
    made = await crawls.create(PUBLIC, spec, urls=seeds_of(spec))
    async with asyncio.timeout(SECONDS):
        while (found := await crawls.get(made.id)) is not None and found.state == "running":
            await asyncio.sleep(0.05)
    assert found is not None
    assert (found.state, found.counts.pages) == ("done", 1)
    await until_found(database, url)
    await database.close()


async def until_found(database: Database, url: str) -> None:
    which = select(search_pages.c.id).where(search_pages.c.final_url == url)
    async with asyncio.timeout(SECONDS):
        while True:
            async with database.read() as connection:
                if await connection.scalar(which) is not None:
                    return
            await asyncio.sleep(0.05)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


async def scrape(port: int | str, wanted: str) -> str:
    """The metrics, as soon as they have this series."""
    async with asyncio.timeout(SECONDS), httpx.AsyncClient(timeout=SECONDS) as client:
        while wanted not in (text := (await client.get(f"http://127.0.0.1:{port}/metrics")).text):
            await asyncio.sleep(0.1)
        return text


def child_of(server: psutil.Process, kind: str) -> psutil.Process:
    """They are children of its fork server."""
    (fork_server,) = [child for child in server.children() if COMMAND in child.cmdline()]
    (child,) = [child for child in fork_server.children() if child.name() == f"gossamer {kind}"]
    return child


async def test_a_server_crawls_in_a_child_that_is_there_when_it_is_needed_and_ends_with_it(
    processes: Start, tmp_path: Path, site: Site
) -> None:
    serving = processes("gossamer", "serve", egress_allow="127.0.0.0/8", egress_ports="*")
    port = (await asyncio.to_thread(serving.line)).split()[3].rpartition(":")[2]
    server = psutil.Process(serving.process.pid)
    assert server.children() == []
    await crawl(tmp_path, site.url("/ok?children"))
    children = [child_of(server, kind) for kind in KINDS]
    for child in children:
        child.send_signal(signal.SIGKILL)  # another takes its place
    await crawl(tmp_path, site.url("/ok?children=2"))
    others = [child_of(server, kind) for kind in KINDS]
    assert {other.pid for other in others}.isdisjoint(child.pid for child in children)
    text = await scrape(port, 'gossamer_fetches_total{child="crawl-1",outcome="2xx"}')
    assert 'gossamer_child_restarts_total{kind="crawl"} 1.0' in text
    assert 'process_open_fds{child="index-1"}' in text
    assert "gossamer_queue_jobs{child" not in text  # the database says it once, for all
    fork_server = others[0].parent()
    assert fork_server.num_threads() == 1  # which may fork at any time
    serving.process.send_signal(signal.SIGKILL)
    for other in (*others, fork_server):
        await asyncio.to_thread(other.wait, SECONDS)


async def test_a_worker_leaves_the_search_index_to_a_child(
    processes: Start, tmp_path: Path, site: Site
) -> None:
    port, reach = free_port(), {"egress_allow": "127.0.0.0/8", "egress_ports": "*"}
    working = processes("gossamer", "worker", port=8080, metrics_port=port, metrics_token=TOKEN, **reach)
    await crawl(tmp_path, site.url("/ok?worker"))
    text = await scrape(port, 'process_open_fds{child="index-1"}')
    assert 'gossamer_fetches_total{outcome="2xx"}' in text
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS) as client:
        assert (await client.get("/health/live")).status_code == 200
        proxied = {"X-Forwarded-For": "203.0.113.9"}
        assert (await client.get("/metrics", headers=proxied)).status_code == 401
        with_token = {**proxied, "Authorization": f"Bearer {TOKEN}"}
        assert (await client.get("/metrics", headers=with_token)).status_code == 200
        assert (await client.get("/api/me")).status_code == 404
    child = child_of(psutil.Process(working.process.pid), "index")
    working.process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(working.process.wait, SECONDS) == 0
    await asyncio.to_thread(child.wait, SECONDS)


async def test_a_child_that_cannot_be_started_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, started, stream = tmp_path / "python", tmp_path / "started", io.StringIO()
    monkeypatch.setattr(sys, "executable", str(program))

    async def are_wanted() -> bool:
        return True

    stop, fork_server = asyncio.Event(), ForkServer()
    database = open_database(f"sqlite:///{tmp_path}/gossamer.db")
    wakeups = open_wakeups(database)
    running = asyncio.create_task(
        Children(
            Settings.load({}), "crawl", 1, are_wanted, fork_server, wakeups, Log(stream), Metrics("0")
        ).run(stop)
    )
    async with asyncio.timeout(SECONDS):
        while "child_not_started" not in stream.getvalue():
            assert not running.done(), running.result()
            await asyncio.sleep(0.01)
        program.write_text(f"#!/bin/sh\ntouch {started}\n")
        program.chmod(0o700)
        while not started.exists():
            await asyncio.sleep(0.01)
    stop.set()
    await running
    await fork_server.close()
    await wakeups.close()
    await database.close()
