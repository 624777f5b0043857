"""`--query`: what the format llm keeps first of a page."""

from collections.abc import Sequence
from typing import Final

import click

from gossamer.web.content.brief import MAX_QUERY_CHARS

llm_query: Final = click.option(
    "--query", default="", metavar="WORDS", help="What you look for: the format llm keeps it first."
)


def check_query(query: str, formats: Sequence[str]) -> None:
    """Raises for a query that is too long, or that no format takes."""
    if query and "llm" not in formats:
        raise click.UsageError("--query needs --format llm")
    if len(query) > MAX_QUERY_CHARS:
        raise click.UsageError(f"--query takes at most {MAX_QUERY_CHARS} characters")
