"""`gossamer serve`: the API, and what runs inside it."""

import asyncio
import contextlib
import errno
import gc
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import click
import uvloop

from gossamer import __version__, logs
from gossamer.doors.children import Children
from gossamer.doors.cli import Build, House, fail, load, with_settings
from gossamer.doors.http.boarding import boarding
from gossamer.doors.http.server import server
from gossamer.flows.crawl import indexing
from gossamer.flows.crawl import worker as crawl_worker
from gossamer.flows.keys import NewKey
from gossamer.problems import Unavailable
from gossamer.settings import Settings, variable
from gossamer.state import tenants

CREATE_KEY: Final = "gossamer keys create --email admin@example.com --role admin"
LOOK_SECONDS: Final = 2.0  # into a database that may be away
_BACKLOG = 2048


@click.command("serve")
@with_settings()
@click.pass_obj
def serve(build: Build, /, **flags: Any) -> None:
    """Run the server.

    Every setting can be given as a flag here, as GOSSAMER_NAME in the environment or in a file .env.
    """
    settings = load(flags)
    listening = _listen(settings.host, settings.port)
    if settings.port == 0:
        settings = load({**flags, "port": listening.getsockname()[1]})
    log = logs.install(settings.log_level, log_format=settings.log_format, access=settings.access_log)
    uvloop.run(_serve(build, settings, log, listening))


async def _serve(build: Build, /, settings: Settings, log: logs.Log, listening: socket.socket) -> None:
    async with build(settings, log) as house:
        app = house.app()
        await _welcome(house)
        gc.collect()
        gc.freeze()  # what is there now stays: the collector need not look at it again
        async with _working(house):
            await server(app, boarding(house.lane())).serve(sockets=[listening])


@asynccontextmanager
async def _working(house: House) -> AsyncIterator[None]:
    """Work on jobs meanwhile, where that is wanted."""
    choice = house.settings.serve_worker
    if choice == "no" or (choice == "auto" and house.database.dialect != "sqlite"):
        yield
        return
    stop = asyncio.Event()
    settings, log = house.settings, house.log
    crawling = Children(settings, crawl_worker.KIND, settings.crawl_processes, house.hosts.are_due, log)
    indexing_one = Children(settings, indexing.KIND, 1, house.indexing.are_due, log)
    runs = (house.worker().run, crawling.run, indexing_one.run)
    working = [asyncio.create_task(run(stop)) for run in runs]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*working)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        taken = error.errno == errno.EADDRINUSE
        fail(
            f"cannot listen on {host}:{port}: {error.strerror}.",
            f"Choose another port, for example --port {port + 1}." if taken else None,
        )
    return listening


async def _welcome(house: House) -> None:
    shown = house.settings.public_url
    lines = [f"Gossamer {__version__} on {shown}  (documentation: {shown}/docs)"]
    if house.first_key is not None:
        lines += _first_key(house.first_key, shown, is_given=bool(house.settings.bootstrap_key))
    elif not await _has_keys(house):
        lines += ["", f"  There is no API key yet. Make one:  {CREATE_KEY}", ""]
    click.echo("\n".join(lines))
    sys.stdout.flush()


async def _has_keys(house: House) -> bool:
    with contextlib.suppress(Unavailable):
        async with house.database.read(seconds=LOOK_SECONDS) as connection:
            return await tenants.count_keys(connection) > 0
    return True  # as far as we know


def _first_key(new: NewKey, public_url: str, *, is_given: bool) -> list[str]:
    """What is printed is kept by whoever keeps logs: a key that its owner has is not shown."""
    if is_given:
        given = variable("bootstrap_key")
        return ["", f"  First start: an admin ({new.key.email}) was made; its key is the one in {given}.", ""]
    return [
        "",
        f"  First start: an admin ({new.key.email}) and a key were made. The key is shown this once:",
        "",
        f"    {new.secret}",
        "",
        f'  Try it:  curl -H "Authorization: Bearer {new.secret}" {public_url}/api/me',
        "",
    ]
