"""A sender of webhooks, and a receiver."""

from collections.abc import AsyncIterator

import pytest
from tests.contract.webhooks.office import Office, open_office
from tests.servers.receiver import Receiver, receiving

from gossamer.state.db.database import Database


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


@pytest.fixture
async def office(database: Database) -> AsyncIterator[Office]:
    async with open_office(database) as opened:
        yield opened
