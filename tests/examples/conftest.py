"""One server for everything here that needs one."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import copy

import pytest

from tests.doors.mcp.ground import Ground, open_ground
from tests.examples.ground import environment
from tests.pay.shops import UNLIMITED
from tests.servers.chains.fixtures import Chains
from tests.site.server import Site


@pytest.fixture(scope="package")
async def ground(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, site: Site, chains: Chains
) -> AsyncIterator[Ground]:
    """It takes payments, works on jobs and crawls, and finds what was crawled."""
    folder, stop = tmp_path_factory.mktemp("examples"), asyncio.Event()
    copy(sqlite_template, folder)
    async with open_ground(folder, site, **chains.settings, **UNLIMITED) as found:
        indexing = asyncio.create_task(found.fetching.visit.service.indexing.run(stop))
        yield found
        stop.set()
        await indexing


@pytest.fixture
def here(tmp_path: Path, sqlite_template: Path) -> dict[str, str]:
    """The environment of a program that needs no server."""
    copy(sqlite_template, tmp_path)
    return environment(tmp_path)


@pytest.fixture
def there(tmp_path: Path, ground: Ground) -> dict[str, str]:
    """The environment of a program that asks the server."""
    return environment(tmp_path, ground.address)
