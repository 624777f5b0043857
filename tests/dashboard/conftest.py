"""One stage with data for all tests of a file."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.dashboard.data import fill
from tests.dashboard.shop import open_shop
from tests.dashboard.stage import Stage, staged
from tests.npm import install_packages

NODE = Path(__file__).parent / "node"


@pytest.fixture(scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    with open_shop() as port:
        async with staged(tmp_path_factory.mktemp("data"), port) as opened:
            yield opened


@pytest.fixture(scope="module")
async def addresses(stage: Stage) -> dict[str, str]:
    return await fill(stage)


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core."""
    install_packages(NODE)
    return (NODE / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
