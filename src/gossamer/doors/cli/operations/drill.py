"""`gossamer backup drill [PLACE]`: practises the recovery, from a backup to a server that answers."""

import sys
import time
from tempfile import TemporaryDirectory
from typing import Any

import click
from starlette.types import ASGIApp, Message

from gossamer.doors.cli import Build, load, quiet_log
from gossamer.doors.cli.operations.places import (
    JSON,
    PLACE,
    QUIET,
    WHICH,
    chosen,
    opened_place,
    print_json,
    run,
)
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.flows.data.backup.blob_copies import Report
from gossamer.flows.data.backup.drill import DrillCheck, DrillReport, compare_counts, empty, read_page
from gossamer.flows.data.backup.restore import Restorer
from gossamer.settings.settings import Settings
from gossamer.state.backup.backup_place import BackupPlace
from gossamer.state.backup.manifest import Manifest

ASKED = {"health": "/health/ready", "dashboard": "/app"}


@click.command("drill")
@PLACE
@WHICH
@click.option(
    "--database-url",
    metavar="URL",
    help="Restore into this empty database, which is emptied again, instead of a temporary SQLite file.",
)
@QUIET
@JSON
@click.pass_obj
def drill(
    build: Build,
    /,
    place: str | None,
    backup_id: str | None,
    database_url: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Practise a recovery: restore a backup into a scratch place, start on it, and compare.

    Reports how much would be lost today (RPO) and how long a recovery takes (RTO). Ends with code 1 if a
    check fails. Nothing that is in use is touched.
    """
    line = ProgressLine(is_wanted=not quiet)
    report = run(_drill(build, place, backup_id, database_url, line.show))
    line.clear()
    if as_json:
        print_json(report)
    else:
        _print(report)
    if not report.is_good:
        sys.exit(1)


async def _drill(
    build: Build, /, given: str | None, backup_id: str | None, database_url: str | None, report: Report
) -> DrillReport:
    with TemporaryDirectory(prefix="gossamer-drill-") as folder:
        # The environment is left out: a drill takes no payments, and asks no service of the real one.
        flags = {"data_dir": folder, "database_url": database_url, "serve_worker": "no"}
        settings = Settings.load({}, None, flags)
        async with opened_place(load({}), given) as place:
            manifest = await chosen(place, backup_id)
            began = time.monotonic()
            checks = [await _restore(build, settings, place, manifest, report)]
            restored = time.monotonic() - began
            checks += await _start(build, settings)
            ready = time.monotonic() - began
        if database_url is not None:
            await empty(settings.database_url)
    return DrillReport(
        backup=manifest.id,
        place=place.url,
        snapshot_at=manifest.snapshot_at,
        recovery_point_seconds=round(time.time() - manifest.snapshot_at / 1000, 3),
        recovery_time_seconds=round(ready, 3),
        restore_seconds=round(restored, 3),
        checks=checks,
    )


async def _restore(
    build: Build, /, settings: Settings, place: BackupPlace, manifest: Manifest, report: Report
) -> DrillCheck:
    service = build(settings, quiet_log(settings))
    try:
        restorer = Restorer(
            database=service.database,
            database_url=settings.database_url,
            blobs=service.blobs,
            hot=service.hot,
            place=place,
            report=report,
        )
        await restorer.run(manifest)
        return await compare_counts(settings.database_url, manifest)
    finally:
        await service.close()


async def _start(build: Build, /, settings: Settings) -> list[DrillCheck]:
    async with build(settings, quiet_log(settings)) as service:
        app = service.app()
        answers = {name: await _ask(app, path) for name, path in ASKED.items()}
        content = await read_page(service.database, service.blobs)
    return [
        content,
        *(DrillCheck(name, code < 400, f"{ASKED[name]}: {code}") for name, code in answers.items()),
    ]


async def _ask(app: ASGIApp, path: str) -> int:
    """The status of an answer, as from a request of this machine."""
    codes: list[int] = []
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            codes.append(message["status"])

    await app(scope, receive, send)
    return codes[0]


def _print(report: DrillReport) -> None:
    for check in report.checks:
        click.echo(f"{'ok  ' if check.ok else 'FAIL'}  {check.name}: {check.detail}")
    click.echo(
        f"Backup {report.backup}: {report.recovery_point_seconds / 3600:,.1f} hours old (RPO); "
        f"serving after {report.recovery_time_seconds:.1f} s (RTO), of which the restore took "
        f"{report.restore_seconds:.1f} s."
    )
