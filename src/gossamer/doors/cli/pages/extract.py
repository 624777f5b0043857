"""`gossamer extract URL`: prints data out of a page as JSON."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

import click
import msgspec

from gossamer.client.client import Client
from gossamer.client.options import ExtractKeywords
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.pages.captured_file import BROWSER_SETTINGS
from gossamer.doors.cli.shared.access import web_access
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.extract_request import ExtractAnswer
from gossamer.web.pages.page_request import Rendering

NOT_OK: Final = 3


@click.command("extract")
@click.argument("url")
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME[:TYPE]",
    help="What to find: a name, or a name with a type or a description. May be repeated.",
)
@click.option(
    "--schema",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file with a JSON Schema of the data.",
)
@click.option("--instructions", default="", help="Instructions for the language model, if there is one.")
@click.option("--no-model", is_flag=True, help="Without a language model.")
@click.option(
    "--render",
    type=click.Choice(get_args(Rendering)),
    default="never",
    show_default=True,
    help="Use a browser if a page is an empty shell without one (auto), or always.",
)
@click.option("--full", is_flag=True, help="Also print where each value came from, and what is missing.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 60), default=30.0, show_default=True, help="Seconds for the page."
)
@with_settings((*BROWSER_SETTINGS, "database_url"))
@click.pass_obj
def extract(
    build: Build,
    /,
    url: str,
    fields: tuple[str, ...],
    schema: Path | None,
    instructions: str,
    no_model: bool,
    render: Rendering,
    full: bool,
    timeout: float,
    **flags: Any,
) -> None:
    """Get data out of a page, as JSON.

    Exit code: 0 if the data is complete, 3 if something is missing or this is not the requested page, 1 if
    the page could not be fetched.
    """
    options: ExtractKeywords = {
        "instructions": instructions,
        "model": not no_model,
        "render": render,
        "timeout": round(timeout * 1000),
    }
    if fields:
        options["fields"] = _fields(fields)
    if schema is not None:
        options["schema"] = _read_schema(schema)

    async def ask(web: Client) -> ExtractAnswer:
        return await web.extract(url, **options)

    found = asyncio.run(web_access(build, flags).ask(ask))
    shown = msgspec.json.encode(found if full else found.data)
    click.echo(msgspec.json.format(shown, indent=2).decode())
    if found.missing:
        click.echo(f"gossamer: the page does not have {', '.join(found.missing)}", err=True)
    is_complete = found.outcome is Outcome.OK and found.valid and not found.missing
    sys.exit(0 if is_complete else NOT_OK)


def _fields(given: tuple[str, ...]) -> list[str] | dict[str, str]:
    pairs = [text.partition(":") for text in given]
    if not any(colon for _, colon, _ in pairs):
        return list(given)
    return {name.strip(): kind.strip() or "string" for name, _, kind in pairs}


def _read_schema(path: Path) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path} has no JSON Schema: {error}.") from None
