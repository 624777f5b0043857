"""Where crawls are kept: on servers, and embedded."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.crawl.stage import settings_of
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3, Moto
from tests.servers.valkey import Valkey


@pytest.fixture
def on_servers(postgres: PostgresServer, valkey: Valkey, moto: Moto, s3_url: str) -> Mapping[str, str]:
    return settings_of(postgres, valkey, moto, s3_url)


@pytest.fixture
def on_own_servers(postgres: PostgresServer, own_valkey: Valkey, own_s3: S3) -> Mapping[str, str]:
    """That the test may break."""
    return settings_of(postgres, own_valkey, own_s3, own_s3.url)


@pytest.fixture(params=["sqlite", "postgres"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Mapping[str, str]:
    """Once embedded, once on servers."""
    if request.param == "sqlite":
        return {}
    found: Mapping[str, str] = request.getfixturevalue("on_servers")
    return found
