"""`gossamer map URL`: prints the addresses of a site's pages."""

import asyncio
import sys
from typing import Any, Final, get_args

import click
import msgspec

from gossamer.client.client import Client
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.shared.access import web_access
from gossamer.web.pages.map_request import DEFAULT_LINKS, MAX_LINKS, MapAnswer, MapLink, SitemapUse

NOTHING: Final = 3
_SETTINGS: Final = ("egress_allow", "egress_ports", "dns_servers", "user_agent", "data_dir", "database_url")


@click.command("map")
@click.argument("url")
@click.option("--search", metavar="WORDS", help="Only pages with one of these words, the best first.")
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_LINKS),
    default=DEFAULT_LINKS,
    show_default=True,
    help="The most pages.",
)
@click.option(
    "--sitemap",
    type=click.Choice(get_args(SitemapUse)),
    default="include",
    show_default=True,
    help="Read the site's sitemaps too, only these, or none.",
)
@click.option("--subdomains", is_flag=True, help="All hosts of the domain.")
@click.option("--ignore-query", is_flag=True, help="Addresses that differ only in their query are one.")
@click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--timeout", type=click.FloatRange(1, 60), default=30.0, show_default=True, help="Seconds for everything."
)
@with_settings(_SETTINGS)
@click.pass_obj
def map_site(
    build: Build,
    /,
    url: str,
    search: str | None,
    limit: int,
    sitemap: SitemapUse,
    subdomains: bool,
    ignore_query: bool,
    shape: str,
    timeout: float,
    **flags: Any,
) -> None:
    """Print the addresses of a site's pages, one a line; with --format json, with what is known of each.

    Exit code: 0 if something was found, 3 if nothing was found, 1 if the site could not be mapped.
    """

    async def ask(web: Client) -> MapAnswer:
        return await web.map(
            url,
            search=search,
            limit=limit,
            sitemap=sitemap,
            include_subdomains=subdomains,
            ignore_query=ignore_query,
            timeout=round(timeout * 1000),
        )

    found = asyncio.run(web_access(build, flags).ask(ask))
    click.echo("".join(_line(link, shape) for link in found.links), nl=False)
    if not found.complete:
        click.echo(f"gossamer: not everything was read ({found.end})", err=True)
    sys.exit(0 if found.links else NOTHING)


def _line(link: MapLink, shape: str) -> str:
    return f"{msgspec.json.encode(link).decode()}\n" if shape == "json" else f"{link.url}\n"
