import pytest
from tests.contract.memory.memory_ground import MemoryGround, open_ground

from gossamer.state.db.database import Database


@pytest.fixture
async def ground(database: Database) -> MemoryGround:
    return await open_ground(database)
