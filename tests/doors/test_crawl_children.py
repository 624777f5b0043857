"""The processes that a server starts for crawls."""

import asyncio
import signal
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from gossamer.flows.crawl.seeds import seeds_of
from gossamer.state.crawls import Crawls, Spec
from gossamer.state.database import open_database
from gossamer.state.tenants import PUBLIC
from tests.doors.processes import Start
from tests.site.server import Site

SECONDS = 60.0


async def crawl(folder: Path, url: str) -> None:
    """Until it is done, by whoever does it."""
    database = open_database(f"sqlite:///{folder}/gossamer.db")
    crawls, spec = Crawls(database), Spec(seeds=(url,), max_depth=0, delay=0.0)
    made = await crawls.create(PUBLIC, spec, urls=seeds_of(spec))
    async with asyncio.timeout(SECONDS):
        while (found := await crawls.get(made.id)) is not None and found.state == "running":
            await asyncio.sleep(0.05)
    assert found is not None
    assert (found.state, found.counts.pages) == ("done", 1)
    await database.close()


async def test_a_server_crawls_in_a_child_that_is_there_when_it_is_needed_and_ends_with_it(
    processes: Start, tmp_path: Path, site: Site
) -> None:
    serving = processes("gossamer", "serve", egress_allow="127.0.0.0/8", egress_ports="*")
    await asyncio.to_thread(serving.line)
    server = psutil.Process(serving.process.pid)
    assert server.children() == []
    await crawl(tmp_path, site.url("/ok?children"))
    (child,) = server.children()
    assert "crawl" in child.cmdline()
    child.send_signal(signal.SIGKILL)  # another takes its place
    await crawl(tmp_path, site.url("/ok?children=2"))
    (other,) = server.children()
    assert other.pid != child.pid
    serving.process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(other.wait, SECONDS)
