"""`gossamer migrate`: brings the schema to this release, or says what that would do."""

import asyncio
from typing import Any

import click

from gossamer.doors.cli import Build, load, quiet_log, with_settings
from gossamer.doors.cli.shared.running import WHERE
from gossamer.doors.cli.shared.service import CommandService
from gossamer.state.db.revisions import MigrationPlan


@click.command("migrate")
@click.option("--dry-run", is_flag=True, help="Print the revisions and the SQL, and change nothing.")
@with_settings(WHERE)
@click.pass_obj
def migrate(build: Build, /, dry_run: bool, **flags: Any) -> None:
    """Bring the schema of the database to this release.

    Servers do so when they start; this does it before the first of them is replaced. Servers of the release
    before go on working.
    """
    settings = load(flags)
    plan = asyncio.run(_migrate(build(settings, quiet_log(settings)), dry_run=dry_run))
    click.echo(_summary(plan, dry_run=dry_run))
    for step in plan.steps:
        click.echo(f"  {step.revision}  {step.about}")
    if dry_run and plan.sql:
        click.echo(f"\n{plan.sql}")


async def _migrate(service: CommandService, *, dry_run: bool) -> MigrationPlan:
    try:
        plan = await service.database.plan_migration()
        if plan.steps and not dry_run:
            await service.database.migrate()
        return plan
    finally:
        await service.close()


def _summary(plan: MigrationPlan, *, dry_run: bool) -> str:
    found = f"revision {plan.revision}" if plan.revision else "no schema"
    if not plan.steps:
        return f"The database has revision {plan.head}, which is this release's. There is nothing to do."
    if dry_run:
        return f"The database has {found}. A migration would bring it to revision {plan.head}:"
    return f"The database had {found}, and now has revision {plan.head}:"
