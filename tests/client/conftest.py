"""The library in both of its forms: the engine in this process, and a server that people start."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import gossamer
from gossamer import Client
from tests.doors.processes import Start, processes_in
from tests.doors.services import ADMIN_KEY

OPEN: Final[dict[str, Any]] = {"egress_allow": "127.0.0.1/32", "egress_ports": "*", "crawl_delay": "0"}


@pytest.fixture(scope="module")
def processes_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    with processes_in(tmp_path_factory.mktemp("server")) as start:
        yield start


@pytest.fixture(scope="module")
def server(processes_of_module: Start) -> str:
    """The address of a server."""
    process = processes_of_module("gossamer", "serve", **OPEN)
    line = process.line()
    address = next((word for word in line.split() if word.startswith("http://127.0.0.1:")), None)
    return address.rstrip("/.") if address else pytest.fail(process.process.communicate()[1])


@pytest.fixture(params=["open", "connect"])
async def web(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    """A client of each kind. They must not differ."""
    if request.param == "open":
        opened = gossamer.open(data_dir=str(tmp_path), **OPEN)
    else:
        opened = gossamer.connect(request.getfixturevalue("server"), key=ADMIN_KEY, timeout=60)
    async with opened:
        yield opened
