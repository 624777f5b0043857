"""`gossamer crawls list|pages|pause|resume|stop|delete`: manages crawls that began here or on a server."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final, Literal, get_args

import click
import msgspec

from gossamer.doors.cli import Build, CommandService, with_settings
from gossamer.doors.cli.crawl.crawl_output import Output, OutputFormat, output_for
from gossamer.doors.cli.operations.delete import QUIET, delete_here
from gossamer.doors.cli.shared.actor import command_actor
from gossamer.doors.cli.shared.columns import minute, print_table
from gossamer.doors.cli.shared.running import run_on_data
from gossamer.doors.http.api.crawl.crawl_shapes import to_line
from gossamer.flows.crawl.managing.control import CrawlControl
from gossamer.state.crawl.crawled_pages import PageFilter
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.tenants.activity import Actor
from gossamer.web.crawl.progress import CrawlState

AT_ONCE: Final = 100
MAX_NAME_CHARS: Final = 60
_WHERE: Final = ("data_dir", "database_url", "redis_url", "blobs_url")
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
@with_settings(_WHERE)
@click.pass_obj
def list_crawls(build: Build, /, status: CrawlState | None, limit: int, as_json: bool, **flags: Any) -> None:
    """List the crawls, newest first."""
    _print(
        run_on_data(build, flags, lambda service: service.crawls.listing(None, limit=limit, state=status)),
        as_json,
    )


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
@with_settings((*_WHERE, "reading_processes"))
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
        run_on_data(build, flags, lambda service: _print_pages(service, id, written))
    finally:
        written.close()


@crawls_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def pause(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Pause the crawl with this ID. Pages that are being fetched are still stored."""
    _print([run_on_data(build, flags, lambda service: _change(service, id, CrawlControl.pause))], as_json)


@crawls_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def resume(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Let a server or worker continue the crawl with this ID; `gossamer crawl --resume` does it here."""
    _print([run_on_data(build, flags, lambda service: _change(service, id, CrawlControl.resume))], as_json)


@crawls_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def stop(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Stop the crawl with this ID for good. Stored pages stay."""
    _print([run_on_data(build, flags, lambda service: _change(service, id, CrawlControl.stop))], as_json)


@crawls_group.command()
@click.argument("id")
@QUIET
@with_settings(_WHERE)
@click.pass_obj
def delete(build: Build, /, id: str, quiet: bool, **flags: Any) -> None:
    """Delete the crawl with this ID and everything that it has stored. A crawl that runs is stopped first."""

    async def find(service: CommandService) -> Deletion:
        return Deletion(DeletionKind.CRAWL, id)

    delete_here(build, flags, find, quiet=quiet)


async def _change(
    service: CommandService, crawl_id: str, change: Callable[[CrawlControl, Crawl, Actor], Awaitable[bool]]
) -> Crawl:
    await change(service.crawl_control, await find_crawl(service, crawl_id), command_actor())
    return await find_crawl(service, crawl_id)


async def _print_pages(service: CommandService, crawl_id: str, written: Output) -> None:
    which = PageFilter(crawl_id=(await find_crawl(service, crawl_id)).id)
    written.open()
    after = None
    while found := await service.crawl_results.listing_when_free(which, after, AT_ONCE):
        async with aclosing(service.crawl_results.chunks(found, written.content)) as chunks:
            async for chunk in chunks:
                written.put(chunk)
        after = found[-1].position


async def find_crawl(service: CommandService, crawl_id: str) -> Crawl:
    crawl = await service.crawls.get(crawl_id)
    if crawl is None:
        raise _unknown(crawl_id)
    return crawl


def _unknown(crawl_id: str) -> click.ClickException:
    return click.ClickException(f"There is no crawl {crawl_id}.")


def _print(found: list[Crawl], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode([to_line(crawl) for crawl in found]))
        return
    rows = [("ID", "STATE", "PAGES", "LEFT", "FAILED", "CREATED", "NAME OR FIRST SEED")]
    rows += [
        (
            crawl.id,
            crawl.state,
            f"{crawl.counts.pages:,}",
            f"{crawl.counts.left:,}",
            f"{crawl.counts.failed:,}",
            minute(crawl.created_at),
            _title(crawl),
        )
        for crawl in found
    ]
    print_table(rows)


def _title(crawl: Crawl) -> str:
    """One line without control characters, because the name may come from other people."""
    name = crawl.name or next(iter(crawl.spec.seeds), "")
    return "".join(each if each.isprintable() else "?" for each in name[:MAX_NAME_CHARS])
