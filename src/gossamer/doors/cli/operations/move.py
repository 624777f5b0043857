"""`gossamer move --to-database URL [--to-blobs URL]`."""

import os
from typing import Any

import click

from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.operations.places import (
    JSON,
    QUIET,
    WHERE,
    megabytes,
    opened_service,
    print_json,
    run,
)
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.flows.data.backup.move import Mover, MoveReport
from gossamer.settings.values import Expected, store
from gossamer.state.backup.manifest import BackupFault
from gossamer.state.blobs.blobs import open_blobs
from gossamer.state.db.database import open_database


@click.command("move")
@click.option(
    "--to-database", required=True, metavar="URL", help="An empty database: postgresql://… or sqlite:///…."
)
@click.option(
    "--to-blobs", metavar="URL", help="Where blobs go: s3://… or file:///…. If not given, they stay."
)
@QUIET
@JSON
@with_settings(WHERE)
@click.pass_obj
def move(
    build: Build, /, to_database: str, to_blobs: str | None, quiet: bool, as_json: bool, **flags: Any
) -> None:
    """Move everything to another database, such as from SQLite and a folder to PostgreSQL and S3, or back.

    Stop Gossamer first, and start it with the new settings afterwards. The source is only read and stays as
    it is. Rows and blobs are read again at the target and compared.
    """
    line = ProgressLine(is_wanted=not quiet)
    report = run(_move(build, flags, to_database, to_blobs, line))
    line.clear()
    if as_json:
        print_json(report)
        return
    settings = "GOSSAMER_DATABASE_URL and GOSSAMER_BLOBS_URL" if to_blobs else "GOSSAMER_DATABASE_URL"
    click.echo(
        f"Moved {report.rows:,} rows and {report.blobs:,} blobs ({megabytes(report.blob_bytes)}) and "
        f"compared them, {report.seconds:.1f} s. Now set {settings}."
    )
    if report.missing_blobs:
        click.echo(f"{len(report.missing_blobs):,} blobs that rows name were not there.")


async def _move(
    build: Build, /, flags: dict[str, Any], to_database: str, to_blobs: str | None, line: ProgressLine
) -> MoveReport:
    async with opened_service(build, flags) as service:
        url = _checked("--to-database", to_database, "sqlite", "postgresql", "postgres")
        if url == service.settings.database_url:
            raise BackupFault("The target is the database that is in use.")
        await service.database.migrate()
        blobs_url = _checked("--to-blobs", to_blobs, "file", "s3") if to_blobs else None
        target_blobs = None if blobs_url is None else open_blobs(blobs_url, os.environ)
        target = open_database(url)
        try:
            mover = Mover(
                source=service.database,
                source_url=service.settings.database_url,
                target=target,
                target_url=url,
                blobs=service.blobs,
                target_blobs=target_blobs,
                report=line.show,
            )
            return await mover.run()
        finally:
            await target.close()
            if target_blobs is not None:
                await target_blobs.close()


def _checked(option: str, url: str, *schemes: str) -> str:
    try:
        return store(*schemes)(url)
    except Expected as wrong:
        raise click.BadParameter(str(wrong), param_hint=option) from None
