"""`gossamer crawls list|pages|pause|resume|stop`: crawls that were begun here or by a server."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final, Literal, TypeVar, get_args

import click
import msgspec

from gossamer.doors.cli import Build, House, load, quiet_log, with_settings
from gossamer.doors.cli.columns import minute, print_table
from gossamer.doors.cli.crawl_output import Output, Shown, output_for
from gossamer.doors.http.crawl_shapes import line
from gossamer.state.crawled_pages import PageFilter
from gossamer.state.crawls import Crawl, Crawls, State

T = TypeVar("T")
AT_ONCE: Final = 100
LONGEST_NAME: Final = 60
_WHERE: Final = ("data_dir", "database_url", "redis_url", "blobs_url")
_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group("crawls")
def crawls_group() -> None:
    """List crawls, print their pages, and pause, resume or stop them."""


@crawls_group.command("list")
@click.option("--status", type=click.Choice(get_args(State)), help="Only in this state.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def list_crawls(build: Build, /, status: State | None, limit: int, as_json: bool, **flags: Any) -> None:
    """List the crawls, newest first."""
    _print(_run(build, flags, lambda house: house.crawls.listing(None, limit=limit, state=status)), as_json)


@crawls_group.command()
@click.argument("id")
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
@with_settings((*_WHERE, "reading_processes"))
@click.pass_obj
def pages(
    build: Build,
    /,
    id: str,
    output: str | None,
    shape: Shown | None,
    content: Literal["markdown", "text", "html"] | None,
    **flags: Any,
) -> None:
    """Print what the crawl with this ID has stored so far. Nothing is fetched."""
    written = output_for(output, shape, content)
    try:
        _run(build, flags, lambda house: _print_pages(house, id, written))
    finally:
        written.close()


@crawls_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def pause(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Pause the crawl with this ID: what is being fetched is still stored."""
    _print([_run(build, flags, lambda house: _turned(house, id, Crawls.pause))], as_json)


@crawls_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def resume(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Let a server or worker go on with the crawl with this ID; `gossamer crawl --resume` does so itself."""
    _print([_run(build, flags, lambda house: _turned(house, id, Crawls.resume))], as_json)


@crawls_group.command()
@click.argument("id")
@_JSON
@with_settings(_WHERE)
@click.pass_obj
def stop(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Stop the crawl with this ID for good; the default one can only be paused. What is stored stays."""
    _print([_run(build, flags, lambda house: _turned(house, id, Crawls.cancel))], as_json)


def _run(build: Build, /, flags: dict[str, Any], work: Callable[[House], Awaitable[T]]) -> T:
    async def inside() -> T:
        settings = load(flags)
        house = build(settings, quiet_log(settings))
        try:
            await house.database.migrate()
            return await work(house)
        finally:
            await house.close()

    return asyncio.run(inside())


async def _turned(house: House, crawl_id: str, turn: Callable[[Crawls, str], Awaitable[bool]]) -> Crawl:
    await turn(house.crawls, crawl_id)
    return await crawl_named(house, crawl_id)


async def _print_pages(house: House, crawl_id: str, written: Output) -> None:
    which = PageFilter(crawl_id=(await crawl_named(house, crawl_id)).id)
    written.open()
    after = None
    while found := await house.crawl_results.listing(which, after, AT_ONCE):
        async with aclosing(house.crawl_results.handfuls(found, written.content)) as handfuls:
            async for some in handfuls:
                written.put(some)
        after = found[-1].position


async def crawl_named(house: House, crawl_id: str) -> Crawl:
    crawl = await house.crawls.get(crawl_id)
    if crawl is None:
        raise click.ClickException(f"There is no crawl {crawl_id}.")
    return crawl


def _print(found: list[Crawl], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode([line(crawl) for crawl in found]))
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
            _called(crawl),
        )
        for crawl in found
    ]
    print_table(rows)


def _called(crawl: Crawl) -> str:
    """In one line that does nothing to a terminal: others may have named it."""
    name = crawl.name or next(iter(crawl.spec.seeds), "")
    return "".join(each if each.isprintable() else "?" for each in name[:LONGEST_NAME])
