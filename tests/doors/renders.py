"""A service that renders pages of the test site, with a worker at work and a real browser."""

import asyncio
import io
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copy
from typing import Any

import httpx
import pytest

from gossamer.app import Service
from gossamer.flows.render.render import page_key
from gossamer.observe.logs import Log
from gossamer.state.pages.cached_page import CachedPage
from gossamer.state.pages.page_key import PageKey
from gossamer.web.url.url import Url
from tests.doors.echo import Echo
from tests.doors.fetches import say
from tests.doors.services import ADMIN_KEY, AS_ADMIN, PUBLIC_URL, Visit, no_client, open_service
from tests.site.server import Site

PROSE = "Orb weavers build a new web nearly every day, mostly at night, and eat the old one first. " * 5
APP = f"""<!doctype html><html><head><title>A shop</title>
<script type="application/ld+json">{{"a": 1}}</script></head>
<body><div id="root"></div><script>document.getElementById("root").innerHTML =
"<h1>Rendered by a script</h1><p>{PROSE}</p><a href='/next'>next</a>"</script></body></html>"""
RENDERED = b"<h1>Rendered by a script</h1>"


def article(title: str = "An article") -> str:
    return f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{PROSE}</p>"


@dataclass(frozen=True)
class Rendering:
    visit: Visit
    site: Site

    @property
    def service(self) -> Service:
        return self.visit.service

    async def ask(self, url: str, *, sent: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        """Ask for a target of the site, or a whole URL; `sent` are the request's own headers."""
        full = self.site.url(url) if url.startswith("/") else url
        return await self.visit.client.post(
            "/api/render", json={"url": full, **body}, headers={**AS_ADMIN, **(sent or {})}
        )

    async def get(self, path: str, *, sent: dict[str, str] | None = None, **query: Any) -> httpx.Response:
        return await self.visit.client.get(path, params=query, headers={**AS_ADMIN, **(sent or {})})

    async def delete(self, *, sent: dict[str, str] | None = None, **query: Any) -> httpx.Response:
        return await self.visit.client.delete(
            "/api/cache", params=query, headers={**AS_ADMIN, **(sent or {})}
        )

    async def over(self, job_id: str, **options: Any) -> dict[str, Any]:
        """What the status says when it is completed or failed."""
        async with asyncio.timeout(60):
            while True:
                shown: dict[str, Any] = (await self.get(f"/api/status/{job_id}", **options)).json()
                if shown["status"] in ("completed", "failed"):
                    return shown
                await asyncio.sleep(0.02)

    async def tenant(self, sent: dict[str, str] | None = None) -> str:
        tenant: str = (await self.get("/api/me", sent=sent)).json()["tenantId"]
        return tenant

    async def key(self, url: str, sent: dict[str, str] | None = None) -> PageKey:
        full = self.site.url(url) if url.startswith("/") else url
        return page_key(await self.tenant(sent), Url.parse(full))

    async def keep(
        self, url: str, html: str = "", *, age: float = 0.0, sent: dict[str, str] | None = None
    ) -> PageKey:
        """A page that was rendered so many seconds ago."""
        key = await self.key(url, sent)
        rendered_at = round((time.time() - age) * 1000)
        page = CachedPage.of((html or article()).encode(), url=key.url, rendered_at=rendered_at)
        await self.service.page_cache.put(key, page)
        return key

    def visits(self, target: str) -> int:
        return len(self.site.seen(target))


OpenRendering = Callable[..., AbstractAsyncContextManager[Rendering]]


@asynccontextmanager
async def opened(folder: Path, site: Site, *, working: bool = True, **flags: Any) -> AsyncIterator[Rendering]:
    flags = {
        "data_dir": str(folder),
        "bootstrap_key": ADMIN_KEY,
        "public_url": PUBLIC_URL,
        "egress_allow": "127.0.0.1/32",
        "egress_ports": "*",
        "dns_servers": "127.0.0.1:9",
        "limit_user": "1000000/60",
        "limit_admin": "1000000/60",
        "backoff_faults": "0",
        "backoff_misses": "0",
        "browser_places": "2",
        **flags,
    }
    stream = io.StringIO()
    async with open_service(Log(stream, level="debug"), **flags) as service:
        visit = Visit(service, Echo(service.database), no_client(), stream)
        async with visit.client_from("127.0.0.1") as visit.client, at_work(visit, working=working):
            yield Rendering(visit, site)


@asynccontextmanager
async def at_work(visit: Visit, *, working: bool = True) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(visit.service.worker().run(stop)) if working else None
    try:
        yield
    finally:
        stop.set()
        if task is not None:
            await task


@pytest.fixture(scope="module")
async def rendering(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, site: Site
) -> AsyncIterator[Rendering]:
    """One for all tests of a module, with a worker and so with a browser."""
    folder = tmp_path_factory.mktemp("service")
    copy(sqlite_template, folder)
    async with opened(folder, site) as service:
        yield service


@pytest.fixture
def open_rendering(tmp_path: Path, sqlite: str, site: Site) -> OpenRendering:
    """Opens one with other settings; `working=False` has no worker."""
    return partial(opened, tmp_path, site)


@pytest.fixture
async def idle(open_rendering: OpenRendering) -> AsyncIterator[Rendering]:
    """One in which nobody works on what is queued."""
    async with open_rendering(working=False) as service:
        yield service


def app_page(**options: Any) -> str:
    """The target of a page that a script makes."""
    return say(APP, **options)
