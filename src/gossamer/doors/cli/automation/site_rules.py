"""`gossamer sites rules show|set|try`: how pages of a site are crawled and read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from gossamer.client.client import Client
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.automation.rule_files import read_rules
from gossamer.doors.cli.automation.site_access import JSON_OPTION, WHERE, ask_sites
from gossamer.doors.cli.shared.columns import print_table

if TYPE_CHECKING:
    from gossamer.web.sites.rule_trial import SiteRuleTrial
    from gossamer.web.sites.site_rule import SiteRules

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("rules")
def rules_group() -> None:
    """Show, set and try the rules of a site."""


@rules_group.command("show")
@click.argument("id")
@with_settings(WHERE)
@click.pass_obj
def show_rules(build: Build, /, id: str, **flags: Any) -> None:
    """Print the rules of the site with this ID as JSON. Values of headers are hidden."""
    found = ask_sites(build, flags, lambda web: web.site_rules(id))
    click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))


@rules_group.command("set")
@click.argument("id")
@click.argument("file", type=_FILE)
@with_settings(WHERE)
@click.pass_obj
def set_rules(build: Build, /, id: str, file: Path, **flags: Any) -> None:
    """Replace the rules of the site with this ID by those of a TOML or JSON FILE."""
    rules = msgspec.to_builtins(read_rules(file, home=""))

    async def ask(web: Client) -> "SiteRules":
        return await web.replace_site_rules(id, rules)

    click.echo(f"The site has {len(ask_sites(build, flags, ask).rules)} rules now.")


@rules_group.command("try")
@click.argument("file", type=_FILE)
@click.option("--html", "page", type=_FILE, required=True, help="The saved page.")
@click.option("--url", required=True, help="Its address.")
@click.option("--markdown", is_flag=True, help="Print the content that is left, too.")
@JSON_OPTION
def try_file(file: Path, page: Path, url: str, markdown: bool, as_json: bool) -> None:
    """Try the rules of FILE on a saved page: its content before and after, and what each selector matches.

    Nothing is fetched, and no server is asked. Exit code: 1 if something is probably not meant, such as a
    selector that matches nothing.
    """
    from gossamer.flows.sites.rule_keeper import saved_page
    from gossamer.problems import Problem
    from gossamer.web.sites.rule_trial import try_rules
    from gossamer.web.url.url import Url

    try:
        address = Url.parse(url)
        rules = read_rules(file, home="")
        html = page.read_bytes().decode("utf-8", "replace")
        trial = try_rules(saved_page(address, html), rules, address.origin)
    except Problem as problem:
        raise click.ClickException(problem.detail) from None
    if as_json:
        click.echo(msgspec.json.encode(trial))
    else:
        _print(trial, markdown)
    if trial.warnings:
        raise SystemExit(1)


def _print(trial: "SiteRuleTrial", markdown: bool) -> None:
    rows = [("RULE", "", "SELECTOR", "MATCHES", "WORDS", "BEGINS WITH")]
    for tried in trial.selectors:
        row = (
            f"{tried.rule}",
            tried.field,
            tried.selector,
            f"{tried.matches}",
            f"{tried.words}",
            tried.sample[:40],
        )
        rows.append(row)
    if trial.selectors:
        print_table(rows)
        click.echo()
    print_table(
        [
            ("Rules:", ", ".join(map(str, trial.matching)) or "none matches"),
            ("Words:", f"{trial.before.words:,} before, {trial.after.words:,} after"),
            ("Counts as:", trial.counts_as),
            ("Headers:", ", ".join(trial.headers) or "-"),
            ("Render:", trial.render or "-"),
            ("Delay:", "-" if trial.delay is None else f"{trial.delay:g} s"),
            ("At once:", "-" if trial.concurrency is None else str(trial.concurrency)),
        ]
    )
    for warning in trial.warnings:
        click.echo(f"Warning: {warning.value}", err=True)
    if markdown:
        click.echo(f"\n{trial.after.markdown}")
