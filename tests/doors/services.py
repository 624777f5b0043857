"""A whole service for a test: the real parts on real stores, and a client at its door."""

import io
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from argon2 import PasswordHasher
from msgspec.structs import replace

from gossamer.app import Service
from gossamer.flows.tenants.keys import NewKey
from gossamer.flows.tenants.passwords import Passwords
from gossamer.observe.logs import Log
from gossamer.reach.browser.launcher import LocalLauncher
from gossamer.reach.sandbox import bubblewrap, chromium
from gossamer.reach.sandbox.child_process import LaunchFailed
from gossamer.reach.sandbox.fence import Layer, probe
from gossamer.settings.settings import Settings
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.tenants import Role, Tier
from tests.doors.echo import Echo

ADMIN_KEY = "sk_live_an-admin-key-for-tests-0123456789"
PUBLIC_URL = "https://gossamer.example"
QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)  # as it is used, a hash takes a core 0.1 s


@dataclass
class Visit:
    """An open service, its test routes, what it logged, and a client."""

    service: Service
    echo: Echo
    client: httpx.AsyncClient
    stream: io.StringIO

    def logged(self, event: str | None = None) -> list[dict[str, Any]]:
        lines = [msgspec.json.decode(line) for line in self.stream.getvalue().splitlines()]
        return [line for line in lines if event is None or line.get("event") == event]

    def client_from(self, address: str) -> httpx.AsyncClient:
        return self._client(
            httpx.ASGITransport(self.service.app(self.echo.routes()), client=(address, 40000))
        )

    async def key(self, role: Role = Role.USER, tier: Tier = Tier.PRO) -> str:
        new = NewKey(email="someone@example.com", role="admin" if role is Role.ADMIN else "user", tier=tier)
        return (await self.service.keys.create(new, Actor("test"))).secret

    def _client(self, transport: httpx.ASGITransport) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=transport, base_url="http://test")


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


AS_ADMIN = bearer(ADMIN_KEY)
Visiting = Callable[..., AbstractAsyncContextManager[Visit]]
_missing: dict[Path | None, Mapping[Layer, str]] = {}  # by where bubblewrap is


@asynccontextmanager
async def open_service(log: Log, **flags: Any) -> AsyncIterator[Service]:
    """A service with these settings. It knows what a probe of this system has found for an earlier one, and
    its passwords are cheap to hash."""
    service = Service(Settings.load({}, None, flags), log)
    service.sign_in = replace(service.sign_in, passwords=Passwords(QUICK))
    if isinstance(service.launcher, LocalLauncher) and chromium.find(service.settings.chromium):
        program = bubblewrap.find()
        with suppress(LaunchFailed):  # it tries itself
            if program not in _missing:
                _missing[program] = await probe()
            service.launcher.fence.note(_missing[program])
    async with service:
        yield service


def no_client() -> httpx.AsyncClient:
    """Stands where a client will be."""
    return httpx.AsyncClient()


def visits_in(folder: Path) -> Visiting:
    """Opens services whose data is in this folder, where the database is already."""

    @asynccontextmanager
    async def visit(*, echo_tables: bool = True, **flags: Any) -> AsyncIterator[Visit]:
        flags = {
            "data_dir": str(folder),
            "bootstrap_key": ADMIN_KEY,
            "public_url": PUBLIC_URL,
            "dns_servers": "127.0.0.1:9",  # nobody is there, so that no question leaves this machine
            "limit_anonymous_post": "1000000/60",
            "limit_anonymous_read": "1000000/60",
            "backoff_faults": "0",
            "backoff_misses": "0",
            **flags,
        }
        stream = io.StringIO()
        log = Log(stream, level="debug")
        async with open_service(log, **flags) as service:
            echo = Echo(service.database)
            if echo_tables:
                await echo.prepare()
            opened = Visit(service, echo, no_client(), stream)
            async with opened.client_from("127.0.0.1") as client:
                opened.client = client
                yield opened

    return visit


@pytest.fixture
def visiting(tmp_path: Path, sqlite: str) -> Visiting:
    """Opens a service with these settings: `async with visiting(limit_user="5/60") as visit`."""
    return visits_in(tmp_path)


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting() as opened:
        yield opened


@pytest.fixture(scope="module")
async def shared_visit(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> AsyncIterator[Visit]:
    """One for all tests of a file that only look: to open one takes longer than most of them."""
    folder = tmp_path_factory.mktemp("shared")
    shutil.copy(sqlite_template, folder)
    async with visits_in(folder)() as opened:
        yield opened


@pytest.fixture(params=["memory", "redis"])
async def visit_on_each_hot(request: pytest.FixtureRequest, visiting: Visiting) -> AsyncIterator[Visit]:
    """The same, once with everything in process and once on Redis."""
    flags = {} if request.param == "memory" else {"redis_url": request.getfixturevalue("own_valkey").url}
    async with visiting(**flags) as opened:
        yield opened
