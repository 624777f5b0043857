"""`gossamer worker`: runs jobs. Start as many of these processes as you need."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import click
import uvloop

from gossamer.doors.cli import Build, load, with_settings
from gossamer.doors.cli.shared.descriptors import raise_limit
from gossamer.doors.cli.shared.listening import listen
from gossamer.doors.cli.shared.service import CommandService
from gossamer.doors.worker.children import Children
from gossamer.doors.worker.forked_process import ForkServer
from gossamer.doors.worker.handover import hand_metrics_over
from gossamer.doors.worker.kinds import KINDS
from gossamer.flows.crawl import indexing
from gossamer.flows.crawl import worker as crawl_worker
from gossamer.observe import logs
from gossamer.settings.settings import Settings

_SETTINGS: Final = (
    "data_dir",
    "database_url",
    "redis_url",
    "drain_seconds",
    "log_level",
    "log_format",
    "metrics_host",
    "metrics_port",
    "metrics_token",
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
    "fence",
    "browser_url",
    "browser_proxy_url",
    "crawl_hosts",
    "crawl_delay",
    "crawl_address_connections",
)
_NO_JOBS: Final = (crawl_worker.KIND, indexing.KIND)
_KINDS: Final = (*KINDS, *_NO_JOBS)
_NICENESS: Final = 10  # of the process that indexes crawled pages: crawls and callers come first


def _parse_kinds(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Each kind once, in the given order."""
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
    callback=_parse_kinds,
    default=(",".join(_KINDS),),
    show_default=True,
    help="Kinds of work, separated by commas; may be repeated. Besides jobs, these are crawling and adding"
    " crawled pages to the search index, which runs in its own process beside other kinds.",
)
@click.option("--attached", is_flag=True, hidden=True, help="End with the process that holds the input.")
@with_settings(_SETTINGS)
@click.pass_obj
def worker(build: Build, /, kinds: tuple[str, ...], attached: bool, **flags: Any) -> None:
    """Run jobs until stopped.

    After SIGTERM or Ctrl-C, jobs that end soon are finished, and the others go back to the queue.
    """
    settings = load(flags)
    if kinds == (indexing.KIND,):
        os.nice(_NICENESS)
    log = logs.install(settings.log_level, log_format=settings.log_format)
    raise_limit(log)
    uvloop.run(_work(build, settings, log, kinds, attached=attached))


async def _work(
    build: Build, settings: Settings, log: logs.Log, kinds: tuple[str, ...], *, attached: bool
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _stop, stop, number)
    if attached:  # our input closes when the process that started us ends
        loop.add_reader(sys.stdin.fileno(), stop.set)
    async with build(settings, log) as service, _watching(service, attached=attached):
        if not attached:
            click.echo(f"Gossamer worker {service.worker_name}: {', '.join(kinds)}")
        fork_server = ForkServer()
        async with asyncio.TaskGroup() as group:
            for run in _runs(service, kinds, fork_server):
                group.create_task(run(stop))
        await fork_server.close()


@asynccontextmanager
async def _watching(service: CommandService, *, attached: bool) -> AsyncIterator[None]:
    """Make this process's metrics seen: by the parent, or at a port. Alerts are a matter of whole workers."""
    if attached:
        handing_over = partial(hand_metrics_over, service.metrics, sys.stdout)
        service.supervisor.start("metrics", handing_over)
        yield
        return
    service.watch.start(service.supervisor, service.wakeups)
    service.supervisor.start("schedules", partial(service.scheduler.run, service.wakeups))
    host, port = service.settings.metrics_host, service.settings.metrics_port
    if not port:
        yield
        return
    from gossamer.doors.worker.operations_server import serving_operations  # few workers have a port

    async with serving_operations(service.operations_app(), listen(host, port, "--metrics-port")):
        yield


def _stop(stop: asyncio.Event, number: int) -> None:
    """The first signal is a request, the second is the end."""
    if stop.is_set():
        os._exit(128 + number)
    stop.set()


def _runs(
    service: CommandService, kinds: tuple[str, ...], fork_server: ForkServer
) -> list[Callable[[asyncio.Event], Coroutine[Any, Any, None]]]:
    runs: list[Callable[[asyncio.Event], Coroutine[Any, Any, None]]] = []
    if jobs := [kind for kind in kinds if kind not in _NO_JOBS]:
        runs.append(service.worker(jobs).run)
    if crawl_worker.KIND in kinds:
        runs.append(service.crawl_worker().run)
    if indexing.KIND in kinds:
        shared = (fork_server, service.wakeups, service.log, service.metrics)
        beside = Children(service.settings, indexing.KIND, 1, service.indexing.are_due, *shared)
        runs.append(beside.run if runs else service.indexing.run)
    return runs
