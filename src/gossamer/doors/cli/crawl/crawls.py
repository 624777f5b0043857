"""`gossamer crawls list|pages|refresh|pause|resume|stop|delete`: manages crawls, here or on a server."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal, TypeVar, get_args

import click
import msgspec

from gossamer.client.client import Client
from gossamer.client.runs import CrawlRun
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.crawl.crawl_output import Output, OutputFormat, output_for
from gossamer.doors.cli.operations.delete import QUIET, delete_here
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.columns import print_table
from gossamer.doors.cli.shared.remote import named_server
from gossamer.doors.cli.shared.service import CommandService
from gossamer.doors.embedded.owner import as_owner
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.web.crawl.crawl_answer import CrawlLine, ShownCrawl
from gossamer.web.crawl.progress import CrawlState
from gossamer.web.crawl.refresh.freshness import QueuedRefresh

T = TypeVar("T")
MAX_NAME_CHARS: Final = 60
WHERE: Final = ("data_dir", "database_url", "redis_url", "blobs_url")
_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group("crawls")
def crawls_group() -> None:
    """List crawls, print their pages, and pause, resume, stop or delete them."""


@crawls_group.command("list")
@click.option("--status", type=click.Choice(get_args(CrawlState)), help="Only crawls in this state.")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="The maximum number of crawls."
)
@_JSON
@with_settings(WHERE)
@click.pass_obj
def list_crawls(build: Build, /, status: CrawlState | None, limit: int, as_json: bool, **flags: Any) -> None:
    """List the crawls, newest first."""

    async def ask(web: Client) -> list[CrawlLine]:
        return await web.crawls(status=status, limit=limit)

    _print(run_call(build, flags, ask), as_json)


@crawls_group.command()
@click.argument("id")
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
@with_settings((*WHERE, "reading_processes"))
@click.pass_obj
def pages(
    build: Build,
    /,
    id: str,
    output: str | None,
    shape: OutputFormat | None,
    content: Literal["markdown", "text", "html"] | None,
    **flags: Any,
) -> None:
    """Print the pages that the crawl with this ID has stored so far. Nothing is fetched."""
    written = output_for(output, shape, content)
    try:
        run_call(build, flags, lambda web: _print_pages(web, id, written))
    finally:
        written.close()


@crawls_group.command()
@click.argument("id")
@with_settings(WHERE)
@click.pass_obj
def refresh(build: Build, /, id: str, **flags: Any) -> None:
    """Visit the pages of the crawl with this ID again now, as far as their budget allows."""

    async def ask(web: Client) -> QueuedRefresh:
        return await web.crawl_with_id(id).refresh()

    click.echo(f"{run_call(build, flags, ask).queued:,} pages wait to be visited")


@crawls_group.command()
@click.argument("id")
@_JSON
@with_settings(WHERE)
@click.pass_obj
def pause(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Pause the crawl with this ID. Pages that are being fetched are still stored."""
    _print([_change(build, flags, id, CrawlRun.pause)], as_json)


@crawls_group.command()
@click.argument("id")
@_JSON
@with_settings(WHERE)
@click.pass_obj
def resume(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Let a server or worker continue the crawl with this ID; `gossamer crawl --resume` does it here."""
    _print([_change(build, flags, id, CrawlRun.resume)], as_json)


@crawls_group.command()
@click.argument("id")
@_JSON
@with_settings(WHERE)
@click.pass_obj
def stop(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Stop the crawl with this ID for good. Stored pages stay."""
    _print([_change(build, flags, id, CrawlRun.stop)], as_json)


@crawls_group.command()
@click.argument("id")
@QUIET
@with_settings(WHERE)
@click.pass_obj
def delete(build: Build, /, id: str, quiet: bool, **flags: Any) -> None:
    """Delete the crawl with this ID and everything that it has stored. A crawl that runs is stopped first."""
    if named_server(flags) is not None:
        run_call(build, flags, lambda web: web.crawl_with_id(id).delete())
        click.echo(f"Deleted {id}.")
        return

    async def find(service: CommandService) -> Deletion:
        return Deletion(DeletionKind.CRAWL, id)

    delete_here(build, flags, find, quiet=quiet)


def run_call(build: Build, /, flags: dict[str, Any], ask: Callable[[Client], Awaitable[T]]) -> T:
    """Nothing is crawled by this: the crawls are those of a server, or of other processes here."""
    return asyncio.run(web_access(build, flags, acting=as_owner, works=False).ask(ask))


def _change(
    build: Build,
    /,
    flags: dict[str, Any],
    crawl_id: str,
    change: Callable[[CrawlRun], Awaitable[ShownCrawl]],
) -> CrawlLine:
    async def ask(web: Client) -> CrawlLine:
        return (await change(web.crawl_with_id(crawl_id))).line

    return run_call(build, flags, ask)


async def _print_pages(web: Client, crawl_id: str, written: Output) -> None:
    run = web.crawl_with_id(crawl_id, content=written.content)
    await run.status()  # before the output is overwritten: it may not exist
    written.open()
    async with aclosing(run.stored()) as pages:
        async for page in pages:
            written.put([page])


def _print(found: Sequence[CrawlLine], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    rows = [("ID", "STATE", "PAGES", "LEFT", "FAILED", "CREATED", "NAME OR FIRST SEED")]
    rows += [
        (
            crawl.crawl_id,
            crawl.status,
            f"{crawl.counts.pages:,}",
            f"{crawl.counts.left:,}",
            f"{crawl.counts.failed:,}",
            crawl.created_at[:16].replace("T", " "),
            _title(crawl),
        )
        for crawl in found
    ]
    print_table(rows)


def _title(crawl: CrawlLine) -> str:
    """One line without control characters, because the name may come from other people."""
    name = crawl.name or next(iter(crawl.seeds), "")
    return "".join(each if each.isprintable() else "?" for each in name[:MAX_NAME_CHARS])
