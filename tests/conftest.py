"""What every test may ask for."""

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import uvloop
from hypothesis import HealthCheck, settings

from gossamer.state.db.database import Database, open_database
from tests.order import rank_of
from tests.servers.statements import share_compiled, share_revisions

IMPLEMENTATIONS = ("sqlite", "postgres", "memory", "redis", "folder", "s3")
pytest_plugins = [
    "tests.servers.valkey",
    "tests.servers.sqlite",
    "tests.servers.postgres",
    "tests.servers.s3",
    "tests.servers.tiers",
    "tests.servers.chains.fixtures",
    "tests.site.server",
    "tests.doors.services",
    "tests.doors.processes",
    "tests.doors.dropin",
    "tests.integrations.fronts",
]


def pytest_configure() -> None:
    # Properties are tried with the same examples each time, however slow the machine is.
    settings.register_profile(
        "gossamer",
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    settings.load_profile("gossamer")
    # To read whom the world trusts takes a client 30 ms of computing, and tests open thousands of them.
    # Nobody they talk to has a certificate of the world: they trust one authority, whose key nobody has.
    os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "site" / "nobody.pem")
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())  # the loop that a server runs on
    share_compiled()
    share_revisions()
    gc.disable()  # until everything is collected, all that is made stays


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank_of(item.path))


def pytest_collection_finish() -> None:
    """Thousands of tests and modules live as long as the process, so the collector can skip them."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(error: object) -> None:
    """When a process of tests dies, the run ends: what it had left would not be run by anybody."""
    if error:
        pytest.exit(f"a process of tests died: {error}", returncode=pytest.ExitCode.INTERNAL_ERROR)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A database of its own for the test, once of each kind, its schema in place."""
    found = request.getfixturevalue(request.param)
    url: str = found if request.param == "sqlite" else found.url
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """The same, open."""
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
