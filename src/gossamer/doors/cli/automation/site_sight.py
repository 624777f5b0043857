"""`gossamer sites compare|comparison` and `gossamer sites hook`: what robots see, and what systems say."""

from typing import Any

import click
import msgspec

from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.automation.site_access import JSON_OPTION, WHERE, ask_sites
from gossamer.doors.cli.shared.columns import print_table


@click.command()
@click.argument("id")
@click.option("--pages", type=click.IntRange(1, 5), default=2, show_default=True, help="Of each template.")
@with_settings(WHERE)
@click.pass_obj
def compare(build: Build, /, id: str, pages: int, **flags: Any) -> None:
    """Compare pages of the site with this ID with what robots see. A server or worker does it."""
    accepted = ask_sites(build, flags, lambda web: web.compare_site(id, pages=pages))
    click.echo(f"Queued as job {accepted.job_id}.")


@click.command()
@click.argument("id")
@JSON_OPTION
@with_settings(WHERE)
@click.pass_obj
def comparison(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Show what robots see of the site with this ID, by the newest comparison."""
    found = ask_sites(build, flags, lambda web: web.site_comparison(id))
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    if found.comparison is None:
        click.echo("Nothing was compared yet: run `gossamer sites compare`.")
        return
    rows = [("TEMPLATE", "ROBOTS SEE", "PAGES", "VISITS", "WITHOUT A RENDERING")]
    for one in found.comparison.templates:
        known, visits, misses = (f"{count:,}" for count in (one.known, one.visits, one.misses))
        rows += [(one.pattern, one.verdict.value, known, visits, misses)]
    print_table(rows)


@click.group("hook")
def hook_group() -> None:
    """The address at which a system says that pages have changed."""


@hook_group.command("make")
@click.argument("id")
@click.option("--signed", is_flag=True, help="Take only messages with a signature of Standard Webhooks.")
@with_settings(WHERE)
@click.pass_obj
def make_hook(build: Build, /, id: str, signed: bool, **flags: Any) -> None:
    """Make or replace the incoming webhook of the site with this ID."""
    made = ask_sites(build, flags, lambda web: web.make_site_hook(id, signed=signed))
    click.echo(made.url)
    if made.secret is not None:
        click.echo(made.secret)
    click.echo("This is shown once.", err=True)


@hook_group.command("remove")
@click.argument("id")
@with_settings(WHERE)
@click.pass_obj
def remove_hook(build: Build, /, id: str, **flags: Any) -> None:
    """Remove the incoming webhook of the site with this ID."""
    ask_sites(build, flags, lambda web: web.remove_site_hook(id))
    click.echo(f"Removed the webhook of {id}.")
