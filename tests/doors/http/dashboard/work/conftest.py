"""A service that may crawl sites on loopback, and two people who have signed in to it."""

from collections.abc import AsyncIterator

import httpx
import pytest
from tests.doors.crawls import OPEN
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit, Visiting


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN | {"crawl_delay": "1"}) as opened:
        yield opened


@pytest.fixture
async def admin(visit: Visit) -> AsyncIterator[httpx.AsyncClient]:
    client = await sign_in(visit, "admin")
    yield client
    await client.aclose()


@pytest.fixture
async def user(visit: Visit) -> AsyncIterator[httpx.AsyncClient]:
    """Of another tenant than the admin."""
    client = await sign_in(visit, "user")
    yield client
    await client.aclose()
