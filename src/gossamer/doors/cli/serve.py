"""`gossamer serve`: runs the API and, if wanted, a worker."""

import asyncio
import contextlib
import gc
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import click
import uvloop
from msgspec import Struct

from gossamer import __version__
from gossamer.doors.cli import Build, load, with_settings
from gossamer.doors.cli.processes import check_processes, serve_together
from gossamer.doors.cli.shared.descriptors import raise_limit
from gossamer.doors.cli.shared.listening import open_listening, port_of
from gossamer.doors.cli.shared.service import CommandService
from gossamer.doors.cli.shared.systemd import notify
from gossamer.doors.http.server.fast_path_protocol import fast_path_protocol
from gossamer.doors.http.server.server import MAX_ACCEPTS, Server, StopTimes, server
from gossamer.doors.worker.children import Children
from gossamer.doors.worker.forked_process import ForkServer
from gossamer.flows.crawl import indexing
from gossamer.flows.crawl import worker as crawl_worker
from gossamer.flows.tenants.keys import IssuedKey
from gossamer.flows.tenants.people import LINK_PATH, InvitedUser
from gossamer.observe import logs
from gossamer.problems import Unavailable
from gossamer.reach.sandbox import allocator
from gossamer.settings.settings import Settings, variable
from gossamer.state.tenants import tenants
from gossamer.state.tenants.sessions import LINK_SECONDS, LinkPurpose

LINK_MINUTES: Final = LINK_SECONDS[LinkPurpose.SIGN_IN] // 60
CREATE_KEY: Final = "gossamer keys create --email admin@example.com --role admin"
NO_CONTACT: Final = "Visited sites learn no contact address: set GOSSAMER_PUBLIC_URL or GOSSAMER_USER_AGENT."
REMEDY: Final = "Unset it, or make a key with gossamer keys create."
LOOK_SECONDS: Final = 2.0  # to read a database that may be away
SHARED_ACCEPTS: Final = (
    1  # in one turn, of a socket that other processes accept from too: so they share evenly
)


class Seat(Struct, frozen=True):
    """The place of a server process among those that share its sockets."""

    sockets: Sequence[socket.socket]
    number: int | None  # None: it is alone
    attached: bool


@click.command("serve")
@click.option(
    "--fd",
    "numbers",
    metavar="NUMBER",
    type=click.IntRange(3),
    multiple=True,
    help="Accept from this inherited socket instead of host and port; may be repeated. Sockets that systemd"
    " passes are found without it.",
)
@click.option("--process", "number", type=int, hidden=True, help="Of several that share the sockets.")
@click.option("--attached", is_flag=True, hidden=True, help="End with the process that holds the input.")
@with_settings()
@click.pass_obj
def serve(
    build: Build, /, numbers: tuple[int, ...], number: int | None, attached: bool, **flags: Any
) -> None:
    """Run the server.

    Every setting can be given as a flag here, as GOSSAMER_NAME in the environment or in a file .env.
    """
    settings = load(flags)
    check_processes(settings)
    sockets = open_listening(settings.host, settings.port, numbers)
    if (port := port_of(sockets[0])) not in (None, settings.port):
        settings = load({**flags, "port": port})
    log = logs.install(settings.log_level, log_format=settings.log_format, access=settings.access_log)
    if settings.processes > 1:
        uvloop.run(serve_together(settings, sockets, log))
        return
    raise_limit(log)
    uvloop.run(_serve(build, settings, log, Seat(sockets, number, attached)))


async def _serve(build: Build, /, settings: Settings, log: logs.Log, seat: Seat) -> None:
    async with build(settings, log) as service:
        app = service.app()
        service.watch.start(service.supervisor, service.wakeups)
        service.supervisor.start("schedules", partial(service.scheduler.run, service.wakeups))
        if seat.number in (None, 1) or service.first_key is not None:
            await _welcome(service)
        gc.collect()
        gc.freeze()  # these objects live as long as the process, so the collector can skip them
        allocator.trim()  # what importing took for a while
        running = server(
            app,
            fast_path_protocol(service.fast_path()),
            stopping=service.stopping,
            times=StopTimes(settings.lame_duck_seconds, settings.drain_seconds),
            log=log,
            metrics=service.metrics,
            accepts=MAX_ACCEPTS if seat.number is None else SHARED_ACCEPTS,
        )
        if seat.attached:
            _end_with_input(running)
        log.write_together(asyncio.get_running_loop().call_soon)
        async with _working(service):
            notify("READY=1")
            await running.serve(sockets=list(seat.sockets))
        log.write_together(None)


def _end_with_input(running: Server) -> None:
    """Our input closes when the process that started us ends."""
    loop, number = asyncio.get_running_loop(), sys.stdin.fileno()

    def stop() -> None:
        loop.remove_reader(number)
        running.stop()

    loop.add_reader(number, stop)


@asynccontextmanager
async def _working(service: CommandService) -> AsyncIterator[None]:
    """Run jobs in the block, if the settings want it, until the server drains."""
    choice = service.settings.serve_worker
    if choice == "no" or (choice == "auto" and service.database.dialect != "sqlite"):
        yield
        return
    settings, log, metrics = service.settings, service.log, service.metrics
    stop = service.stopping.draining
    fork_server = ForkServer()
    shared = (fork_server, service.wakeups, log, metrics)
    crawling = Children(settings, crawl_worker.KIND, settings.crawl_processes, service.hosts.are_due, *shared)
    indexing_one = Children(settings, indexing.KIND, 1, service.indexing.are_due, *shared)
    runs = {"worker": service.worker().run, "crawling": crawling.run, "indexing": indexing_one.run}
    working = [service.supervisor.start(name, partial(run, stop)) for name, run in runs.items()]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*working)
        await fork_server.close()


async def _welcome(service: CommandService) -> None:
    shown = service.settings.public_url
    lines = [f"Gossamer {__version__} on {shown}  (documentation: {shown}/docs)"]
    if service.first_key is not None:
        lines += _first_key(service.first_key, shown, is_given=bool(service.settings.bootstrap_key))
        if service.first_link is not None and sys.stdout.isatty():  # logs may be kept, a terminal forgets
            lines += _first_link(service.first_link, shown)
    elif not await _has_keys(service):
        lines += ["", f"  There is no API key yet. Make one:  {CREATE_KEY}", ""]
    elif service.bootstrap_key_is_unknown:
        lines += [
            f"  {variable('bootstrap_key')} is not a key here: only the first start registers it. {REMEDY}"
        ]
    if not service.settings.names_contact:
        lines.append(NO_CONTACT)
    click.echo("\n".join(lines))
    sys.stdout.flush()


async def _has_keys(service: CommandService) -> bool:
    with contextlib.suppress(Unavailable):
        async with service.database.read(seconds=LOOK_SECONDS) as connection:
            return await tenants.count_keys(connection) > 0
    return True  # as far as we know


def _first_link(invited: InvitedUser, public_url: str) -> list[str]:
    return [
        f"  Open the dashboard (works once, for {LINK_MINUTES} minutes):",
        "",
        f"    {public_url}{LINK_PATH}{invited.token}",
        "",
    ]


def _first_key(new: IssuedKey, public_url: str, *, is_given: bool) -> list[str]:
    """Logs may keep this output, so a key that the operator already has is not shown."""
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
