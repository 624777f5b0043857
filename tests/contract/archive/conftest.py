"""A shelf on each database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.archive.shelf import Shelf
from tests.contract.crawl.crawl_ground import Ground

from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.state.blobs.blobs import open_blobs
from gossamer.state.db.database import Database
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import open_wakeups


@pytest.fixture
async def shelf(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[Shelf]:
    folder = tmp_path / "blobs"
    blobs = open_blobs(f"file://{folder}", {})
    jobs = Jobs(database, open_wakeups(database))
    opened = Shelf(await Ground.on(database), blobs, folder, ParserPool(1), jobs)
    yield opened
    await opened.parsers.close()
    await jobs.close()
    await blobs.close()
