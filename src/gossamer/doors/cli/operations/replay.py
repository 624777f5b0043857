"""`gossamer replay`: reads stored pages again by the rules of today, or lets crawls fetch them again."""

from datetime import datetime
from typing import Any

import click
import msgspec

from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.operations.delete import QUIET, WHERE
from gossamer.doors.cli.shared.moment import parse_moment
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.doors.cli.shared.running import run_with
from gossamer.doors.cli.shared.service import CommandService
from gossamer.doors.http.api.crawl.host_names import host_names
from gossamer.flows.data.repair.replayer import ReplayResult
from gossamer.state.crawl.removal.purge import PurgeFilter
from gossamer.web.outcome.outcome import Outcome


@click.command()
@click.option("--crawl", default="", metavar="ID", help="Pages of this crawl.")
@click.option("--host", help="Pages of this host, as name or name:port.")
@click.option("--outcome", type=click.Choice([each.value for each in Outcome]))
@click.option(
    "--before", metavar="TIME", callback=parse_moment, help="Pages that were stored before this time."
)
@click.option("--dry-run", is_flag=True, help="Only tell how many pages would change, and show one.")
@click.option("--refetch", is_flag=True, help="Fetch the pages again instead; their crawls go on.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@QUIET
@with_settings((*WHERE, "user_agent"))
@click.pass_obj
def replay(
    build: Build,
    /,
    crawl: str,
    host: str | None,
    outcome: str | None,
    before: datetime | None,
    dry_run: bool,
    refetch: bool,
    as_json: bool,
    quiet: bool,
    **flags: Any,
) -> None:
    """Read the content of stored pages again, and update what the rules of today see in another way."""
    hosts = tuple(host_names(host)) if host is not None else ()
    if host is not None and not hosts:
        raise click.BadParameter("this is not the name of a host", param_hint="--host")
    if dry_run and refetch:
        raise click.UsageError("--dry-run reads what is stored, and --refetch does not.")
    moment = None if before is None else round(before.timestamp() * 1000)
    which = PurgeFilter(crawl_id=crawl, hosts=hosts, before=moment, outcome=outcome or "")
    progress = ProgressLine(is_wanted=not quiet)

    async def step(name: str, percent: int) -> None:
        progress.show(f"{percent} %: {name}")

    async def work(service: CommandService) -> ReplayResult:
        if refetch:
            return await service.replayer.refetch(which, step)
        return await service.replayer.replay(which, step, dry_run=dry_run)

    result = run_with(build, flags, work)
    progress.clear()
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        _tell(result, dry_run=dry_run, refetch=refetch)


def _tell(result: ReplayResult, *, dry_run: bool, refetch: bool) -> None:
    if refetch:
        click.echo(f"{result.refetched:,} URLs wait to be fetched again.")
        return
    verb = "would change" if dry_run else "changed"
    click.echo(
        f"{result.changed:,} of {result.pages:,} pages {verb}; {result.unreadable:,} are not readable."
    )
    for name, number in sorted(result.changes.items()):
        click.echo(f"  {name}: {number:,}")
    if result.example is not None:
        click.echo(f"For example {result.example.url}")
        for name, (old, new) in result.example.changes.items():
            click.echo(f"  {name}: {old!r} → {new!r}")
