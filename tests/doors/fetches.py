"""A service that may reach the test site, and whatever a test wants to be said there."""

import asyncio
import io
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copy
from typing import Any

import httpx
import pytest

from gossamer.observe.logs import Log
from tests.doors.echo import Echo
from tests.doors.services import ADMIN_KEY, AS_ADMIN, PUBLIC_URL, Visit, no_client, open_service
from tests.site.dns import NameServer, name_server
from tests.site.paths import HTML, path
from tests.site.server import Reply, Request, Site

numbers = itertools.count()


@dataclass(frozen=True)
class Words:
    body: bytes
    fields: tuple[str, ...] = (HTML,)
    status: str = "200 OK"
    pause: float = 0.0


SAID: dict[str, Words] = {}


@path("said")
async def said(site: Site, request: Request, reply: Reply) -> None:
    """/said/{number}: what a test has told it to say."""
    words = SAID[request.path.split("/")[2]]
    await asyncio.sleep(words.pause)
    await reply.send(words.body, *words.fields, status=words.status)


def say(body: str | bytes, *fields: str, target: str = "", **options: Any) -> str:
    """The target at which the site says this from now on: a new one, or one that it has said otherwise."""
    target = target or f"/said/{next(numbers)}"
    raw = body.encode() if isinstance(body, str) else body
    SAID[target.split("/")[2]] = Words(raw, fields or (HTML,), **options)
    return target


@dataclass(frozen=True)
class Fetching:
    """An open service, the site that it may visit, and who answers its questions for names."""

    visit: Visit
    site: Site
    names: NameServer

    async def post(
        self, where: str = "/ok", *, path: str = "/fetch", sent: dict[str, str] | None = None, **body: Any
    ) -> httpx.Response:
        """Fetch a target of the site, or a whole URL; `sent` are the request's own headers."""
        url = self.site.url(where) if where.startswith("/") else where
        return await self.visit.client.post(path, json={"url": url, **body}, headers=sent or AS_ADMIN)

    async def answer(self, where: str = "/ok", **options: Any) -> dict[str, Any]:
        response = await self.post(where, **options)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def visits(self, target: str) -> int:
        return len(self.site.seen(target))


OpenFetching = Callable[..., AbstractAsyncContextManager[Fetching]]


@asynccontextmanager
async def opened(folder: Path, site: Site, **flags: Any) -> AsyncIterator[Fetching]:
    async with name_server() as names:
        flags = {
            "data_dir": str(folder),
            "bootstrap_key": ADMIN_KEY,
            "public_url": PUBLIC_URL,
            "egress_allow": "127.0.0.1/32",
            "egress_ports": "*",
            "dns_servers": names.address,
            "limit_user": "1000000/60",
            "limit_admin": "1000000/60",
            "limit_anonymous_post": "1000000/60",
            "backoff_faults": "0",
            "backoff_misses": "0",
            **flags,
        }
        stream = io.StringIO()
        async with open_service(Log(stream, level="debug"), **flags) as service:
            visit = Visit(service, Echo(service.database), no_client(), stream)
            async with visit.client_from("127.0.0.1") as visit.client:
                yield Fetching(visit, site, names)


@pytest.fixture(scope="module")
async def fetching(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, site: Site
) -> AsyncIterator[Fetching]:
    """One for all tests of a module."""
    folder = tmp_path_factory.mktemp("service")
    copy(sqlite_template, folder)
    async with opened(folder, site) as service:
        yield service


@pytest.fixture
def open_fetching(tmp_path: Path, sqlite: str, site: Site) -> OpenFetching:
    """Opens one with other settings."""
    return partial(opened, tmp_path, site)


@pytest.fixture(params=["memory", "redis"])
async def fetching_on_each_hot(
    request: pytest.FixtureRequest, open_fetching: OpenFetching
) -> AsyncIterator[Fetching]:
    flags = {} if request.param == "memory" else {"redis_url": request.getfixturevalue("own_valkey").url}
    async with open_fetching(**flags) as service:
        yield service
