"""A server on a socket, with workers, for clients of other products that run as processes of their own."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copy
from typing import Any

import httpx
import pytest

from gossamer.doors.http.server.server import server
from tests.clients import clients_python
from tests.doors.crawls import crawling
from tests.doors.fetches import Fetching, numbers, opened
from tests.doors.renders import at_work
from tests.doors.services import ADMIN_KEY
from tests.programs import run, usual_environ
from tests.site.server import Site

SOURCE = Path(__file__).parents[2] / "src"


@dataclass(frozen=True)
class Served(Fetching):
    """A service that may visit the site, behind a socket."""

    folder: Path
    url: str
    http: httpx.AsyncClient  # with a key

    async def run_client(self, program: str, *arguments: str) -> Any:
        """Run a program with the other products' clients; the JSON that it prints last."""
        python = await asyncio.to_thread(clients_python)
        file = self.folder / f"program_{next(numbers)}.py"  # Scrapy reads the source of its spiders
        file.write_text(program)
        environ = usual_environ(PYTHONPATH=str(SOURCE))  # as if our package were installed there
        return (await run(environ, python, file, self.url, ADMIN_KEY, *arguments)).last_json()


@pytest.fixture(scope="module")
async def served(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, site: Site
) -> AsyncIterator[Served]:
    """One for all tests of a module. It crawls without pauses."""
    folder = tmp_path_factory.mktemp("service")
    copy(sqlite_template, folder)
    async with (
        opened(folder, site, crawl_delay="0") as fetching,
        at_work(fetching.visit),
        crawling(fetching.visit),
        _serving(fetching) as url,
        httpx.AsyncClient(
            base_url=url, headers={"Authorization": f"Bearer {ADMIN_KEY}"}, timeout=60, verify=False
        ) as client,
    ):
        yield Served(fetching.visit, site, fetching.names, folder, url, client)


@asynccontextmanager
async def _serving(fetching: Fetching) -> AsyncIterator[str]:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    serving = server(fetching.visit.service.app())
    running = asyncio.create_task(serving.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        serving.stop()
        await running
