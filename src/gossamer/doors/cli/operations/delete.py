"""`gossamer delete crawl|audit|batch|pages|tenant`: deletes for good, with everything that hangs on it."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final

import click

from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.shared.actor import command_actor
from gossamer.doors.cli.shared.moment import parse_moment
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.doors.cli.shared.running import run_on_data
from gossamer.doors.cli.shared.service import CommandService
from gossamer.doors.embedded.owner import owner_of
from gossamer.doors.http.api.crawl.host_names import host_names
from gossamer.flows.data.removal.deleter import DeleteResult
from gossamer.flows.data.removal.page_removal import purging
from gossamer.state.crawl.removal.purge import PurgeFilter
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.tenants import tenants
from gossamer.web.outcome.outcome import Outcome

WHERE: Final = ("data_dir", "database_url", "redis_url", "blobs_url")
QUIET: Final = click.option("--quiet", "-q", is_flag=True, help="No progress on the terminal.")

Find = Callable[[CommandService], Awaitable[Deletion]]


@click.group("delete")
def delete_group() -> None:
    """Delete a crawl, an audit, a batch, stored pages or a tenant for good.

    A deletion that is interrupted is finished by a server or worker."""


def _command(kind: DeletionKind, about: str) -> None:
    @delete_group.command(kind.value, help=about)
    @click.argument("id")
    @QUIET
    @with_settings(WHERE)
    @click.pass_obj
    def delete_one(build: Build, /, id: str, quiet: bool, **flags: Any) -> None:
        async def find(service: CommandService) -> Deletion:
            return Deletion(kind, id)

        delete_here(build, flags, find, quiet=quiet)


_command(
    DeletionKind.CRAWL,
    "Delete the crawl with this ID and everything that it has stored. A crawl that runs is stopped first.",
)
_command(DeletionKind.AUDIT, "Delete the audit with this ID, with the crawl of its site.")
_command(DeletionKind.BATCH, "Delete the batch with this ID, with its results.")


@delete_group.command("tenant")
@click.argument("tenant", metavar="ID|EMAIL")
@QUIET
@with_settings(WHERE)
@click.pass_obj
def delete_tenant(build: Build, /, tenant: str, quiet: bool, **flags: Any) -> None:
    """Delete a tenant and everything that it has. Its keys stop working at once.

    The log of activity stays."""

    async def find(service: CommandService) -> Deletion:
        async with service.database.read() as connection:
            tenant_id = await tenants.find_tenant(connection, tenant.strip().lower()) or tenant
        return Deletion(DeletionKind.TENANT, tenant_id, (await owner_of(service)).tenant_id)

    delete_here(build, flags, find, quiet=quiet)


@delete_group.command("pages")
@click.option("--crawl", default="", metavar="ID", help="Pages of this crawl.")
@click.option("--host", help="Pages of this host, as name or name:port.")
@click.option(
    "--before", metavar="TIME", callback=parse_moment, help="Pages that were stored before this time."
)
@click.option(
    "--outcome", type=click.Choice([each.value for each in Outcome]), help="Pages with this outcome."
)
@click.option("--dry-run", is_flag=True, help="Only tell what would be deleted.")
@QUIET
@with_settings(WHERE)
@click.pass_obj
def delete_pages(
    build: Build,
    /,
    crawl: str,
    host: str | None,
    before: datetime | None,
    outcome: str | None,
    dry_run: bool,
    quiet: bool,
    **flags: Any,
) -> None:
    """Delete stored pages of all crawls that match all options; at least one is needed."""
    hosts = tuple(host_names(host)) if host is not None else ()
    if host is not None and not hosts:
        raise click.BadParameter("this is not the name of a host", param_hint="--host")
    moment = None if before is None else round(before.timestamp() * 1000)
    which = PurgeFilter(crawl_id=crawl, hosts=hosts, before=moment, outcome=outcome or "")
    purging(which, "")  # refuses all pages of all crawls

    async def find(service: CommandService) -> Deletion:
        return purging(which, (await owner_of(service)).tenant_id)

    if not dry_run:
        delete_here(build, flags, find, quiet=quiet)
        return
    found = run_on_data(build, flags, lambda service: service.removals.pages.count(which))
    click.echo(f"{found.pages:,} pages ({found.bytes:,} bytes) in {found.crawls:,} crawls would be deleted.")


def delete_here(build: Build, /, flags: dict[str, Any], find: Find, *, quiet: bool) -> None:
    """Delete in this process, and tell what has gone."""
    progress = ProgressLine(is_wanted=not quiet)

    async def step(name: str, percent: int) -> None:
        progress.show(f"{percent} %: {name}")

    async def work(service: CommandService) -> tuple[Deletion, DeleteResult | None]:
        deletion = await find(service)
        return deletion, await service.deleter.delete_here(deletion, command_actor(), step)

    deletion, result = run_on_data(build, flags, work)
    progress.clear()
    if result is None:
        raise click.ClickException(f"There is no {deletion.kind.value} {deletion.subject}.")
    click.echo(_told(result))


def _told(result: DeleteResult) -> str:
    counted = {
        "pages": result.pages,
        "URLs": result.urls,
        "results": result.results,
        "crawls": result.crawls,
    }
    parts = ", ".join(f"{number:,} {name}" for name, number in counted.items() if number)
    what = "pages" if result.deleted is DeletionKind.PAGES else result.id
    return f"Deleted {what}" + (f": {parts}." if parts else ".")
