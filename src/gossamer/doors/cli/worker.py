"""`gossamer worker`: works on jobs, as many processes of it as there is work for."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final

import click
import uvloop

from gossamer import logs
from gossamer.doors.children import Children
from gossamer.doors.cli import Build, House, load, with_settings
from gossamer.doors.kinds import KINDS
from gossamer.flows.crawl import indexing
from gossamer.flows.crawl import worker as crawl_worker
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
    "search_index_pages",
    "chromium",
    "browser_places",
    "browser_queue",
    "browser_visits",
    "browser_megabytes",
    "browser_url",
    "browser_proxy_url",
    "crawl_hosts",
    "crawl_delay",
    "crawl_address_connections",
)
_NO_JOBS: Final = (crawl_worker.KIND, indexing.KIND)
_KINDS: Final = (*KINDS, *_NO_JOBS)
_NICENESS: Final = 10  # of who brings crawled pages into the index: crawls and callers come first


def _named(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Each once, in the order given."""
    names = [name.strip() for each in given for name in each.split(",")]
    for name in names:
        if name not in _KINDS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(_KINDS)}.")
    return tuple(dict.fromkeys(names))


@click.command("worker")
@click.option(
    "--kinds",
    metavar="KIND,...",
    multiple=True,
    callback=_named,
    default=(",".join(_KINDS),),
    show_default=True,
    help="Kinds of jobs to work on, separated by commas; may be repeated. Hosts of crawls are one of them,"
    " and so is to bring what was crawled into the search index: beside others, in a process of its own.",
)
@click.option("--attached", is_flag=True, hidden=True, help="End with the process that holds the input.")
@with_settings(_SETTINGS)
@click.pass_obj
def worker(build: Build, /, kinds: tuple[str, ...], attached: bool, **flags: Any) -> None:
    """Work on jobs until stopped.

    SIGTERM and Ctrl-C end what ends soon and give the rest back to the queue.
    """
    settings = load(flags)
    if kinds == (indexing.KIND,):
        os.nice(_NICENESS)
    log = logs.install(settings.log_level, log_format=settings.log_format)
    uvloop.run(_work(build, settings, log, kinds, attached=attached))


async def _work(
    build: Build, settings: Settings, log: logs.Log, kinds: tuple[str, ...], *, attached: bool
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if attached:  # whoever started us and is no more has let go of our input
        loop.add_reader(sys.stdin.fileno(), stop.set)
    async with build(settings, log) as house:
        if not attached:
            click.echo(f"Gossamer worker {house.worker_name}: {', '.join(kinds)}")
        async with asyncio.TaskGroup() as group:
            for run in _runs(house, kinds):
                group.create_task(run(stop))


def _runs(house: House, kinds: tuple[str, ...]) -> list[Callable[[asyncio.Event], Coroutine[Any, Any, None]]]:
    runs: list[Callable[[asyncio.Event], Coroutine[Any, Any, None]]] = []
    if jobs := [kind for kind in kinds if kind not in _NO_JOBS]:
        runs.append(house.worker(jobs).run)
    if crawl_worker.KIND in kinds:
        runs.append(house.crawling().run)
    if indexing.KIND in kinds:
        wanted = house.indexing.are_due
        beside = Children(house.settings, indexing.KIND, 1, wanted, house.log)
        runs.append(beside.run if runs else house.indexing.run)
    return runs
