"""`gossamer crawl URL…`: crawls sites politely, into JSON lines, a table, or a folder of markdown files."""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any, Final, Literal, get_args

import click
import uvloop
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.doors.cli import Build, CommandService, load, quiet_log, with_settings
from gossamer.doors.cli.crawl.crawl_output import Output, OutputFormat, output_for
from gossamer.doors.cli.crawl.crawls import find_crawl
from gossamer.doors.cli.options import first_given_option, from_options, with_options
from gossamer.doors.cli.shared.actor import command_actor
from gossamer.doors.cli.shared.owner import owner_of
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.doors.http.api.crawl.crawl_shapes import NewCrawl
from gossamer.doors.http.core.exchange import new_request_id
from gossamer.flows.crawl.results import PageWithContent
from gossamer.flows.upkeep import upkeep
from gossamer.state.crawl.crawled_pages import PageFilter, Position
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.hosts import Host
from gossamer.web.crawl.progress import CrawlCounts

FAILED: Final = 1
WAITS: Final = 3
INTERRUPTED: Final = 130
MAX_OTHERS: Final = 100
_SETTINGS: Final = (
    "data_dir",
    "database_url",
    "redis_url",
    "blobs_url",
    "egress_allow",
    "egress_ports",
    "dns_servers",
    "user_agent",
    "crawl_delay",
    "reading_processes",
    "chromium",
    "browser_places",
    "fence",
    "browser_url",
    "browser_proxy_url",
)


PATIENCE: Final = 120.0  # seconds to wait for a host
MAX_HOSTS: Final = 1_000  # to look at
End = Literal["over", "interrupted", "waits"]
_REASONS: Final = {
    "robots_unreachable": "does not serve its robots.txt",
    "failing": "fails again and again",
    "pace": "asks for a long pause",
    "render_limit": "waits until more pages may be rendered",
    "page_quota": "waits until more pages may be stored",
    "byte_quota": "waits until there is room for more bytes",
}


@click.command("crawl")
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option(
    "--resume",
    metavar="ID",
    help="Continue a crawl that was interrupted or paused (see `gossamer crawls list`).",
)
@with_options(NewCrawl)
@click.option("--output", "-o", metavar="PATH", help="A file, or for markdown a folder, to write to.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(get_args(OutputFormat)),
    help="JSON lines, a table, or a folder of markdown files. The default follows from the output's name.",
)
@click.option(
    "--content",
    type=click.Choice(["markdown", "text", "html"]),
    help="In JSON lines: add the content of each page in this format.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress on the terminal.")
@with_settings(_SETTINGS)
@click.pass_obj
def crawl(
    build: Build,
    /,
    urls: tuple[str, ...],
    resume: str | None,
    output: str | None,
    shape: OutputFormat | None,
    content: Literal["markdown", "text", "html"] | None,
    quiet: bool,
    **flags: Any,
) -> None:
    """Crawl sites, beginning with these pages, and print the stored pages.

    It obeys robots.txt and needs no server. Ctrl-C pauses the crawl; `gossamer crawl --resume ID` continues
    it, and prints all its pages. If only hosts are left that do not answer, the crawl pauses by itself. Exit
    code: 0 if it is done, 3 if it paused by itself, 130 if it was interrupted, 1 if no page could be fetched.
    """
    if bool(urls) == bool(resume):
        raise click.UsageError("Give URLs to begin with, or --resume and the ID of a crawl.")
    if resume and (flag := first_given_option(NewCrawl)):
        raise click.UsageError(f"A crawl goes on as it was begun: leave out {flag}.")
    settings = load({name: flags.pop(name) for name in _SETTINGS})
    begin = partial(_resume, resume) if resume else partial(_start, from_options(NewCrawl, flags, seeds=urls))
    written = output_for(output, shape, content)
    progress = ProgressLine(is_wanted=not quiet and not written.is_terminal)

    async def work() -> int:
        service = build(settings, quiet_log(settings))
        try:
            await service.database.migrate()
            begun = await begin(service, written)
            if begun.spec.render != "never":
                await service.open_proxy()
            if not quiet:
                await _mention_others(service, begun)
            return await _run(service, begun, written, progress)
        finally:
            await upkeep.settle_crawled(service.indexing, service.log)
            await service.close()
            written.close()

    sys.exit(uvloop.run(work()))


async def _start(new: NewCrawl, service: CommandService, written: Output) -> Crawl:
    """Start a crawl that belongs to the owner of the machine, who has no limits."""

    async def open_output(connection: AsyncConnection, crawl: Crawl) -> None:
        """In the transaction: if the output cannot be opened, there is no crawl."""
        written.open()

    owner = await owner_of(service)
    request_id = new_request_id()
    return await service.seeder.start(
        owner, new.spec, command_actor(), name=new.name, request_id=request_id, remember=open_output
    )


async def _resume(crawl_id: str, service: CommandService, written: Output) -> Crawl:
    crawl = await find_crawl(service, crawl_id)
    written.open()
    await service.crawl_control.resume(crawl, command_actor())
    return await find_crawl(service, crawl_id)


