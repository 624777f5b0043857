"""`gossamer crawl URL…`: whole sites, politely, as JSON lines, a table, or a folder of markdown files."""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final, Literal, get_args

import click
import uvloop

from gossamer.doors.cli import Build, House, load, quiet_log, with_settings
from gossamer.doors.cli.crawl_output import Output, Shown, output_for
from gossamer.doors.http.crawl_shapes import DEEPEST, LONGEST_DELAY, MOST_PAGES
from gossamer.doors.http.exchange import new_request_id
from gossamer.doors.http.read_options import sendable
from gossamer.flows import upkeep
from gossamer.flows.crawl.results import Stored
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.flows.keys import FIRST_EMAIL
from gossamer.flows.obtain import Rendering
from gossamer.state import tenants
from gossamer.state.crawled_pages import PageFilter, Position
from gossamer.state.crawls import Counts, Crawl, Spec
from gossamer.state.hosts import Host

FAILED: Final = 1
WAITS: Final = 3
INTERRUPTED: Final = 130
PATIENCE: Final = 120.0  # seconds that a host is waited for
MOST_HOSTS: Final = 1_000  # that are looked at for it
End = Literal["over", "interrupted", "waits"]
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
    "browser_url",
    "browser_proxy_url",
)


@click.command("crawl")
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option("--resume", metavar="ID", help="Go on with a crawl that was interrupted or paused.")
@click.option(
    "--scope",
    type=click.Choice(["host", "domain", "prefix", "any"]),
    default="host",
    show_default=True,
    help="Which links are followed: of the same host, domain or folder, or all.",
)
@click.option("--include", multiple=True, metavar="PATTERN", help="Only URLs that match; may be repeated.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="No URL that matches; may be repeated.")
@click.option("--max-pages", type=click.IntRange(1, MOST_PAGES), default=1_000, show_default=True)
@click.option("--max-depth", type=click.IntRange(0, DEEPEST), default=10, show_default=True)
@click.option(
    "--delay",
    type=click.FloatRange(0, LONGEST_DELAY),
    help="Seconds between two requests to a host; without it the setting crawl_delay.",
)
@click.option(
    "--render",
    type=click.Choice(get_args(Rendering)),
    default="never",
    show_default=True,
    help="By a browser: where a page is an empty shell without one (auto), or always.",
)
@click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Sent along; may be repeated.")
@click.option("--no-sitemaps", is_flag=True, help="Do not begin with the pages of sitemaps too.")
@click.option("--output", "-o", metavar="PATH", help="A file, or for markdown a folder, to write to.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(get_args(Shown)),
    help="JSON lines, a table, or a folder of markdown files. Without it, what the output's name says.",
)
@click.option(
    "--content",
    type=click.Choice(["markdown", "text", "html"]),
    help="In JSON lines: with what each page says, like this.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress on the terminal.")
@with_settings(_SETTINGS)
@click.pass_obj
def crawl(
    build: Build,
    /,
    urls: tuple[str, ...],
    resume: str | None,
    scope: Literal["host", "domain", "prefix", "any"],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    max_pages: int,
    max_depth: int,
    delay: float | None,
    render: Rendering,
    headers: tuple[str, ...],
    no_sitemaps: bool,
    output: str | None,
    shape: Shown | None,
    content: Literal["markdown", "text", "html"] | None,
    quiet: bool,
    **flags: Any,
) -> None:
    """Crawl sites, beginning with these pages, and print what was stored.

    It obeys robots.txt and needs no server. Ctrl-C pauses the crawl: `gossamer crawl --resume ID` goes on
    where it was, and prints all of it. So does it by itself when all that is left are hosts that do not
    answer. Exit code: 0 when it is done, 3 when it paused by itself, 130 when it was interrupted, 1 when not
    a single page could be had.
    """
    if bool(urls) == bool(resume):
        raise click.UsageError("Give URLs to begin with, or --resume and the ID of a crawl.")
    settings = load(flags)
    spec = Spec(
        seeds=urls,
        scope=scope,
        include=include,
        exclude=exclude,
        max_pages=max_pages,
        max_depth=max_depth,
        delay=delay,
        render=render,
        headers=sendable(dict(_header(text) for text in headers)),
        sitemaps=not no_sitemaps,
    )
    written = output_for(output, shape, content)
    progress = Progress(shown=not quiet and sys.stderr.isatty() and not written.is_terminal)

    async def work() -> int:
        house = build(settings, quiet_log(settings))
        try:
            await house.database.migrate()
            begun = await (_resumed(house, resume) if resume else _begun(house, spec))
            if begun.spec.render != "never":
                await house.open_proxy()
            return await _run(house, begun, written, progress)
        finally:
            written.close()
            await upkeep.settle_index(house.index, house.log)
            await house.close()

    sys.exit(uvloop.run(work()))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise click.UsageError(f"{text!r} is no header; write it as 'Name: value'.")
    return name.strip(), value.strip()


async def _begun(house: House, spec: Spec) -> Crawl:
    """Crawls of the command line belong to whom the machine belongs to."""
    async with house.database.write() as connection:
        owner = await tenants.ensure_tenant(connection, FIRST_EMAIL)
    urls = seeds_of(spec, house.dialer)
    return await house.crawls.create(owner.id, spec, request_id=new_request_id(), urls=urls)


async def _resumed(house: House, crawl_id: str) -> Crawl:
    await house.crawls.resume(crawl_id)
    crawl = await house.crawls.get(crawl_id)
    if crawl is None:
        raise click.ClickException(f"There is no crawl {crawl_id}.")
    return crawl


async def _run(house: House, begun: Crawl, written: Output, progress: "Progress") -> int:
    interrupted, stop = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    working = asyncio.create_task(house.crawling().run(stop))
    watch = Watch(house, begun, written, progress)
    try:
        end = await watch.until_over(interrupted, working)
        if end != "over":
            await house.crawls.pause(begun.id)
    finally:
        stop.set()
        await working
    await watch.print_rest()
    counts = await house.crawls.counts(begun.id) or Counts()
    progress.end(counts)
    return _told(begun, counts, end)


class Watch:
    """Prints what a crawl stores."""

    def __init__(self, house: House, crawl: Crawl, written: Output, progress: "Progress") -> None:
        self._house = house
        self._crawl = crawl
        self._written = written
        self._progress = progress
        self._position: Position | None = None

    async def until_over(self, interrupted: asyncio.Event, working: asyncio.Task[None]) -> End:
        """Until somebody has had enough, or nothing can be had for a good while, or the crawl is over."""
        async with aclosing(self._follow()) as arriving:
            async for arrived in arriving:
                self._print(arrived)
                self._progress.tell(await self._house.crawls.counts(self._crawl.id) or Counts())
                if working.done():
                    working.result()  # it does not end by itself
                if interrupted.is_set():
                    return "interrupted"
                if not arrived and await self._waits():
                    return "waits"
        return "over"

    async def print_rest(self) -> None:
        """What was on its way when it ended."""
        async with aclosing(self._follow()) as arriving:
            async for arrived in arriving:
                self._print(arrived)

    def _follow(self) -> AsyncGenerator[list[Stored]]:
        which = PageFilter(crawl_id=self._crawl.id)
        return self._house.crawl_results.follow(which, self._position, self._written.content)

    def _print(self, arrived: list[Stored]) -> None:
        if arrived:
            self._written.put(arrived)
            self._position = arrived[-1].position

    async def _waits(self) -> bool:
        """Is every host that is left to be left alone for long: because it fails, or asks for it?"""
        hosts = await self._house.hosts.listing(crawl_id=self._crawl.id, limit=MOST_HOSTS)
        left = [host for host in hosts if host.pending or host.in_progress]
        if not left or len(hosts) == MOST_HOSTS or any(host.in_progress for host in left):
            return False
        return all(self._rests(host) for host in left)

    def _rests(self, host: Host) -> bool:
        usual = max(host.delay_ms or 0, (self._crawl.spec.delay or 0) * 1000)
        until = max(host.next_at, host.resting_until) - 2 * usual
        return until / 1000 > time.time() + PATIENCE


def _told(begun: Crawl, counts: Counts, end: End) -> int:
    """What people are told, and the exit code."""
    if end == "waits":
        click.echo("What is left does not answer, or asks for a long pause.", err=True)
    if end != "over":
        click.echo(f"Paused. Go on with: gossamer crawl --resume {begun.id}", err=True)
    if end == "interrupted":
        return INTERRUPTED
    if counts.pages == 0:
        click.echo("gossamer: not a single page could be had.", err=True)
        return FAILED
    return WAITS if end == "waits" else 0


class Progress:
    """A line on the terminal that says how far it is; nothing in a pipe."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._started = time.monotonic()

    def tell(self, counts: Counts) -> None:
        if self._shown:
            click.echo(f"\r\x1b[K{self._line(counts)}", err=True, nl=False)

    def end(self, counts: Counts) -> None:
        if self._shown:
            click.echo(f"\r\x1b[K{self._line(counts)}", err=True)

    def _line(self, counts: Counts) -> str:
        seconds = time.monotonic() - self._started
        waiting = counts.pending + counts.in_progress
        lost = f", {counts.failed:,} failed" if counts.failed else ""
        return f"{counts.pages:,} pages, {waiting:,} to go{lost}, {seconds:.0f} s"
