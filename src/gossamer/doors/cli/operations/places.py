"""What the commands about backups share: where backups are, their key, and how they report."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import click
import msgspec

from gossamer.doors.cli import Build, load, quiet_log
from gossamer.doors.cli.shared.service import CommandService
from gossamer.settings.settings import Settings
from gossamer.state.backup.backup_place import BackupPlace, open_place
from gossamer.state.backup.manifest import BackupFault, Manifest

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
WHERE: Final = ("data_dir", "database_url", "redis_url", "blobs_url")
JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
QUIET: Final = click.option("--quiet", "-q", is_flag=True, help="No progress on the terminal.")
PLACE: Final = click.argument("place", required=False, metavar="[DIR|s3://BUCKET/PREFIX]")
WHICH: Final = click.option(
    "--backup", "backup_id", metavar="ID", help="Which backup; the newest if not given."
)


def run(work: Awaitable[T]) -> T:
    """Run a command. What is wrong with a backup is one sentence."""

    async def inside() -> T:
        try:
            return await work
        except BackupFault as fault:
            raise click.ClickException(str(fault)) from None

    return asyncio.run(inside())


@asynccontextmanager
async def opened_place(
    settings: Settings, given: str | None, *, create: bool = False
) -> AsyncIterator[BackupPlace]:
    where = given or settings.backup_url
    if not where:
        raise click.UsageError("Say where backups are: a folder or s3://…, or set GOSSAMER_BACKUP_URL.")
    place = await open_place(where, settings.backup_key, os.environ, create=create)
    try:
        yield place
    finally:
        await place.close()


@asynccontextmanager
async def opened_service(build: Build, flags: dict[str, Any]) -> AsyncIterator[CommandService]:
    """The parts, with nothing started. The schema is the command's to migrate."""
    settings = load(flags)
    service = build(settings, quiet_log(settings))
    try:
        yield service
    finally:
        await service.close()


async def chosen(place: BackupPlace, backup_id: str | None) -> Manifest:
    return await place.newest() if backup_id is None else await place.manifest(backup_id.lower())


def print_json(value: object) -> None:
    click.echo(msgspec.json.encode(value))


def megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
