"""`gossamer sites`: sites of yours."""

from typing import TYPE_CHECKING, Any, Final, Literal

import click
import msgspec

from gossamer.client.client import Client
from gossamer.client.options import RecacheKeywords
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.automation.site_access import JSON_OPTION, WHERE, ask_sites
from gossamer.doors.cli.automation.site_rules import rules_group
from gossamer.doors.cli.automation.site_sight import compare, comparison, hook_group
from gossamer.doors.cli.shared.columns import print_table

if TYPE_CHECKING:
    from gossamer.web.sites.site_answer import ShownSite

_SETTINGS: Final = click.option(
    "--settings", metavar="JSON", default="{}", help="As the API takes them, such as '{\"maxAge\": 86400}'."
)


@click.group("sites")
def sites_group() -> None:
    """Register sites of yours, and see what robots get."""


@sites_group.command()
@click.argument("origin")
@click.option("--name", default="", help="A note for people.")
@_SETTINGS
@JSON_OPTION
@with_settings(WHERE)
@click.pass_obj
def add(build: Build, /, origin: str, name: str, settings: str, as_json: bool, **flags: Any) -> None:
    """Register the site at ORIGIN, such as https://www.example.com."""
    wanted = _read(settings)

    async def ask(web: Client) -> "ShownSite":
        return await web.add_site(origin, name=name, settings=wanted)

    _show(ask_sites(build, flags, ask), as_json)


@sites_group.command("list")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@JSON_OPTION
@with_settings(WHERE)
@click.pass_obj
def list_sites(build: Build, /, limit: int, as_json: bool, **flags: Any) -> None:
    """List the sites, newest first."""
    found = ask_sites(build, flags, lambda web: web.sites(limit=limit))
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    rows = [("ID", "ORIGIN", "STATE", "NAME")]
    print_table([*rows, *((each.site_id, each.origin, each.state, _plain(each.name)) for each in found)])


@sites_group.command()
@click.argument("id")
@JSON_OPTION
@with_settings(WHERE)
@click.pass_obj
def show(build: Build, /, id: str, as_json: bool, **flags: Any) -> None:
    """Show the site with this ID."""
    _show(ask_sites(build, flags, lambda web: web.site(id)), as_json)


@sites_group.command()
@click.argument("id")
@_SETTINGS
@JSON_OPTION
@with_settings(WHERE)
@click.pass_obj
def change(build: Build, /, id: str, settings: str, as_json: bool, **flags: Any) -> None:
    """Replace the settings of the site with this ID."""
    wanted = _read(settings)
    _show(ask_sites(build, flags, lambda web: web.change_site(id, settings=wanted)), as_json)


@sites_group.command()
@click.argument("id")
@click.option("--method", type=click.Choice(("dns", "file", "meta")), help="Look only there.")
@JSON_OPTION
@with_settings(WHERE)
@click.pass_obj
def prove(build: Build, /, id: str, method: str | None, as_json: bool, **flags: Any) -> None:
    """Look for the proof that the site with this ID is yours."""
    found = ask_sites(build, flags, lambda web: web.prove_site(id, method=method))
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        rows = [("WHERE", "FOUND", "DETAIL")]
        print_table([*rows, *((each.method, each.finding, _plain(each.detail)) for each in found.checks)])
    if found.site.state != "proven":
        raise SystemExit(1)


@sites_group.command()
@click.argument("id")
@click.argument("urls", nargs=-1, metavar="[URL]...")
@click.option("--prefix", help="All cached pages whose path begins so.")
@click.option("--sitemap", help="All pages of this sitemap.")
@with_settings(WHERE)
@click.pass_obj
def recache(
    build: Build,
    /,
    id: str,
    urls: tuple[str, ...],
    prefix: str | None,
    sitemap: str | None,
    **flags: Any,
) -> None:
    """Render pages of the site with this ID again. A server or worker on the same data does it."""
    pages: RecacheKeywords = {}
    if urls:
        pages["urls"] = urls
    if prefix is not None:
        pages["prefix"] = prefix
    if sitemap is not None:
        pages["sitemap"] = sitemap
    accepted = ask_sites(build, flags, lambda web: web.recache_site(id, **pages))
    click.echo(f"Queued by job {accepted.job_id}.")


@sites_group.command()
@click.argument("id")
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True, help="The last days.")
@click.option("--by", type=click.Choice(("hour", "day")), default="day", show_default=True)
@JSON_OPTION
@with_settings(WHERE)
@click.pass_obj
def bots(
    build: Build, /, id: str, days: int, by: Literal["hour", "day"], as_json: bool, **flags: Any
) -> None:
    """Show what robots asked of the site with this ID, and got."""
    found = ask_sites(build, flags, lambda web: web.site_bots(id, days=days, by=by))
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    rows = [("ROBOT", "VISITS", "GOT")]
    for line in found.bots:
        got = ", ".join(f"{outcome}: {count:,}" for outcome, count in line.figures.by_outcome.items())
        rows.append((line.bot, f"{line.figures.visits:,}", got))
    print_table(rows)


@sites_group.command()
@click.argument("id")
@with_settings(WHERE)
@click.pass_obj
def remove(build: Build, /, id: str, **flags: Any) -> None:
    """Remove the site with this ID, with its reports and its schedule."""
    ask_sites(build, flags, lambda web: web.remove_site(id))
    click.echo(f"Removed {id}.")


sites_group.add_command(rules_group)
sites_group.add_command(hook_group)
sites_group.add_command(compare)
sites_group.add_command(comparison)


def _read(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise click.BadParameter(f"That is no JSON object: {error}", param_hint="--settings") from None


def _show(site: "ShownSite", as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(site))
        return
    print_table(
        [
            ("ID:", site.site_id),
            ("Origin:", site.origin),
            ("State:", site.state if site.proof is None else f"{site.state} ({site.proof})"),
            ("Warm-up:", site.warm_up_schedule or "-"),
            ("Settings:", msgspec.json.encode(site.settings).decode()),
        ]
    )
    if site.proof is None:
        click.echo("\nProve it in one of these ways, and then run `gossamer sites prove`.")
        print_table([(step.method, step.place, step.content) for step in site.proof_steps])


def _plain(text: str) -> str:
    """One line without control characters, because it may come from other people."""
    return "".join(each if each.isprintable() else "?" for each in text[:80])
