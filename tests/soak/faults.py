"""What can be broken, one thing at a time. Each breaks something, holds it so, and mends it again."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import psutil  # type: ignore[import-untyped]

from tests.servers.daemon import Daemon
from tests.servers.postgres import PostgresServer
from tests.soak.installation import LAME_DUCK, GossamerProcess, Installation, flush, shorten_log

BOTH: Final = ("embedded", "server")
FEW: Final = 1  # descriptor that is left

Breaking = AbstractAsyncContextManager[None]
Break = Callable[[Installation, random.Random], Breaking]


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    sizes: tuple[str, ...]
    breaking: Break
    seconds: float  # for which it lasts


FAULTS: dict[str, Fault] = {}


class StopError(Exception):
    """A process that was told to stop did not, or not well."""


def fault(name: str, *sizes: str, seconds: float = 0.0) -> Callable[[Break], Break]:
    def added(breaking: Break) -> Break:
        FAULTS[name] = Fault(name, sizes or BOTH, breaking, seconds)
        return breaking

    return added


def possible(installation: Installation) -> list[str]:
    """All that this installation can suffer."""
    names = [name for name, one in FAULTS.items() if installation.size in one.sizes]
    return [name for name in names if name != "full-disk" or installation.disk is not None]


@fault("kill-server")
@asynccontextmanager
async def kill_server(on: Installation, chance: random.Random) -> AsyncIterator[None]:
    server = chance.choice(on.servers)
    with server.absent():
        async with _killed(server):
            yield


@fault("kill-worker")
@asynccontextmanager
async def kill_worker(on: Installation, chance: random.Random) -> AsyncIterator[None]:
    """Or a process that the embedded server has started for crawls."""
    if on.workers:
        async with _killed(chance.choice(on.workers)):
            yield
    else:
        _kill_one(on.servers[0].children(), chance)
        yield


@fault("kill-browser")
@asynccontextmanager
async def kill_browser(on: Installation, chance: random.Random) -> AsyncIterator[None]:
    _kill_one(await asyncio.to_thread(on.browsers), chance)
    yield


@fault("kill-database", "server")
@asynccontextmanager
async def kill_database(on: Installation, _chance: random.Random) -> AsyncIterator[None]:
    postgres = _postgres(on)
    await asyncio.to_thread(postgres.kill)
    yield
    await asyncio.to_thread(postgres.start)


@fault("stop-database", "server", seconds=2.0)
@asynccontextmanager
async def stop_database(on: Installation, _chance: random.Random) -> AsyncIterator[None]:
    postgres = _postgres(on)
    await asyncio.to_thread(postgres.stop)
    yield
    await asyncio.to_thread(postgres.start)


@fault("freeze-database", "server", seconds=4.0)
@asynccontextmanager
async def freeze_database(on: Installation, _chance: random.Random) -> AsyncIterator[None]:
    postgres = _postgres(on)
    postgres.freeze()
    try:
        yield
    finally:
        postgres.thaw()


@fault("freeze-server", seconds=3.0)
def freeze_server(on: Installation, chance: random.Random) -> Breaking:
    return _frozen(chance.choice(on.servers))


@fault("freeze-worker", "server", seconds=4.0)
def freeze_worker(on: Installation, chance: random.Random) -> Breaking:
    return _frozen(chance.choice(on.workers))


@fault("freeze-valkey", "server", seconds=3.0)
def freeze_valkey(on: Installation, _chance: random.Random) -> Breaking:
    return _frozen(on.valkey)


@fault("freeze-s3", "server", seconds=4.0)
def freeze_s3(on: Installation, _chance: random.Random) -> Breaking:
    return _frozen(on.s3)


@fault("restart-valkey", "server", seconds=2.0)
def restart_valkey(on: Installation, _chance: random.Random) -> Breaking:
    return _killed(on.valkey)


@fault("stop-s3", "server", seconds=3.0)
def stop_s3(on: Installation, _chance: random.Random) -> Breaking:
    return _killed(on.s3)


@fault("flush-valkey", "server")
@asynccontextmanager
async def flush_valkey(on: Installation, _chance: random.Random) -> AsyncIterator[None]:
    assert on.valkey is not None
    await asyncio.to_thread(flush, on.valkey)
    yield


@fault("full-disk", seconds=4.0)
@asynccontextmanager
async def full_disk(on: Installation, _chance: random.Random) -> AsyncIterator[None]:
    """Where the embedded database and blobs are, or the object store's."""
    assert on.disk is not None
    if on.size == "embedded":
        await asyncio.to_thread(shorten_log, on.database_url)
    await asyncio.to_thread(on.disk.fill)
    try:
        yield
    finally:
        on.disk.clear()


@fault("stop-server")
@asynccontextmanager
async def stop_server(on: Installation, chance: random.Random) -> AsyncIterator[None]:
    """As in a rolling update: it serves on for its lame-duck time, and nobody who came before that is cut."""
    server = chance.choice(on.servers)
    with server.absent(after=LAME_DUCK / 2):
        async with _stopped(server):
            yield


@fault("stop-worker", "server")
def stop_worker(on: Installation, chance: random.Random) -> Breaking:
    return _stopped(chance.choice(on.workers))


@fault("few-descriptors", seconds=3.0)
@asynccontextmanager
async def few_descriptors(on: Installation, chance: random.Random) -> AsyncIterator[None]:
    with chance.choice(on.servers).few_descriptors(FEW):
        yield


@asynccontextmanager
async def _killed(daemon: Daemon | None) -> AsyncIterator[None]:
    assert daemon is not None
    await asyncio.to_thread(daemon.kill)
    yield
    await asyncio.to_thread(daemon.start)


@asynccontextmanager
async def _frozen(daemon: Daemon | None) -> AsyncIterator[None]:
    assert daemon is not None
    await asyncio.to_thread(daemon.stop)
    try:
        yield
    finally:
        daemon.cont()


@asynccontextmanager
async def _stopped(process: GossamerProcess) -> AsyncIterator[None]:
    code = await asyncio.to_thread(process.terminate)
    yield
    await asyncio.to_thread(process.start)
    if code:
        raise StopError(f"{process.name} ended with {code} when it was told to stop")


def _postgres(on: Installation) -> PostgresServer:
    assert on.postgres is not None
    return on.postgres


def _kill_one(processes: list[psutil.Process], chance: random.Random) -> None:
    with suppress(psutil.NoSuchProcess, IndexError):
        chance.choice(processes).kill()
