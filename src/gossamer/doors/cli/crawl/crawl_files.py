"""`gossamer crawls graph|export|import`: how pages are linked, and crawls as files of web archives."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, BinaryIO, Final, get_args

import click
import msgspec

from gossamer.client.calls.importing import import_file
from gossamer.client.client import Client
from gossamer.client.runs import CrawlRun
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.crawl.crawls import WHERE, crawls_group, run_call
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.columns import print_table
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.doors.embedded.owner import as_owner
from gossamer.web.crawl.crawl_answer import ImportResult
from gossamer.web.crawl.graph.graph_answer import (
    ExportFormat,
    GraphAnswer,
    GraphFormat,
    GraphPart,
    GraphSection,
    GraphSort,
)

_OUTPUT: Final = click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="A file to write to."
)


@crawls_group.command()
@click.argument("id")
@click.option("--section", type=click.Choice(get_args(GraphSection)), default="pages", show_default=True)
@click.option("--sort", type=click.Choice(get_args(GraphSort)), default="pageRank", show_default=True)
@click.option(
    "--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="Entries to print."
)
@click.option("--format", "shape", type=click.Choice(get_args(GraphFormat)), help="Write a file instead.")
@click.option(
    "--part", type=click.Choice(get_args(GraphPart)), default="links", help="Of a table: links or pages."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@_OUTPUT
@with_settings((*WHERE, "reading_processes"))
@click.pass_obj
def graph(
    build: Build,
    /,
    id: str,
    section: GraphSection,
    sort: GraphSort,
    limit: int,
    shape: GraphFormat | None,
    part: GraphPart,
    as_json: bool,
    output: Path | None,
    **flags: Any,
) -> None:
    """Show how the pages of the crawl with this ID are linked, or write that to a file."""
    if shape is not None:
        _save(build, flags, id, output, lambda run: run.graph_file(shape, part))
        return

    async def ask(web: Client) -> GraphAnswer:
        return await web.crawl_with_id(id).graph(section, sort=sort, limit=limit)

    found = run_call(build, flags, ask)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        _print(found)


@crawls_group.command()
@click.argument("id")
@click.option(
    "--format", "shape", type=click.Choice(get_args(ExportFormat)), default="wacz", show_default=True
)
@_OUTPUT
@with_settings((*WHERE, "reading_processes"))
@click.pass_obj
def export(build: Build, /, id: str, shape: ExportFormat, output: Path | None, **flags: Any) -> None:
    """Write the pages of the crawl with this ID as a WARC or WACZ file."""
    _save(build, flags, id, output, lambda run: run.export(shape))


@crawls_group.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", default="", help="What the crawl is called; by default as the file.")
@click.option("--partial", is_flag=True, help="Keep what a damaged file has before the damage.")
@with_settings((*WHERE, "reading_processes"))
@click.pass_obj
def import_command(build: Build, /, file: Path, name: str, partial: bool, **flags: Any) -> None:
    """Make a crawl out of a WARC or WACZ FILE. Nothing is fetched."""
    line = ProgressLine(is_wanted=True)
    line.show("  0 %  sending the file")

    async def ask(web: Client) -> ImportResult:
        def show(step: str, percent: int) -> None:
            line.show(f"{percent:3} %  {step}")

        return await import_file(web, file, name=name or file.name, partial=partial, on_step=show)

    found = asyncio.run(web_access(build, flags, acting=as_owner).ask(ask))
    line.clear()
    click.echo(f"{found.crawl_id}  {found.pages:,} pages")
    if found.reason is not None:
        click.echo(f"The file was not read to its end: {found.reason}.", err=True)


def _save(
    build: Build,
    /,
    flags: dict[str, Any],
    crawl_id: str,
    output: Path | None,
    pieces: Callable[[CrawlRun], AsyncGenerator[bytes]],
) -> None:
    if output is None and sys.stdout.isatty():
        raise click.UsageError("A terminal is no place for a file: name one with --output.")

    async def ask(web: Client) -> None:
        run = web.crawl_with_id(crawl_id)
        await run.status()  # before the output is overwritten: it may not exist
        file: BinaryIO = sys.stdout.buffer if output is None else output.open("wb")
        try:
            async with aclosing(pieces(run)) as arriving:
                async for piece in arriving:
                    file.write(piece)
        finally:
            if output is not None:
                file.close()

    run_call(build, flags, ask)


def _print(found: GraphAnswer) -> None:
    told = found.summary
    click.echo(
        f"{told.pages:,} pages, {told.links:,} links, {told.orphans:,} orphans, {told.broken:,} broken, "
        f"{told.redirects:,} redirects, {told.outside_links:,} links to other hosts"
    )
    if found.redirects:
        chains = [
            (str(len(one.steps)), "loop" if one.is_loop else one.leads_to, one.steps[0].url)
            for one in found.redirects
        ]
        print_table([("HOPS", "LEADS TO", "FROM"), *chains])
    elif found.clusters:
        groups = [(f"{one.pages:,}", f"{one.page_rank:.4f}", one.prefix) for one in found.clusters]
        print_table([("PAGES", "PAGERANK", "PREFIX"), *groups])
    elif found.pages:
        rows = [
            (
                f"{one.page_rank:.5f}",
                f"{one.inlinks:,}",
                f"{one.outlinks:,}",
                "-" if one.depth is None else str(one.depth),
                str(one.status_code or "-"),
                one.url,
            )
            for one in found.pages
        ]
        print_table([("PAGERANK", "IN", "OUT", "DEPTH", "STATUS", "URL"), *rows])
