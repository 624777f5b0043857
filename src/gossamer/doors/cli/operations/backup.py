"""`gossamer backup [PLACE]`, and `gossamer backup list|verify|drill [PLACE]`."""

from typing import Any

import click

from gossamer.doors.cli import Build, load, with_settings
from gossamer.doors.cli.operations.drill import drill
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
from gossamer.doors.cli.shared.columns import minute, print_table
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.flows.data.backup.back_up import BackupMaker, BackupReport
from gossamer.flows.data.backup.checking import check_backup
from gossamer.flows.data.backup.retention import KeepRule
from gossamer.state.backup.manifest import Manifest


class _BackupGroup(click.Group):
    """Without the name of a command, makes a backup: `gossamer backup /backups`."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        if not arguments or (arguments[0] not in self.commands and arguments[0] != "--help"):
            arguments = ["create", *arguments]
        return super().parse_args(context, arguments)


@click.group("backup", cls=_BackupGroup)
def backup() -> None:
    """Back up the database and all page bodies into a folder or a bucket.

    \b
    gossamer backup /backups --keep-daily 7 --keep-weekly 4
    gossamer backup list /backups
    gossamer backup drill /backups

    Without a command, `create` is meant, so a folder with the name of a command is written as ./list. The
    server may go on meanwhile. GOSSAMER_BACKUP_KEY encrypts backups; keep that key somewhere else.
    """


@backup.command()
@PLACE
@click.option("--keep-last", type=click.IntRange(0), default=0, help="Keep this many of the newest backups.")
@click.option(
    "--keep-daily", type=click.IntRange(0), default=0, help="Keep the newest of each of so many days."
)
@click.option("--keep-weekly", type=click.IntRange(0), default=0, help="The same for weeks.")
@QUIET
@JSON
@with_settings(WHERE)
@click.pass_obj
def create(
    build: Build,
    /,
    place: str | None,
    keep_last: int,
    keep_daily: int,
    keep_weekly: int,
    quiet: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Make a backup. Without a --keep option, none is removed."""
    rule = KeepRule(keep_last, keep_daily, keep_weekly)
    line = ProgressLine(is_wanted=not quiet)
    report = run(_create(build, flags, place, rule if rule != KeepRule() else None, line))
    line.clear()
    if as_json:
        print_json(report)
    else:
        _print_report(report)


async def _create(
    build: Build, /, flags: dict[str, Any], given: str | None, rule: KeepRule | None, line: ProgressLine
) -> BackupReport:
    async with opened_service(build, flags) as service:
        settings = service.settings
        await service.database.migrate()
        async with opened_place(settings, given, create=True) as place:
            maker = BackupMaker(
                database=service.database,
                database_url=settings.database_url,
                blobs=service.blobs,
                place=place,
                report=line.show,
            )
            return await maker.run(rule)


def _print_report(report: BackupReport) -> None:
    click.echo(
        f"Backup {report.id} in {report.place}: {report.rows:,} rows ({megabytes(report.row_bytes)}), "
        f"{report.blobs:,} blobs ({megabytes(report.blob_bytes)}, {report.copied_blobs:,} new), "
        f"read back and compared, {report.seconds:.1f} s."
    )
    if report.missing_blobs:
        click.echo(f"{len(report.missing_blobs):,} blobs were deleted while it ran, and are not in it.")
    if report.removed_backups:
        click.echo(f"Removed {len(report.removed_backups)} older: {', '.join(report.removed_backups)}.")


@backup.command("list")
@PLACE
@JSON
def list_backups(place: str | None, as_json: bool) -> None:
    """List the backups, the oldest first."""
    found = run(_list(place))
    if as_json:
        print_json([_summary(manifest) for manifest in found])
        return
    rows = [("ID", "TAKEN", "ROWS", "BLOBS", "SIZE", "FROM", "GOSSAMER")]
    rows += [
        (
            manifest.id,
            minute(manifest.snapshot_at),
            f"{manifest.rows:,}",
            f"{manifest.blobs.rows:,}",
            megabytes(manifest.row_bytes + manifest.blob_bytes),
            manifest.dialect,
            manifest.gossamer,
        )
        for manifest in found
    ]
    print_table(rows)


async def _list(given: str | None) -> list[Manifest]:
    async with opened_place(load({}), given) as place:
        return await place.list_manifests()


def _summary(manifest: Manifest) -> dict[str, Any]:
    return {
        "id": manifest.id,
        "snapshotAt": manifest.snapshot_at,
        "rows": manifest.rows,
        "blobs": manifest.blobs.rows,
        "bytes": manifest.row_bytes + manifest.blob_bytes,
        "dialect": manifest.dialect,
        "revision": manifest.revision,
        "gossamer": manifest.gossamer,
        "missingBlobs": len(manifest.missing),
    }


@backup.command()
@PLACE
@WHICH
@click.option("--all", "every", is_flag=True, help="Every backup, not only the newest.")
@QUIET
def verify(place: str | None, backup_id: str | None, every: bool, quiet: bool) -> None:
    """Read all of a backup, and compare it with its manifest."""
    line = ProgressLine(is_wanted=not quiet)
    checked = run(_verify(place, backup_id, every, line))
    line.clear()
    for manifest in checked:
        click.echo(f"Backup {manifest.id} is whole: {manifest.rows:,} rows, {manifest.blobs.rows:,} blobs.")


async def _verify(
    given: str | None, backup_id: str | None, every: bool, line: ProgressLine
) -> list[Manifest]:
    async with opened_place(load({}), given) as place:
        found = await place.list_manifests() if every else [await chosen(place, backup_id)]
        for manifest in found:
            await check_backup(place, manifest, line.show)
        return found


backup.add_command(drill)
