"""`gossamer batch FILE`: fetches many pages politely, and prints them as JSON lines."""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, TextIO, get_args

import click
import msgspec
from msgspec.structs import replace

from gossamer.client.client import Client
from gossamer.client.runs import BatchRun
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.pages.llm_query import check_query, llm_query
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.progress import PageProgress
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.batch_request import MAX_URLS, BatchTier
from gossamer.web.pages.batch_result import BatchResult
from gossamer.web.pages.page_request import FORMATS, Format, PageOptions

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
@llm_query
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
    help="Pages at the same time (8); of one host never more than two.",
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
    query: str,
    full: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    output: TextIO,
    timeout: float,
    at_once: int | None,
    quiet: bool,
    **flags: Any,
) -> None:
    """Fetch the pages in FILE, which has one URL a line (- reads the standard input).

    Each result is printed as a line of JSON, in the order of the list; its `index` is the number of the URL.
    Empty lines and lines that begin with # are ignored. Exit code: 0 if all are the requested pages, 3 if one
    of them is something else, 1 if one could not be fetched.
    """
    own = {**flags, "batch_pages": None if at_once is None else str(at_once)}
    access = web_access(build, own, "at_once", in_any_folder=True)
    urls = [line.strip() for line in file if line.strip() and not line.lstrip().startswith("#")]
    if not urls:
        raise click.UsageError(f"There is no URL in {file.name}.")
    check_query(query, formats)
    options = PageOptions(
        formats=formats,
        main_content=not full,
        include=include,
        exclude=exclude,
        max_tokens=max_tokens,
        query=query,
        timeout=round(timeout * 1000),
    )
    progress = PageProgress(len(urls), is_wanted=not quiet and not output.isatty())

    def put(line: str) -> None:
        click.echo(line, file=output)
        progress.step()

    async def work(web: Client) -> int:
        return await _read_all(web, urls, {**msgspec.to_builtins(options), "tier": tier}, put)

    sys.exit(asyncio.run(access.ask(work)))


async def _read_all(
    web: Client, urls: Sequence[str], asked: Mapping[str, Any], put: Callable[[str], None]
) -> int:
    """At most a thousand URLs at once: a longer list is several batches. What was printed is deleted."""
    codes = {0}
    for first in range(0, len(urls), MAX_URLS):
        async with (
            BatchRun(web, urls[first : first + MAX_URLS], asked) as running,
            aclosing(aiter(running)) as lines,
        ):
            async for line in lines:
                put(msgspec.json.encode(replace(line, index=first + line.index)).decode())
                codes.add(_code(line))
        await running.delete()
    return FAILED if FAILED in codes else max(codes)


def _code(line: BatchResult) -> int:
    if not line.result:
        return FAILED
    return 0 if line.result.outcome is Outcome.OK else NOT_OK
