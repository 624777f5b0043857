"""`gossamer render URL`: prints a page as a browser sees it."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from msgspec import UNSET

from gossamer.client.client import Client
from gossamer.doors import wording
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.pages.captured_file import (
    BROWSER_SETTINGS,
    NOT_OK,
    CapturedFile,
    ask_for_file,
    picture_format,
)
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.writing import reserve, write
from gossamer.doors.embedded.owner import as_stranger
from gossamer.flows.pages.capture_request import ScreenshotRequest
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page_request import PageRequest
from gossamer.web.pages.read_result import FetchAnswer
from gossamer.web.render.prerender import Prerendered, prerender
from gossamer.web.render.visit_figures import VisitFigures


@click.command("render")
@click.argument("url")
@click.option("--wait-for", metavar="CSS", help="Wait until an element matches.")
@click.option(
    "--timeout",
    type=click.FloatRange(5, 120),
    default=30.0,
    show_default=True,
    help="Seconds for the whole visit; a server may allow less.",
)
@click.option("--keep-scripts", is_flag=True, help="Leave the scripts in the page.")
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="A file for the HTML.")
@click.option(
    "--screenshot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also take a picture of the page, on another visit: .png, .jpg or .webp.",
)
@click.option("--full-page", is_flag=True, help="Capture the full page, not only the window.")
@click.option("--stats", is_flag=True, help="Print a table on stderr: status, times, requests, bytes.")
@with_settings(BROWSER_SETTINGS)
@click.pass_obj
def render(
    build: Build,
    /,
    url: str,
    wait_for: str | None,
    timeout: float,
    keep_scripts: bool,
    output: Path | None,
    screenshot: Path | None,
    full_page: bool,
    stats: bool,
    **flags: Any,
) -> None:
    """Render a page with a browser and print its HTML, without its scripts.

    Exit code: 0 if this is the requested page, 3 if it is something else (a captcha,
    a log-in, an error page), 1 if it could not be fetched.
    """
    access = web_access(build, flags, acting=as_stranger)
    selector, milliseconds = wait_for or UNSET, round(timeout * 1000)
    request = PageRequest(
        url,
        formats=("rawHtml",),
        timeout=milliseconds,
        render="always",
        wait_for_selector=selector,
        return_visit=stats,
    )
    picture = None
    if screenshot is not None:
        kind = picture_format(screenshot, "--screenshot")
        picture = ScreenshotRequest(
            url, format=kind, full_page=full_page, wait_for_selector=selector, timeout=milliseconds
        )
    for path in (output, screenshot):
        if path is not None:
            reserve(path)

    async def ask(web: Client) -> tuple[FetchAnswer, CapturedFile | None]:
        reading = web.ask("POST", "/fetch", FetchAnswer, request)
        if picture is None:
            return await reading, None
        return await asyncio.gather(reading, ask_for_file(web, picture))

    answer, taken = asyncio.run(access.ask(ask))
    if answer.via != "render":
        raise click.ClickException(f"A browser has no page for this: it is {answer.media_type}.")
    if screenshot is not None and taken is not None:
        write(screenshot, taken.body)
    served = prerender(answer.raw_html or "", answer.final_url, keep_scripts=keep_scripts)
    _put(served.html.encode("utf-8", "replace"), output)
    if stats:
        click.echo(_table(answer, served), err=True)
    sys.exit(0 if answer.outcome is Outcome.OK else NOT_OK)


def _put(html: bytes, output: Path | None) -> None:
    if output is not None:
        write(output, html)
    else:
        sys.stdout.buffer.write(html + b"\n")


def _table(answer: FetchAnswer, served: Prerendered) -> str:
    made, kept = len((answer.raw_html or "").encode()), len(served.html.encode())
    rows = [
        ("status", f"{answer.status}" + (f", {served.status} by its own word" if served.status else "")),
        ("outcome", answer.outcome + (f" ({answer.reason})" if answer.reason else "")),
        ("final URL", answer.final_url),
        ("redirects", str(len(answer.redirects))),
        ("time", f"{answer.elapsed_ms} ms"),
        *(_visit_rows(answer.visit) if answer.visit else ()),
        ("HTML", f"{wording.size(made)}, {wording.size(kept)} served"),
    ]
    return "\n".join(f"{name:<14} {_printable(value)}" for name, value in rows)


def _visit_rows(visit: VisitFigures) -> Iterator[tuple[str, str]]:
    yield "  for a place", f"{visit.queue_time} ms"
    yield "  to navigate", f"{visit.navigate_time} ms"
    yield "  to settle", f"{visit.wait_time} ms"
    yield "  to capture", f"{visit.capture_time} ms"
    yield "settled", f"no: out of time, waiting for {visit.awaited}" if visit.awaited else "yes"
    yield "requests", f"{visit.requests}, {visit.refused} refused"
    yield "received", wording.size(visit.received)
    yield from (("console", line[:200]) for line in visit.console)


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