async def _mention_others(service: CommandService, begun: Crawl) -> None:
    """The worker in this process serves all crawls, so say that others continue too."""
    running = await service.crawls.listing(None, limit=MAX_OTHERS, state="running")
    others = sum(crawl.id != begun.id and crawl.counts.left > 0 for crawl in running)
    if others:
        subject = "Another crawl is" if others == 1 else f"{others} other crawls are"
        click.echo(f"{subject} running here too, and will go on: see gossamer crawls list.", err=True)


async def _run(service: CommandService, begun: Crawl, written: Output, progress: ProgressLine) -> int:
    interrupted, stop = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    working = asyncio.create_task(service.crawl_worker().run(stop))
    watch = CrawlPrinter(service, begun, written, progress)
    try:
        end = await watch.until_over(interrupted, working)
        if end != "over":
            await service.crawl_control.pause(begun, command_actor())
    except (OSError, click.ClickException):  # the reader of the pipe has gone, or the disk is full
        _say_how_to_continue(begun, is_paused=await service.crawl_control.pause(begun, command_actor()))
        raise
    finally:
        stop.set()
        await working
    await watch.print_rest()
    counts = await service.crawls.counts(begun.id)
    progress.show(_progress(counts, progress.seconds), is_last=True)
    return _report_end(begun, counts, end, watch)


def _report_end(begun: Crawl, counts: CrawlCounts, end: End, watch: "CrawlPrinter") -> int:
    """Say how the crawl ended; returns the exit code."""
    if end != "over":
        _say_how_to_continue(begun, is_paused=True)
    if end == "interrupted":
        return INTERRUPTED
    if watch.answered == 0:
        why = "robots.txt forbids it" if counts.blocked else watch.error
        click.echo(f"gossamer: not a single page could be had{why and ': '}{why}.", err=True)
        return FAILED
    return WAITS if end == "waits" else 0


def _say_how_to_continue(crawl: Crawl, *, is_paused: bool) -> None:
    if is_paused:
        click.echo(f"Paused. Go on with: gossamer crawl --resume {crawl.id}", err=True)
    else:
        click.echo(f"To print the stored pages: gossamer crawls pages {crawl.id}", err=True)


def _progress(counts: CrawlCounts, seconds: float) -> str:
    lost = f", {counts.failed:,} failed" if counts.failed else ""
    pages = "page" if counts.pages == 1 else "pages"
    return f"{counts.pages:,} {pages}, {counts.left:,} more known{lost}, {seconds:.0f} s"


class CrawlPrinter:
    """Prints the pages that a crawl stores."""

    def __init__(
        self, service: CommandService, crawl: Crawl, written: Output, progress: ProgressLine
    ) -> None:
        self._service = service
        self._crawl = crawl
        self._written = written
        self._progress = progress
        self._position: Position | None = None
        self.answered = 0  # pages with an answer
        self.error = ""  # of the last page without one

    async def until_over(self, interrupted: asyncio.Event, working: asyncio.Task[None]) -> End:
        """Print until the crawl is interrupted or over, or nothing can be fetched for a long time."""
        async with aclosing(self._follow()) as arriving:
            async for arrived in arriving:
                self._print(arrived)
                self._progress.show(
                    _progress(await self._service.crawls.counts(self._crawl.id), self._progress.seconds)
                )
                if working.done():
                    working.result()  # it does not end by itself
                if interrupted.is_set():
                    return "interrupted"
                if not arrived and await self._waits():
                    await self._say_why()
                    return "waits"
        return "over"

    async def print_rest(self) -> None:
        """Print the pages that were stored last."""
        async with aclosing(self._follow()) as arriving:
            async for arrived in arriving:
                self._print(arrived)

    async def _say_why(self) -> None:
        waiting = await self._service.crawls.waiting(self._crawl)
        reason = _REASONS.get(waiting.reason if waiting else "", "does not answer, or asks for a long pause")
        self._progress.clear()
        click.echo(f"Every host that is left {reason}.", err=True)

    def _follow(self) -> AsyncGenerator[list[PageWithContent]]:
        which = PageFilter(crawl_id=self._crawl.id)
        return self._service.crawl_results.follow(which, self._position, self._written.content)

    def _print(self, arrived: list[PageWithContent]) -> None:
        if arrived:
            self._written.put(arrived)
            self._position = arrived[-1].position
        for stored in arrived:
            self.answered += stored.page.status_code is not None
            self.error = stored.page.error or self.error

    async def _waits(self) -> bool:
        """Whether every host that is left fails, or asks for a long pause."""
        hosts = await self._service.hosts.listing(crawl_id=self._crawl.id, limit=MAX_HOSTS)
        left = [host for host in hosts if host.counts and host.counts.left]
        if (
            not left
            or len(hosts) == MAX_HOSTS
            or any(host.counts.in_progress for host in left if host.counts)
        ):
            return False
        return all(self._rests(host) for host in left)

    def _rests(self, host: Host) -> bool:
        usual = max(host.delay_ms or 0, (self._crawl.spec.delay or 0) * 1000)
        until = max(host.next_at, host.resting_until) - 2 * usual
        return until / 1000 > time.time() + PATIENCE
