"""`gossamer crawls freshness|versions|diff`: how a crawl is kept fresh, and what its pages were."""

from collections.abc import Sequence
from typing import Any, Final, get_args

import click
import msgspec

from gossamer.client.client import Client
from gossamer.client.options import RefreshKeywords
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.crawl.crawls import WHERE, crawls_group, run_call
from gossamer.doors.cli.shared.columns import print_table
from gossamer.web.crawl.crawl_answer import ShownCrawl
from gossamer.web.crawl.refresh.shown_version import ShownVersion, VersionFormat
from gossamer.web.crawl.spec import MAX_REFRESH_BUDGET, MAX_REFRESH_SECONDS, MIN_REFRESH_SECONDS

_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
_SECONDS: Final = click.IntRange(MIN_REFRESH_SECONDS, MAX_REFRESH_SECONDS)


@crawls_group.command()
@click.argument("id")
@click.option("--on/--off", "on", default=None, help="Keep the crawl fresh, or do not.")
@click.option("--budget", type=click.IntRange(1, MAX_REFRESH_BUDGET), help="Visits to each host a day.")
@click.option("--least", type=_SECONDS, help="Seconds between two visits to a page, at least.")
@click.option("--most", type=_SECONDS, help="Seconds between two visits to a page, at most.")
@_JSON
@with_settings(WHERE)
@click.pass_obj
def freshness(
    build: Build,
    /,
    id: str,
    on: bool | None,
    budget: int | None,
    least: int | None,
    most: int | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Show how fresh the crawl with this ID is, or change how it is kept so."""
    change = RefreshKeywords()
    if on is not None:
        change["refresh"] = "auto" if on else "off"
    if budget is not None:
        change["refresh_budget"] = budget
    if least is not None:
        change["refresh_least"] = least
    if most is not None:
        change["refresh_most"] = most

    async def ask(web: Client) -> ShownCrawl:
        run = web.crawl_with_id(id)
        if change:
            await run.change(**change)
        return await run.status()

    _print_freshness(run_call(build, flags, ask), as_json)


@crawls_group.command()
@click.argument("id")
@click.argument("page")
@click.argument("number", type=click.IntRange(1), required=False)
@click.option(
    "--format",
    "shape",
    type=click.Choice(get_args(VersionFormat)),
    default="markdown",
    show_default=True,
    help="Of the content of version NUMBER.",
)
@_JSON
@with_settings((*WHERE, "reading_processes"))
@click.pass_obj
def versions(
    build: Build, /, id: str, page: str, number: int | None, shape: VersionFormat, as_json: bool, **flags: Any
) -> None:
    """List the versions of PAGE (its id) in the crawl with this ID, or print version NUMBER."""

    async def ask_list(web: Client) -> list[ShownVersion]:
        return await web.crawl_with_id(id).versions(page)

    async def ask_content(web: Client, wanted: int) -> bytes:
        return await web.crawl_with_id(id).version(page, wanted, format=shape)

    if number is not None:
        wanted = number
        content = run_call(build, flags, lambda web: ask_content(web, wanted))
        click.echo(content, nl=not content.endswith(b"\n"))
        return
    _print_versions(run_call(build, flags, ask_list), as_json)


@crawls_group.command()
@click.argument("id")
@click.argument("page")
@click.argument("before", type=click.IntRange(1))
@click.argument("after", type=click.IntRange(1), required=False)
@with_settings((*WHERE, "reading_processes"))
@click.pass_obj
def diff(build: Build, /, id: str, page: str, before: int, after: int | None, **flags: Any) -> None:
    """Compare version BEFORE of PAGE (its id) with version AFTER, by default the newest."""

    async def ask(web: Client) -> str:
        return await web.crawl_with_id(id).diff(page, before, after)

    click.echo(run_call(build, flags, ask), nl=False)


def _print_freshness(crawl: ShownCrawl, as_json: bool) -> None:
    fresh, options = crawl.freshness, crawl.options
    if as_json:
        click.echo(msgspec.json.encode(fresh or None))
        return
    if not fresh:
        click.echo("It is not kept fresh. --on changes that.")
        return
    month = fresh.month
    rows = [
        ("pages", f"{fresh.pages:,}"),
        ("probably fresh", "-" if fresh.expected is None else f"{fresh.expected:.0%}"),
        ("due", f"{fresh.due:,}"),
        ("gone", f"{fresh.gone:,}"),
        ("next visit", fresh.next_at or "-"),
        ("planned today", f"{fresh.today.planned:,}, of {options.refresh_budget:,} for each host"),
        ("in 30 days", f"{month.visits:,} visits, {month.changed:,} changes, {month.bytes:,} bytes"),
    ]
    rows += [
        (f"hints of {one.host}", f"{one.confirmed:g} of {one.followed:g} right, {_belief(one.believed)}")
        for one in fresh.hints
    ]
    print_table(rows)


def _belief(believed: bool) -> str:
    return "followed" if believed else "not followed"


def _print_versions(found: Sequence[ShownVersion], as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    rows = [("NUMBER", "CHANGE", "STORED", "STATUS", "BYTES", "TITLE")]
    rows += [
        (
            str(one.number),
            one.change,
            one.stored_at[:16].replace("T", " "),
            "-" if one.status_code is None else str(one.status_code),
            f"{one.content_length:,}",
            "".join(each if each.isprintable() else "?" for each in one.title[:60]),
        )
        for one in found
    ]
    print_table(rows)
