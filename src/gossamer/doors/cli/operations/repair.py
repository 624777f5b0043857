"""`gossamer upkeep recount|reindex|verify|storage`: checks and repairs what is stored."""

import asyncio
import sys
from typing import Any

import click
import msgspec

from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.operations.delete import WHERE
from gossamer.doors.cli.shared.columns import print_table
from gossamer.doors.cli.shared.running import run_with
from gossamer.doors.cli.shared.service import CommandService
from gossamer.flows.data.repair.recounter import Recounter
from gossamer.flows.data.repair.verifier import Verification
from gossamer.state.crawl.upkeep import storage as storage_rows
from gossamer.state.crawl.upkeep.recount import CountDifference
from gossamer.state.crawl.upkeep.storage import StorageUse

MEASURE_SECONDS = 600.0  # nobody waits for a command but who started it
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@click.command()
@click.option("--dry-run", is_flag=True, help="Only tell which counts are wrong. The exit code is 1 then.")
@JSON
@with_settings(WHERE)
@click.pass_obj
def recount(build: Build, /, dry_run: bool, as_json: bool, **flags: Any) -> None:
    """Count URLs and pages again, and correct the counts of crawls and hosts."""

    async def work(service: CommandService) -> list[CountDifference]:
        return await Recounter(service.database).recount(dry_run=dry_run)

    found = run_with(build, flags, work)
    if as_json:
        click.echo(msgspec.json.encode([one._asdict() for one in found]))
    elif found:
        rows = [(one.table, one.key, one.name, f"{one.counted:,}", f"{one.found:,}") for one in found]
        print_table([("TABLE", "OF", "COUNT", "WAS", "IS"), *rows])
    else:
        click.echo("All counts are right.")
    if found and dry_run:
        sys.exit(1)


@click.command()
@click.option("--crawl", default="", metavar="ID", help="Only pages of this crawl.")
@with_settings((*WHERE, "search_index_pages"))
@click.pass_obj
def reindex(build: Build, /, crawl: str, **flags: Any) -> None:
    """Build the search index anew from the content that is kept."""

    async def work(service: CommandService) -> int:
        queued = await service.verifier.queue_all(crawl)
        await service.indexing.catch_up(asyncio.Event())
        return queued

    click.echo(f"{run_with(build, flags, work):,} batches of pages were indexed.")


@click.command()
@click.option("--repair", is_flag=True, help="Repair what is safe to repair.")
@JSON
@with_settings((*WHERE, "search_index_pages"))
@click.pass_obj
def verify(build: Build, /, repair: bool, as_json: bool, **flags: Any) -> None:
    """Compare rows, blobs and the search index. The exit code is 1 if something does not fit."""

    async def work(service: CommandService) -> Verification:
        return await service.verifier.verify(repair=repair)

    found = run_with(build, flags, work)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        click.echo(f"{found.blobs:,} blobs are stored.")
        click.echo(f"{found.missing:,} blobs are missing, {found.strays:,} are named by no row.")
        click.echo(f"{found.unindexed:,} pages are not in the search index.")
        if repair:
            click.echo(f"{found.repaired:,} of these were repaired.")
        for kind, names in found.examples.items():
            for name in names:
                click.echo(f"  {kind}: {name}")
    if not found.is_good:
        sys.exit(1)


@click.command()
@JSON
@with_settings(WHERE)
@click.pass_obj
def storage(build: Build, /, as_json: bool, **flags: Any) -> None:
    """Tell who stores how much, by tenant and kind."""

    async def work(service: CommandService) -> list[StorageUse]:
        async with service.database.read(seconds=MEASURE_SECONDS) as connection:
            return await storage_rows.measure(connection)

    found = run_with(build, flags, work)
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    rows = [(one.email or one.tenant, one.kind.value, f"{one.items:,}", f"{one.bytes:,}") for one in found]
    print_table([("TENANT", "KIND", "ITEMS", "BYTES"), *rows])
    click.echo(f"{sum(one.bytes for one in found):,} bytes in all.")
