"""The same against Gossamer itself: its own render API, with a page in its cache and one that is not."""

import asyncio
import io
import time
from collections.abc import AsyncIterator

import httpx
import pytest
import uvicorn
from sqlalchemy import select

from gossamer.app import Service
from gossamer.flows.render.render import page_key
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings
from gossamer.state.db.tables import tenants
from gossamer.state.pages.cached_page import CachedPage
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.url.url import Url
from tests.doors.services import ADMIN_KEY
from tests.integrations.fronts import ORIGIN, START_SECONDS, OpenPlace
from tests.integrations.servers import PAGE


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    flags = {
        "data_dir": str(tmp_path_factory.mktemp("service")),
        "bootstrap_key": ADMIN_KEY,
        "serve_worker": "no",
    }
    async with Service(Settings.load({}, None, flags), Log(io.StringIO())) as service:
        await keep(service, "/page", 200)
        await keep(service, "/gone", 404)
        yield service


async def keep(service: Service, path: str, status: int) -> None:
    async with service.database.read() as connection:
        tenant: str = (
            await connection.execute(select(tenants.c.id).where(tenants.c.id != PUBLIC))
        ).scalar_one()
    key = page_key(tenant, Url.parse(ORIGIN + path))
    page = CachedPage.of(PAGE.encode(), url=key.url, rendered_at=round(time.time() * 1000), status=status)
    await service.page_cache.put(key, page)


@pytest.fixture(scope="module")
async def gossamer_url(service: Service) -> AsyncIterator[str]:
    server = uvicorn.Server(uvicorn.Config(service.app(), port=0, log_config=None, lifespan="off"))
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(START_SECONDS):
        while not server.started:
            await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = server.force_exit = True
    await task


async def test_a_page_that_gossamer_has_and_one_that_it_has_not(
    open_place: OpenPlace, gossamer_url: str
) -> None:
    place = await open_place(url=gossamer_url, key=ADMIN_KEY)
    async with httpx.AsyncClient(trust_env=False, timeout=30, headers={"User-Agent": "GPTBot"}) as client:
        page = await client.get(f"{place.url}/page?utm_source=x")
        assert (page.status_code, page.text, page.headers["x-served-by"]) == (200, PAGE, "Gossamer")
        known = {"If-None-Match": page.headers["etag"]}
        assert (await client.get(f"{place.url}/page", headers=known)).status_code == 304
        gone = await client.get(f"{place.url}/gone")
        assert (gone.status_code, gone.text) == (404, PAGE)
        missing = await client.get(f"{place.url}/missing")
        assert (missing.text, missing.headers["x-site"]) == ("site: GET /missing", "yes")
    assert place.gossamer.asked == []
