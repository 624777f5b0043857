"""`gossamer search QUERY`: searches the pages that were read here, and with search engines."""

import asyncio
import sys
from typing import Any, Final, get_args

import click
import msgspec

from gossamer.doors.cli import Build, CommandService, load, quiet_log, with_settings
from gossamer.flows.pages.search import SearchResults
from gossamer.flows.tenants.keys import FIRST_EMAIL
from gossamer.state.tenants import tenants
from gossamer.web.pages.timestamps import iso
from gossamer.web.search.fusion import Ranked
from gossamer.web.search.question import Question, Recency
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

    Words (all of them), "phrases", -not, this OR that: best as one argument in single quotes. Exit code: 0 if
    something was found, 3 if nothing was found, 1 if the search failed.
    """
    settings = load(flags)
    text = " ".join(query)
    if not text.strip():
        raise click.UsageError("The query is blank.")
    question = Question.parse(text, site=site, recency=recency, language=language, limit=limit)

    async def work() -> SearchResults:
        service = build(settings, quiet_log(settings))
        try:
            return await service.finder.find(question, await _tenant(service, email))
        finally:
            await service.close()

    found = asyncio.run(work())
    click.echo(_json(found) if shape == "json" else _text(found), nl=False)
    if not found.results:
        click.echo(f"gossamer: nothing was found (asked: {', '.join(found.providers)})", err=True)
    sys.exit(0 if found.results else NOTHING)


async def _tenant(service: CommandService, email: str) -> str:
    await service.database.migrate()
    async with service.database.read() as connection:
        return await tenants.find_tenant(connection, email) or tenants.PUBLIC


def _json(found: SearchResults) -> str:
    """JSON lines: one object for each result."""
    return "".join(
        msgspec.json.encode(
            {
                "url": ranked.hit.url,
                "title": ranked.hit.title,
                "snippet": ranked.hit.snippet,
                "score": round(ranked.score, 4),
                "source": ranked.source,
            }
        ).decode()
        + "\n"
        for ranked in found.results
    )


def _text(found: SearchResults) -> str:
    return "\n".join(_format(ranked) for ranked in found.results)


def _format(ranked: Ranked) -> str:
    """Format one result. Its texts contain no control characters."""
    hit = ranked.hit
    moment = hit.published_at or hit.seen_at
    when = f"  {iso(moment)[:10]}" if moment else ""
    pieces = hit.snippet.split(MARK)
    marked = "".join(click.style(piece, bold=True) if at % 2 else piece for at, piece in enumerate(pieces))
    title = click.style(hit.title or hit.url, bold=True)
    lines = [title, click.style(f"{hit.url}{when}", dim=True), marked]
    return "".join(f"{line}\n" for line in lines if line)
