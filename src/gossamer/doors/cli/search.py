"""`gossamer search QUERY`: pages that were read before, and what the search engines know."""

import asyncio
import sys
from typing import Any, Final, get_args

import click
import msgspec

from gossamer.doors.cli import Build, House, load, quiet_log, with_settings
from gossamer.doors.http import moments
from gossamer.flows.find import Found
from gossamer.flows.keys import FIRST_EMAIL
from gossamer.state import tenants
from gossamer.web.fusion import Ranked
from gossamer.web.question import Question, Recency
from gossamer.web.snippet import MARK

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
    """Search in the pages that were read here, and with the search engines that are set.

    Words (all of them), "phrases", -not, this OR that: best as one argument in single quotes. Exit code: 0
    when something was found, 3 when nothing was, 1 when nobody could say.
    """
    settings = load(flags)
    text = " ".join(query)
    if not text.strip():
        raise click.UsageError("The query is blank.")
    question = Question.parse(text, site=site, recency=recency, language=language, limit=limit)

    async def work() -> Found:
        house = build(settings, quiet_log(settings))
        try:
            return await house.finder.find(question, await _tenant(house, email))
        finally:
            await house.close()

    found = asyncio.run(work())
    click.echo(_json(found) if shape == "json" else _text(found), nl=False)
    if not found.results:
        click.echo(f"gossamer: nothing was found (asked: {', '.join(found.providers)})", err=True)
    sys.exit(0 if found.results else NOTHING)


async def _tenant(house: House, email: str) -> str:
    await house.database.migrate()
    async with house.database.read() as connection:
        return await tenants.find_tenant(connection, email) or tenants.PUBLIC


def _json(found: Found) -> str:
    """One object a line."""
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


def _text(found: Found) -> str:
    return "\n".join(_shown(ranked) for ranked in found.results)


def _shown(ranked: Ranked) -> str:
    """The texts are clean: there is nothing in them that a terminal would obey."""
    hit = ranked.hit
    moment = hit.published_at or hit.seen_at
    when = f"  {moments.iso(moment)[:10]}" if moment else ""
    pieces = hit.snippet.split(MARK)
    marked = "".join(click.style(piece, bold=True) if at % 2 else piece for at, piece in enumerate(pieces))
    title = click.style(hit.title or hit.url, bold=True)
    lines = [title, click.style(f"{hit.url}{when}", dim=True), marked]
    return "".join(f"{line}\n" for line in lines if line)
