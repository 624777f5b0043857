"""`gossamer worker`: works on jobs, as many processes of it as there is work for."""

import asyncio
import signal
from typing import Any, Final

import click
import uvloop

from gossamer import logs
from gossamer.doors.cli import Build, load, with_settings
from gossamer.doors.kinds import KINDS
from gossamer.settings import Settings

_SETTINGS: Final = (
    "data_dir",
    "database_url",
    "redis_url",
    "log_level",
    "log_format",
    "worker_id",
    "egress_allow",
    "egress_ports",
    "dns_servers",
    "user_agent",
    "reading_processes",
    "blobs_url",
    "chromium",
    "browser_places",
    "browser_queue",
    "browser_visits",
    "browser_megabytes",
    "browser_url",
    "browser_proxy_url",
)


@click.command("worker")
@click.option(
    "--kinds",
    type=click.Choice(KINDS),
    multiple=True,
    default=KINDS,
    show_default=True,
    help="Kinds of jobs to work on; may be repeated.",
)
@with_settings(_SETTINGS)
@click.pass_obj
def worker(build: Build, /, kinds: tuple[str, ...], **flags: Any) -> None:
    """Work on jobs until stopped.

    SIGTERM and Ctrl-C end what ends soon and give the rest back to the queue.
    """
    settings = load(flags)
    log = logs.install(settings.log_level, log_format=settings.log_format)
    uvloop.run(_work(build, settings, log, kinds))


async def _work(build: Build, settings: Settings, log: logs.Log, kinds: tuple[str, ...]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with build(settings, log) as house:
        working = house.worker(kinds)
        click.echo(f"Gossamer worker {working.name}: {', '.join(kinds)}")
        await working.run(stop)
