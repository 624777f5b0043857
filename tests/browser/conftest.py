"""A pool of real browsers behind a real proxy, for whoever visits pages of the site."""

from collections.abc import AsyncIterator

import pytest

from tests.browser import pages, slow
from tests.browser.pools import Pool, open_pool

__all__ = ["pages", "slow"]  # what the site has for browsers


@pytest.fixture(scope="session")
async def pool() -> AsyncIterator[Pool]:
    """One for all tests that harm no browser."""
    async with open_pool() as pool:
        yield pool
