"""`gossamer restore [PLACE]`."""

from typing import Any

import click

from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.operations.places import (
    JSON,
    PLACE,
    QUIET,
    WHERE,
    WHICH,
    chosen,
    megabytes,
    opened_place,
    opened_service,
    print_json,
    run,
)
from gossamer.doors.cli.shared.columns import minute
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.flows.data.backup.restore import Restorer, RestoreReport


@click.command("restore")
@PLACE
@WHICH
@click.option(
    "--replace", is_flag=True, help="Replace everything in a database that is not empty. Asks first."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@QUIET
@JSON
@with_settings(WHERE)
@click.pass_obj
def restore(
    build: Build,
    /,
    place: str | None,
    backup_id: str | None,
    replace: bool,
    yes: bool,
    quiet: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Restore a backup into the database and the store of blobs that the settings name.

    Stop Gossamer first. The backup may be of SQLite and the database PostgreSQL, or the other way round. The
    backup is checked before anything is written; until the restore has ended, nothing starts on the database.
    """
    if replace and not yes:
        click.confirm("Everything in the database will be replaced. Go on?", abort=True)
    line = ProgressLine(is_wanted=not quiet)
    report = run(_restore(build, flags, place, backup_id, replace, line))
    line.clear()
    if as_json:
        print_json(report)
    else:
        _print(report)


async def _restore(
    build: Build,
    /,
    flags: dict[str, Any],
    given: str | None,
    backup_id: str | None,
    replace: bool,
    line: ProgressLine,
) -> RestoreReport:
    async with opened_service(build, flags) as service, opened_place(service.settings, given) as place:
        restorer = Restorer(
            database=service.database,
            database_url=service.settings.database_url,
            blobs=service.blobs,
            hot=service.hot,
            place=place,
            report=line.show,
        )
        return await restorer.run(await chosen(place, backup_id), replace=replace)


def _print(report: RestoreReport) -> None:
    click.echo(
        f"Restored backup {report.backup} of {minute(report.snapshot_at)} UTC: {report.rows:,} rows, "
        f"{report.blobs:,} blobs ({megabytes(report.blob_bytes)}, {report.copied_blobs:,} copied), "
        f"{report.seconds:.1f} s."
    )
    if report.missing_blobs:
        click.echo(
            f"{len(report.missing_blobs):,} blobs are not in the backup: they were deleted while it ran."
        )
    click.echo("Everybody signs in again. Keys that were disabled after that time work again: check them.")
