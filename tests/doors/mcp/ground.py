"""A server with all tools, its workers, and payments on the local chain; and clients at its door."""

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
from tests.doors.fetches import Fetching, opened, say
from tests.doors.services import AS_ADMIN
from tests.pay.shops import ARTICLE, UNLIMITED
from tests.servers.chains.fixtures import Chains
from tests.site.server import Site

ACCEPT = "application/json, text/event-stream"


@dataclass(frozen=True)
class Ground:
    address: str
    fetching: Fetching
    client: httpx.AsyncClient

    @property
    def url(self) -> str:
        return f"{self.address}/mcp"

    def page(self, text: str = ARTICLE, *fields: str, **options: Any) -> str:
        """The address of a page that was never fetched."""
        return self.fetching.site.url(say(text, *fields, **options))

    async def post(self, body: Any, headers: dict[str, str] | None = None, **kwargs: Any) -> httpx.Response:
        sent = {"accept": ACCEPT, **(AS_ADMIN if headers is None else headers)}
        return await self.client.post("/mcp", json=body, headers=sent, **kwargs)

    async def ask(self, method: str, headers: dict[str, str] | None = None, **params: Any) -> Any:
        """The result of a request of the handshake era, or its error."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self.post(body, headers)
        assert answer.status_code == 200, answer.text
        said = answer.json()
        return said.get("result") or said["error"]

    async def call(self, tool: str, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
        return await self.ask("tools/call", headers, name=tool, arguments=arguments)

    async def text(self, tool: str, **arguments: Any) -> str:
        return await self.text_for(None, tool, **arguments)

    async def text_for(self, headers: dict[str, str] | None, tool: str, **arguments: Any) -> str:
        result = await self.call(tool, headers, **arguments)
        assert not result["isError"], result
        text: str = result["content"][0]["text"]
        return text


@asynccontextmanager
async def open_ground(folder: Path, site: Site, **flags: Any) -> AsyncIterator[Ground]:
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    async with opened(folder, site, **{"crawl_delay": "0", **flags}) as fetching:
        service, stop = fetching.visit.service, asyncio.Event()
        running = server(service.app())
        tasks = [
            asyncio.create_task(running.serve(sockets=[listening])),
            asyncio.create_task(service.worker().run(stop)),
            asyncio.create_task(service.crawl_worker().run(stop)),
        ]
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            yield Ground(address, fetching, client)
        stop.set()
        running.stop()
        await asyncio.gather(*tasks)


@pytest.fixture(scope="module")
async def ground(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, site: Site, chains: Chains
) -> AsyncIterator[Ground]:
    """One for all tests of a module."""
    folder = tmp_path_factory.mktemp("mcp")
    copy(sqlite_template, folder)
    async with open_ground(folder, site, **chains.settings, **UNLIMITED) as found:
        yield found
