"""`gossamer batch FILE`: many pages, politely, as JSON lines."""

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, Final, TextIO, get_args

import click

from gossamer.doors.cli import Build, House, load, quiet_log, with_settings
from gossamer.doors.cli.owner import reading
from gossamer.doors.http.batch import BatchTier
from gossamer.doors.http.batch_line import LineMaker
from gossamer.doors.http.exchange import new_request_id
from gossamer.flows.admit import Caller
from gossamer.flows.batch import AT_ONCE, Batcher, Plan
from gossamer.flows.obtain import Rendering
from gossamer.flows.read import FORMATS, Wish
from gossamer.web.reading import How
from gossamer.web.url import Url

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
_ANY_PAGE: Final = Url.parse("https://example.com/")  # in a plan, which is for all of them


@click.command("batch")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option(
    "--tier",
    type=click.Choice(get_args(BatchTier)),
    default="basic",
    show_default=True,
    help="Without a browser, with one, or where a page needs one.",
)
@click.option(
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    default=("markdown", "metadata"),
    show_default=True,
    help="What is wanted of each page; may be repeated.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(100, 200_000),
    default=8_000,
    show_default=True,
    help="The most that the format llm may have.",
)
@click.option("--full", is_flag=True, help="The full pages instead of their main content.")
@click.option("--include", multiple=True, metavar="CSS", help="Only what matches; may be repeated.")
@click.option("--exclude", multiple=True, metavar="CSS", help="Not what matches; may be repeated.")
@click.option(
    "--output", "-o", type=click.File("w", encoding="utf-8"), default="-", help="A file to write to."
)
@click.option(
    "--timeout", type=click.FloatRange(0.1, 600), default=30.0, show_default=True, help="Seconds a page."
)
@click.option(
    "--at-once",
    type=click.IntRange(1, 64),
    default=AT_ONCE,
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
    formats: tuple[str, ...],
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
    """Fetch the pages that FILE names, one URL a line (- is what is piped in).

    What comes of each is a line of JSON, printed as soon as it is known; `index` says which URL it is. Empty
    lines and those that begin with # are passed over. Exit code: 0 when every page is what was asked for, 3
    when one of them is something else, 1 when one could not be had.
    """
    settings = load(flags)
    urls = [line.strip() for line in file if line.strip() and not line.lstrip().startswith("#")]
    if not urls:
        raise click.UsageError(f"There is no URL in {file.name}.")
    wish = Wish(
        url=_ANY_PAGE,
        how=How(not full, include, exclude),
        formats=formats,
        timeout=timeout,
        render=_RENDERS[tier],
        max_tokens=max_tokens,
    )
    progress = Progress(len(urls), output, shown=not quiet and sys.stderr.isatty())

    async def work() -> int:
        house = build(settings, quiet_log(settings))
        try:
            if wish.render != "never":
                await house.open_proxy()
            batcher = Batcher(
                house.reader, house.log, at_once=at_once, renders_at_once=settings.browser_places
            )
            async with reading(house) as owner:
                return await _fetch_all(house, owner, batcher, urls, Plan(wish), progress)
        finally:
            await house.close()

    sys.exit(asyncio.run(work()))


async def _fetch_all(
    house: House, owner: Caller, batcher: Batcher, urls: Sequence[str], plan: Plan, progress: "Progress"
) -> int:
    maker, request_id = LineMaker(house.reader, ""), new_request_id()
    codes = {0}
    async with aclosing(batcher.read_all(dict(enumerate(urls)), plan, owner)) as arriving:
        async for arrived in arriving:
            for came in arrived:
                line = maker.line(came, request_id)
                progress.print(line.text.decode())
                codes.add(FAILED if line.status == "failed" else 0 if line.ok else NOT_OK)
    return FAILED if FAILED in codes else max(codes)


class Progress:
    """Prints lines, and on the terminal how far it is."""

    def __init__(self, total: int, output: TextIO, *, shown: bool) -> None:
        self._total = total
        self._output = output
        self._shown = shown and not output.isatty()
        self._done = 0
        self._started = time.monotonic()

    def print(self, line: str) -> None:
        click.echo(line, file=self._output)
        self._done += 1
        if self._shown:
            seconds = time.monotonic() - self._started
            end = "\n" if self._done == self._total else ""
            click.echo(f"\r{self._done:,} of {self._total:,} pages, {seconds:.1f} s{end}", err=True, nl=False)
