"""`gossamer crawl URL…`: whole sites, politely, as JSON lines, a table, or a folder of markdown files."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, get_args

import click
import msgspec
import uvloop
from click.core import ParameterSource

from gossamer.doors.cli import Build, House, load, quiet_log, with_settings
from gossamer.doors.cli.crawl_output import Output, Shown, output_for
from gossamer.doors.cli.crawl_watch import End, Progress, Watch
from gossamer.doors.cli.crawls import crawl_named
from gossamer.doors.http.crawl_shapes import DEEPEST, LONGEST_DELAY, MOST_LINKS, MOST_PAGES, NewCrawl
from gossamer.doors.http.exchange import new_request_id
from gossamer.flows import upkeep
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.flows.keys import FIRST_EMAIL
from gossamer.flows.obtain import Rendering
from gossamer.state import tenants
from gossamer.state.crawls import Counts, Crawl
from gossamer.state.tenants import Tier

Beginning = Callable[[House, Output], Awaitable[Crawl]]
FAILED: Final = 1
WAITS: Final = 3
INTERRUPTED: Final = 130
MOST_OTHERS: Final = 100
_OF_CRAWL: Final = (
    "name",
    "scope",
    "include",
    "exclude",
    "max_pages",
    "max_depth",
    "max_urls_per_page",
    "delay",
    "render",
    "headers",
    "ignore_parameters",
    "ignore_trailing_slash",
    "no_sitemaps",
)
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
@click.option(
    "--resume",
    metavar="ID",
    help="Go on with a crawl that was interrupted or paused (see `gossamer crawls list`).",
)
@click.option("--name", default="", help="A note for people.")
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
    "--max-urls-per-page",
    type=click.IntRange(0, MOST_LINKS),
    default=MOST_LINKS,
    show_default=True,
    help="Links of one page that are followed.",
)
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
@click.option(
    "--ignore-parameter",
    "ignore_parameters",
    multiple=True,
    metavar="NAME",
    help="URLs that differ only in it are one page; may be repeated, and end with an asterisk.",
)
@click.option("--ignore-trailing-slash", is_flag=True, help="/a and /a/ are one page.")
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
    name: str,
    scope: Literal["host", "domain", "prefix", "any"],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    max_pages: int,
    max_depth: int,
    max_urls_per_page: int,
    delay: float | None,
    render: Rendering,
    headers: tuple[str, ...],
    ignore_parameters: tuple[str, ...],
    ignore_trailing_slash: bool,
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
    if resume:
        _refuse_options()
    settings = load(flags)
    wanted = {
        "seeds": urls,
        "name": name,
        "scope": scope,
        "include": include,
        "exclude": exclude,
        "maxPages": max_pages,
        "maxDepth": max_depth,
        "maxUrlsPerPage": max_urls_per_page,
        "delay": delay,
        "render": render,
        "headers": dict(_header(text) for text in headers),
        "sitemaps": not no_sitemaps,
        "ignoreParameters": ignore_parameters,
        "ignoreTrailingSlash": ignore_trailing_slash,
    }
    beginning = _resumed(resume) if resume else _begun(_checked(wanted))
    written = output_for(output, shape, content)
    progress = Progress(shown=not quiet and sys.stderr.isatty() and not written.is_terminal)

    async def work() -> int:
        house = build(settings, quiet_log(settings))
        try:
            await house.database.migrate()
            begun = await beginning(house, written)
            if begun.spec.render != "never":
                await house.open_proxy()
            if not quiet:
                await _tell_of_others(house, begun)
            return await _run(house, begun, written, progress)
        finally:
            await upkeep.settle_crawled(house.indexing, house.log)
            await house.close()
            written.close()

    sys.exit(uvloop.run(work()))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise click.UsageError(f"{text!r} is no header; write it as 'Name: value'.")
    return name.strip(), value.strip()


def _refuse_options() -> None:
    """What a crawl is to do was said when it was begun."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in _OF_CRAWL and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"A crawl goes on as it was begun: leave out {parameter.opts[0]}.")


def _checked(wanted: dict[str, Any]) -> NewCrawl:
    """As strictly as over HTTP."""
    try:
        return msgspec.convert(wanted, NewCrawl)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"{error}.") from None


def _begun(new: NewCrawl) -> Beginning:
    """Crawls of the command line belong to whom the machine belongs to, and there is no limit to them."""
    spec = new.spec(Tier.ENTERPRISE)

    async def begin(house: House, written: Output) -> Crawl:
        urls = seeds_of(spec, house.dialer)
        written.open()
        async with house.database.write() as connection:
            owner = await tenants.ensure_tenant(connection, FIRST_EMAIL)
        request_id = new_request_id()
        return await house.crawls.create(owner.id, spec, name=new.name, request_id=request_id, urls=urls)

    return begin


def _resumed(crawl_id: str) -> Beginning:
    async def resume(house: House, written: Output) -> Crawl:
        await crawl_named(house, crawl_id)
        written.open()
        await house.crawls.resume(crawl_id)
        return await crawl_named(house, crawl_id)

    return resume


async def _tell_of_others(house: House, begun: Crawl) -> None:
    """Whoever crawls here does so for all crawls, and nobody is to wonder about it."""
    running = await house.crawls.listing(None, limit=MOST_OTHERS, state="running")
    others = sum(crawl.id != begun.id and crawl.counts.left > 0 for crawl in running)
    if others:
        told = "Another crawl is" if others == 1 else f"{others} other crawls are"
        click.echo(f"{told} running here too, and will go on: see gossamer crawls list.", err=True)


async def _run(house: House, begun: Crawl, written: Output, progress: Progress) -> int:
    interrupted, stop = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    working = asyncio.create_task(house.crawling().run(stop))
    watch = Watch(house, begun, written, progress)
    try:
        end = await watch.until_over(interrupted, working)
        if end != "over":
            await house.crawls.pause(begun.id)
    except (OSError, click.ClickException):  # nobody reads it any more, or there is no room for it
        _say_how_to_go_on(begun, is_paused=await house.crawls.pause(begun.id))
        raise
    finally:
        stop.set()
        await working
    await watch.print_rest()
    counts = await house.crawls.counts(begun.id)
    progress.end(counts)
    return _told(begun, counts, end, watch)


def _told(begun: Crawl, counts: Counts, end: End, watch: Watch) -> int:
    """What people are told, and the exit code."""
    if end != "over":
        _say_how_to_go_on(begun, is_paused=True)
    if end == "interrupted":
        return INTERRUPTED
    if watch.answered == 0:
        why = "robots.txt forbids it" if counts.blocked else watch.error
        click.echo(f"gossamer: not a single page could be had{why and ': '}{why}.", err=True)
        return FAILED
    return WAITS if end == "waits" else 0


def _say_how_to_go_on(crawl: Crawl, *, is_paused: bool) -> None:
    if is_paused:
        click.echo(f"Paused. Go on with: gossamer crawl --resume {crawl.id}", err=True)
    else:
        click.echo(f"What it has stored can be had with: gossamer crawls pages {crawl.id}", err=True)
