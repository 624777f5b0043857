"""`gossamer config`: prints the settings in force."""

from typing import Any

import click

from gossamer.doors.cli import load, with_settings
from gossamer.settings import settings


@click.command("config")
@click.option("--markdown", is_flag=True, help="Print the table of all settings as markdown instead.")
@with_settings()
def config(markdown: bool, **flags: Any) -> None:
    """Print the settings in force, where each comes from, and what it is for. Secrets are masked."""
    if markdown:
        click.echo(settings.markdown_table(), nl=False)
        return
    shown = load(flags).describe()
    width = max(len(settings.variable(line.name)) for line in shown)
    for line in shown:
        click.echo(f"{settings.variable(line.name):{width}}  {line.value or '-'}")
        click.echo(f"{'':{width}}  {click.style(f'{line.about} ({line.source})', dim=True)}")
