"""`gossamer search QUERY`: searches the pages that were read here, and with search engines."""

import asyncio
import sys
from typing import Any, Final, get_args

import click
import msgspec
from msgspec import UNSET

from gossamer.client.client import Client
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.embedded.owner import as_tenant
from gossamer.flows.tenants.keys import FIRST_EMAIL
from gossamer.web.search.passages import TEXT_FRAGMENT
from gossamer.web.search.question import Recency
from gossamer.web.search.search_answer import SearchAnswer, SearchResult
from gossamer.web.search.snippet import MARK

NOTHING: Final = 3
_SETTINGS: Final = (
    "database_url",
    "data_dir",
    "search_providers",
    "searxng_url",
    "brave_base_url",
    "user_agent",
)


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="The most results.")
@click.option("--site", metavar="HOST", help="Only pages of this host and of those below it.")
@click.option("--recency", type=click.Choice(get_args(Recency)), help="Only pages this recent.")
@click.option("--language", metavar="CODE", help="Only pages in this language.")
@click.option(
    "--email", default=FIRST_EMAIL, show_default=True, help="The tenant whose pages are searched too."
)
@click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True)
@with_settings(_SETTINGS)
@click.pass_obj
def search(
    build: Build,
    /,
    query: tuple[str, ...],
    limit: int,
    site: str | None,
    recency: Recency | None,
    language: str | None,
    email: str,
    shape: str,
    **flags: Any,
) -> None:
    """Search the pages that were read here, and with the configured search engines.

    A question in plain words, or words, "phrases", beginnings*, -not, this OR that: best as one argument in
    single quotes. Exit code: 0 if something was found, 3 if nothing was found, 1 if the search failed.
    """
    text = " ".join(query)
    if not text.strip():
        raise click.UsageError("The query is blank.")
    access = web_access(build, flags, "email", acting=as_tenant(email))

    async def ask(web: Client) -> SearchAnswer:
        return await web.search(text, site=site, recency=recency, language=language, limit=limit)

    found = asyncio.run(access.ask(ask))
    for word, meant in (found.corrected or {}).items():
        click.echo(f"gossamer: no page has {word!r}, searched for {meant!r}", err=True)
    click.echo(_json(found) if shape == "json" else _text(found), nl=False)
    if not found.results:
        click.echo(f"gossamer: nothing was found (asked: {', '.join(found.providers)})", err=True)
    sys.exit(0 if found.results else NOTHING)


def _json(found: SearchAnswer) -> str:
    """JSON lines: one object for each result."""
    shown = ("url", "title", "snippet", "score", "source", "passages", "missing")
    lines = (
        {name: value for name in shown if (value := getattr(result, name)) is not UNSET}
        for result in found.results
    )
    return "".join(f"{msgspec.json.encode(line).decode()}\n" for line in lines)


def _text(found: SearchAnswer) -> str:
    return "\n".join(_format(result) for result in found.results)


def _format(hit: SearchResult) -> str:
    """Format one result. Its texts contain no control characters."""
    moment = hit.published_at or hit.seen_at
    when = f"  {moment[:10]}" if moment else ""
    pieces = hit.snippet.split(MARK)
    marked = "".join(click.style(piece, bold=True) if at % 2 else piece for at, piece in enumerate(pieces))
    title = click.style(hit.title or hit.url, bold=True)
    passage = hit.passages[0] if hit.passages else None
    above = " > ".join(passage.headings) if passage else ""
    url = passage.url if passage and TEXT_FRAGMENT not in passage.url else hit.url  # ids are short
    missing = f"without: {', '.join(hit.missing)}" if hit.missing else ""
    lines = [title, click.style(f"{url}{when}", dim=True), above, marked, click.style(missing, dim=True)]
    return "".join(f"{line}\n" for line in lines if line)
