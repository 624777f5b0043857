"""`gossamer batch FILE`: fetches many pages politely, and prints them as JSON lines."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any, Final, TextIO, get_args

import click

from gossamer.doors.cli import Build, CommandService, load, quiet_log, with_settings
from gossamer.doors.cli.shared.owner import reading
from gossamer.doors.cli.shared.progress import PageProgress
from gossamer.doors.http.core.exchange import new_request_id
from gossamer.flows.batch.batch import MAX_PAGES_AT_ONCE, Batcher, BatchTier
from gossamer.flows.batch.batch_line import LineEncoder
from gossamer.flows.tenants.admit import Caller
from gossamer.web.pages.page_request import FORMATS, Format, PageOptions, Rendering

FAILED: Final = 1
NOT_OK: Final = 3
_SETTINGS: Final = (
    "egress_allow",
    "egress_ports",
    "dns_servers",
    "user_agent",
    "data_dir",
    "database_url",
    "browser_places",
)
_RENDERS: Final[dict[BatchTier, Rendering]] = {"basic": "never", "pro": "always", "auto": "auto"}


@click.command("batch")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option(
    "--tier",
    type=click.Choice(get_args(BatchTier)),
    default="basic",
    show_default=True,
    help="Without a browser, with one, or with one only if a page needs it.",
)
@click.option(
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    default=("markdown", "metadata"),
    show_default=True,
    help="What to print of each page; may be repeated.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(100, 200_000),
    default=8_000,
    show_default=True,
    help="The most tokens that the format llm may have.",
)
@click.option("--full", is_flag=True, help="The full pages instead of their main content.")
@click.option("--include", multiple=True, metavar="CSS", help="Only what matches; may be repeated.")
@click.option("--exclude", multiple=True, metavar="CSS", help="Without what matches; may be repeated.")
@click.option(
    "--output", "-o", type=click.File("w", encoding="utf-8"), default="-", help="A file to write to."
)
@click.option(
    "--timeout", type=click.FloatRange(0.1, 600), default=30.0, show_default=True, help="Seconds a page."
)
@click.option(
    "--at-once",
    type=click.IntRange(1, 64),
    default=MAX_PAGES_AT_ONCE,
    show_default=True,
    help="Pages at the same time; of one host never more than two.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress on the terminal.")
@with_settings(_SETTINGS)
@click.pass_obj
def batch(
    build: Build,
    /,
    file: TextIO,
    tier: BatchTier,
    formats: tuple[Format, ...],
    max_tokens: int,
    full: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    output: TextIO,
    timeout: float,
    at_once: int,
    quiet: bool,
    **flags: Any,
) -> None:
    """Fetch the pages in FILE, which has one URL a line (- reads the standard input).

    Each result is printed as a line of JSON as soon as it is ready; its `index` is the number of the URL.
    Empty lines and lines that begin with # are ignored. Exit code: 0 if all are the requested pages, 3 if one
    of them is something else, 1 if one could not be fetched.
    """
    settings = load(flags)
    urls = [line.strip() for line in file if line.strip() and not line.lstrip().startswith("#")]
    if not urls:
        raise click.UsageError(f"There is no URL in {file.name}.")
    options = PageOptions(
        formats=formats,
        main_content=not full,
        include=include,
        exclude=exclude,
        max_tokens=max_tokens,
        timeout=round(timeout * 1000),
        render=_RENDERS[tier],
    )
    progress = PageProgress(len(urls), is_wanted=not quiet and not output.isatty())

    def put(line: str) -> None:
        click.echo(line, file=output)
        progress.step()

    async def work() -> int:
        service = build(settings, quiet_log(settings))
        try:
            if options.render != "never":
                await service.open_proxy()
            batcher = Batcher(
                service.reader, service.log, at_once=at_once, renders_at_once=settings.browser_places
            )
            async with reading(service) as owner:
                return await _fetch_all(service, owner, batcher, urls, options, put)
        finally:
            await service.close()

    sys.exit(asyncio.run(work()))


async def _fetch_all(
    service: CommandService,
    owner: Caller,
    batcher: Batcher,
    urls: Sequence[str],
    options: PageOptions,
    put: Callable[[str], None],
) -> int:
    encoder = LineEncoder(service.reader, "", new_request_id())
    codes = {0}
    async with aclosing(batcher.read_all(dict(enumerate(urls)), options, owner)) as arriving:
        async for arrived in arriving:
            for outcome in arrived:
                line = await encoder.encode(outcome)
                put(line.text.decode())
                codes.add(FAILED if line.status == "failed" else 0 if line.ok else NOT_OK)
    return FAILED if FAILED in codes else max(codes)
