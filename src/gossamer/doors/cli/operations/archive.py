"""`gossamer archive list|restore|export|delete`: files of pages that crawls do not keep any more."""

import asyncio
from pathlib import Path
from typing import Any

import click
import msgspec

from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.operations.delete import QUIET, WHERE
from gossamer.doors.cli.shared.actor import command_actor
from gossamer.doors.cli.shared.columns import minute, print_table
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.doors.cli.shared.running import run_with
from gossamer.doors.cli.shared.service import CommandService
from gossamer.flows.data.archive.restorer import RestoreResult
from gossamer.state.crawl.upkeep.archives import Archive

MAX_LISTED = 1_000


@click.group("archive")
def archive_group() -> None:
    """List, restore, export or delete archives of crawled pages."""


@archive_group.command("list")
@click.option("--crawl", default="", metavar="ID", help="Only archives of this crawl.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of a table.")
@with_settings(WHERE)
@click.pass_obj
def list_archives(build: Build, /, crawl: str, as_json: bool, **flags: Any) -> None:
    """List the archives, the newest first."""

    async def work(service: CommandService) -> list[Archive]:
        return await service.archive_restorer.listing(crawl_id=crawl, limit=MAX_LISTED)

    found = run_with(build, flags, work)
    if as_json:
        for archive in found:
            click.echo(msgspec.json.encode(archive))
        return
    rows = [
        (
            archive.id,
            archive.crawl_id,
            minute(archive.first_at),
            minute(archive.last_at),
            f"{archive.pages:,}",
            f"{archive.bodies:,}",
            f"{archive.bytes:,}",
            minute(archive.restored_at),
        )
        for archive in found
    ]
    print_table([("ID", "CRAWL", "FROM", "TO", "PAGES", "BODIES", "BYTES", "RESTORED"), *rows])


@archive_group.command("restore")
@click.argument("id")
@QUIET
@with_settings(WHERE)
@click.pass_obj
def restore(build: Build, /, id: str, quiet: bool, **flags: Any) -> None:
    """Put the pages of the archive with this ID back into their crawl.

    Pages that the crawl has again stay as they are. A server indexes what came back."""
    progress = ProgressLine(is_wanted=not quiet)

    async def step(name: str, percent: int) -> None:
        progress.show(f"{percent} %: {name}")

    async def work(service: CommandService) -> RestoreResult:
        return await service.archive_restorer.restore_here(id, command_actor(), step)

    result = run_with(build, flags, work)
    progress.clear()
    click.echo(
        f"{result.pages:,} pages ({result.bodies:,} with content) are back in crawl {result.crawl}; "
        f"it had {result.skipped:,}."
    )


@archive_group.command("export")
@click.argument("id")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@with_settings(WHERE)
@click.pass_obj
def export(build: Build, /, id: str, file: Path, **flags: Any) -> None:
    """Write the archive with this ID to FILE.warc.gz and FILE.ndjson.gz."""

    async def work(service: CommandService) -> list[Path]:
        archive = await service.archive_restorer.get(id)
        written = []
        for blob in archive.blobs:
            place = file.with_name(_stem(file) + "." + blob.partition(".")[2])
            body = await service.archive_restorer.read_file(blob)
            await asyncio.to_thread(place.write_bytes, body)
            written.append(place)
        return written

    for place in run_with(build, flags, work):
        click.echo(place)


@archive_group.command("delete")
@click.argument("id")
@with_settings(WHERE)
@click.pass_obj
def delete(build: Build, /, id: str, **flags: Any) -> None:
    """Delete the archive with this ID for good."""

    async def work(service: CommandService) -> bool:
        return await service.archive_restorer.drop(id, command_actor())

    if not run_with(build, flags, work):
        raise click.ClickException(f"There is no archive {id}.")
    click.echo(f"Deleted {id}.")


def _stem(file: Path) -> str:
    return file.name.removesuffix(".gz").removesuffix(".warc").removesuffix(".ndjson")
