"""`gossamer llms URL`: writes an llms.txt for a site."""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import click

from gossamer.client.client import Client
from gossamer.client.runs import CrawlRun
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.crawl.telling import progress_of, why_it_waits
from gossamer.doors.cli.crawl.watched import CrawlEnd, WatchedCrawl
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.doors.cli.shared.writing import reserve, write
from gossamer.doors.embedded.owner import as_owner
from gossamer.web.crawl.crawl_answer import ShownCrawl
from gossamer.web.crawl.scope import Reach
from gossamer.web.crawl.shown_page import ShownPage
from gossamer.web.markdown.llms import is_listed
from gossamer.web.outcome.outcome import Outcome

NOTHING: Final = 3
MAX_PAGES: Final = 5_000
_SETTINGS: Final = (
    "egress_allow",
    "egress_ports",
    "dns_servers",
    "user_agent",
    "crawl_delay",
    "data_dir",
    "database_url",
)


@click.command("llms")
@click.argument("url")
@click.option("--full", is_flag=True, help="Write llms-full.txt: the text of the pages, too.")
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_PAGES),
    default=100,
    show_default=True,
    help="Read at most this many pages.",
)
@click.option("--subdomains", is_flag=True, help="Pages of all hosts of the domain.")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="A file; else it is printed."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress on the terminal.")
@with_settings(_SETTINGS)
@click.pass_obj
def llms(
    build: Build,
    /,
    url: str,
    full: bool,
    limit: int,
    subdomains: bool,
    output: Path | None,
    quiet: bool,
    **flags: Any,
) -> None:
    """Write an llms.txt for a site: a guide to its pages for language models.

    The site is crawled for it, as robots.txt allows, and the crawl is deleted in the end. Exit code: 0 if
    there is a page to name, 3 if there is none, 1 if the site cannot be read.
    """
    access = web_access(build, flags, acting=as_owner, in_any_folder=True)
    if output is not None:
        reserve(output)
    line = ProgressLine(is_wanted=not quiet)

    async def ask(web: Client) -> str:
        reach: Reach = "domain" if subdomains else "host"
        crawl = web.crawl(url, name="llms.txt", max_pages=limit, scope=reach, keep=True)
        return await _guide(crawl, line, full=full)

    text = asyncio.run(access.ask(ask))
    if not text:
        click.echo("gossamer: the site has no page to name, or robots.txt allows none", err=True)
        sys.exit(NOTHING)
    if output is None:
        click.echo(text, nl=False)
    else:
        write(output, text.encode())


async def _guide(crawl: CrawlRun, line: ProgressLine, *, full: bool) -> str:
    """Empty if there is no page to name. The crawl is deleted in the end."""
    pages: list[ShownPage] = []

    def show(shown: ShownCrawl) -> None:
        line.show(progress_of(shown.counts, line.seconds))

    await crawl.start()
    async with AsyncExitStack() as after:
        after.push_async_callback(crawl.delete)
        ended = await WatchedCrawl(crawl, pages.append, show).until_over()
        line.clear()
        _check(ended, pages)
        if not any(map(_is_named, pages)):
            return ""
        if ended.end != "over":
            await crawl.stop()  # what there is of the site is described
        return await crawl.guide(full=full)


def _check(ended: CrawlEnd, pages: list[ShownPage]) -> None:
    """Raise an error if the site cannot be read."""
    if ended.end == "interrupted":
        raise click.Abort  # exit code 130
    if any(page.status_code is not None for page in pages):
        return
    if ended.end == "waits":
        raise click.ClickException(why_it_waits(ended.reason))
    if pages:
        raise click.ClickException(f"{pages[-1].url} cannot be read: {pages[-1].error}.")


def _is_named(page: ShownPage) -> bool:
    return page.outcome == Outcome.OK and is_listed(page.duplicate_of, page.directives)
