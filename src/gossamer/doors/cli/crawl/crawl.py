"""`gossamer crawl URL…`: crawls sites politely, into JSON lines, a table, or a folder of markdown files."""

import sys
from pathlib import Path
from typing import Any, Final, Literal, get_args

import click
import msgspec
import uvloop

from gossamer.client.client import Client
from gossamer.client.runs import CrawlRun
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.automation.rule_files import read_rules
from gossamer.doors.cli.crawl.crawl_output import Output, OutputFormat, output_for
from gossamer.doors.cli.crawl.telling import (
    PrintedPages,
    progress_of,
    report_end,
    say_how_to_continue,
    say_traps,
    why_it_waits,
)
from gossamer.doors.cli.crawl.watched import WatchedCrawl
from gossamer.doors.cli.options import first_given_option, from_options, with_options
from gossamer.doors.cli.shared.access import WebAccess, web_access
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.doors.embedded.owner import as_owner
from gossamer.web.crawl.crawl_answer import ShownCrawl
from gossamer.web.crawl.spec import NewCrawl

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


@click.command("crawl")
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option(
    "--resume",
    metavar="ID",
    help="Continue a crawl that was interrupted or paused (see `gossamer crawls list`).",
)
@with_options(NewCrawl)
@click.option(
    "--rules",
    "rule_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="How pages of some hosts and paths are crawled and read: TOML or JSON, as in docs/sites.md.",
)
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
    rule_file: Path | None,
    output: str | None,
    shape: OutputFormat | None,
    content: Literal["markdown", "text", "html"] | None,
    quiet: bool,
    **flags: Any,
) -> None:
    """Crawl sites, beginning with these pages, and print the stored pages.

    It obeys robots.txt and needs no server; `gossamer --server URL crawl` lets a server crawl. Ctrl-C pauses
    the crawl; `gossamer crawl --resume ID` continues it, and prints all its pages. If only hosts are left
    that do not answer, the crawl pauses by itself. Exit code: 0 if it is done, 3 if it paused by itself, 130
    if it was interrupted, 1 if no page could be fetched.
    """
    if bool(urls) == bool(resume):
        raise click.UsageError("Give URLs to begin with, or --resume and the ID of a crawl.")
    if resume and (flag := first_given_option(NewCrawl)):
        raise click.UsageError(f"A crawl goes on as it was begun: leave out {flag}.")
    given = {name: flags.pop(name) for name in _SETTINGS}
    if resume and rule_file is not None:
        raise click.UsageError("A crawl goes on as it was begun: leave out --rules.")
    rules = () if rule_file is None else read_rules(rule_file, home="")
    begin = resume or from_options(NewCrawl, flags, seeds=urls, rules=msgspec.to_builtins(rules))
    written = output_for(output, shape, content)
    progress = ProgressLine(is_wanted=not quiet and not written.is_terminal)
    access = web_access(build, given, acting=as_owner)

    async def work(web: Client) -> int:
        begun = await (
            _resume(web, begin, written) if isinstance(begin, str) else _start(web, begin, written)
        )
        if access.server is None and not quiet:
            await _mention_others(web, begun)
        return await _print(begun, written, progress, access, quiet=quiet)

    try:
        code = uvloop.run(access.ask(work))
    finally:
        written.close()
    sys.exit(code)


async def _start(web: Client, new: NewCrawl, written: Output) -> CrawlRun:
    run = CrawlRun(web, msgspec.to_builtins(new), content=written.content, keep=True)
    await run.start()
    try:
        written.open()
    except BaseException:  # if the output cannot be opened, there is no crawl
        await run.delete()
        raise
    return run


async def _resume(web: Client, crawl_id: str, written: Output) -> CrawlRun:
    run = web.crawl_with_id(crawl_id, content=written.content)
    await run.status()  # before the output is overwritten: it may not exist
    written.open()
    await run.resume()
    return run


async def _mention_others(web: Client, begun: CrawlRun) -> None:
    """The workers in this process serve all crawls, so say that others continue too."""
    running = await web.crawls(status="running", limit=MAX_OTHERS)
    others = sum(crawl.crawl_id != begun.id and crawl.counts.left > 0 for crawl in running)
    if others:
        subject = "Another crawl is" if others == 1 else f"{others} other crawls are"
        click.echo(f"{subject} running here too, and will go on: see gossamer crawls list.", err=True)


async def _print(
    run: CrawlRun, written: Output, progress: ProgressLine, access: WebAccess, *, quiet: bool
) -> int:
    printed = PrintedPages(written)
    teller = CrawlTeller(progress, access.server)
    try:
        ended = await WatchedCrawl(run, lambda page: printed.put([page]), teller.show).until_over()
    except (OSError, click.ClickException):  # the reader of the pipe has gone, or the disk is full
        is_paused = (await run.pause()).status == "paused"
        say_how_to_continue(run.id, is_paused=is_paused, command=access.command)
        raise
    if ended.reason is not None and ended.end == "waits":
        progress.clear()
        click.echo(why_it_waits(ended.reason), err=True)
    counts = ended.crawl.counts
    progress.show(progress_of(counts, progress.seconds), is_last=True)
    if not quiet:
        say_traps(ended.crawl.traps)
    return report_end(run.id, counts, ended.end, printed, command=access.command)


class CrawlTeller:
    """Shows how far a crawl is."""

    def __init__(self, progress: ProgressLine, server: str | None) -> None:
        self._progress = progress
        self._has_told = server is None  # the workers of this process are about to begin

    def show(self, crawl: ShownCrawl) -> None:
        if crawl.waiting is not None and crawl.waiting.reason == "worker" and not self._has_told:
            self._progress.clear()
            click.echo("The server has no worker that crawls: start `gossamer worker` there.", err=True)
            self._has_told = True
        self._progress.show(progress_of(crawl.counts, self._progress.seconds))
