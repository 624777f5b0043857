"""`gossamer upkeep`: removes now what was kept long enough, or tells what that would be. Its commands check
and repair what is stored."""

from datetime import datetime
from typing import Any, Final

import click
import msgspec

from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.operations.delete import QUIET, WHERE
from gossamer.doors.cli.operations.repair import recount, reindex, storage, verify
from gossamer.doors.cli.shared.columns import print_table
from gossamer.doors.cli.shared.moment import parse_moment
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.doors.cli.shared.running import run_on_data
from gossamer.doors.cli.shared.service import CommandService
from gossamer.flows.data.removal.retention import DueData, Retention

COUNT_SECONDS: Final = 600.0  # for each kind: nobody waits for a command but who started it
_KEEPING: Final = (
    "keep_completed_urls",
    "keep_failed_urls",
    "keep_bodies",
    "keep_pages",
    "keep_minutes",
    "keep_audits",
    "keep_jobs",
    "keep_schedule_runs",
    "keep_deliveries",
    "keep_changes",
    "keep_site_visits",
    "keep_robots",
    "keep_archives",
    "archive",
)


@click.group(invoke_without_command=True)
@click.option(
    "--now",
    metavar="TIME",
    callback=parse_moment,
    help="Act as if it were this time, such as 2026-12-31T00:00:00Z.",
)
@click.option("--dry-run", is_flag=True, help="Only tell what would be removed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@QUIET
@with_settings((*WHERE, *_KEEPING))
@click.pass_context
def upkeep(
    context: click.Context,
    /,
    now: datetime | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    **flags: Any,
) -> None:
    """Remove now what was kept long enough, as a server does from time to time; or with one of the commands
    below, check and repair what is stored."""
    if context.invoked_subcommand is not None:
        return
    build: Build = context.obj
    moment = None if now is None else round(now.timestamp() * 1000)
    progress = ProgressLine(is_wanted=not quiet)

    async def step(name: str, percent: int) -> None:
        progress.show(name)

    async def work(service: CommandService) -> tuple[Retention, dict[str, DueData]]:
        retention = service.retention
        if dry_run:
            return retention, await retention.preview(now=moment, seconds=COUNT_SECONDS)
        removed = await retention.enforce(step, now=moment)
        return retention, {name: DueData(rows) for name, rows in removed.items()}

    retention, found = run_on_data(build, flags, work)
    progress.clear()
    if as_json:
        click.echo(msgspec.json.encode({name: due._asdict() for name, due in found.items()}))
        return
    lifetimes = {rule.name: str(rule.lifetime) for rule in retention.rules()}
    rows = [("KIND", "KEPT FOR", "WOULD GO" if dry_run else "REMOVED", "BYTES")]
    rows += [
        (name, lifetimes[name], f"{due.rows:,}", "-" if due.bytes is None else f"{due.bytes:,}")
        for name, due in found.items()
    ]
    print_table(rows)


for _command in (recount, reindex, verify, storage):
    upkeep.add_command(_command)
