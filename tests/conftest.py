"""What every test may ask for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.state.database import Database, open_database

IMPLEMENTATIONS = ("sqlite", "postgres", "memory", "redis", "folder", "s3")
pytest_plugins = [
    "tests.servers.valkey",
    "tests.servers.postgres",
    "tests.servers.s3",
    "tests.servers.tiers",
    "tests.servers.chains.fixtures",
    "tests.site.server",
    "tests.doors.houses",
    "tests.doors.processes",
    "tests.integrations.fronts",
]


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of its own for the test, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/gossamer.db"
    url: str = request.getfixturevalue("postgres").url
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """The same, open and migrated."""
    database = open_database(database_url)
    await database.migrate()
    yield database
    await database.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many contract tests ran on each implementation."""
    passed = [
        report.nodeid for report in terminalreporter.stats.get("passed", []) if "contract" in report.nodeid
    ]
    parts = [node.partition("[")[2].rstrip("]").split("-") for node in passed]
    counts = {name: sum(name in each for each in parts) for name in IMPLEMENTATIONS}
    if any(counts.values()):
        shown = ", ".join(f"{count} on {name}" for name, count in counts.items())
        terminalreporter.write_line(f"contract tests passed: {shown}")
