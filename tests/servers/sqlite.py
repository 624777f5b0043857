"""An SQLite database that has its tables: to make them takes longer than most tests, so copies are made."""

import asyncio
import shutil
from pathlib import Path

import pytest

from gossamer.state.db.database import open_database

NAME = "gossamer.db"  # as a service calls it in its folder


async def migrate(url: str) -> None:
    database = open_database(url)
    await database.migrate()
    await database.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sqlite") / NAME
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture
def sqlite(sqlite_template: Path, tmp_path: Path) -> str:
    """The URL of a fresh one that only the running test uses; a service in `tmp_path` finds it as its own."""
    return f"sqlite:///{shutil.copy(sqlite_template, tmp_path / NAME)}"
