"""`gossamer screenshot URL` and `gossamer pdf URL`: write a picture or a PDF of a page to a file."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
from msgspec import UNSET

from gossamer.client.client import Client
from gossamer.doors.cli import Build, fail, with_settings
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
from gossamer.flows.pages.capture_request import (
    CaptureRequest,
    Margins,
    PdfRequest,
    ScreenshotRequest,
    Viewport,
)
from gossamer.reach.page.screenshot import MAX_SIDE_PIXELS
from gossamer.reach.page.visit import Paper
from gossamer.web.outcome.outcome import Outcome


def _with_capture_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that both commands have."""
    for option in (
        with_settings(BROWSER_SETTINGS),
        click.option(
            "--timeout",
            type=click.FloatRange(5, 120),
            default=30.0,
            show_default=True,
            help="Seconds for the whole visit; a server may allow less.",
        ),
        click.option("--wait-for", metavar="CSS", help="Wait until an element matches."),
        click.argument("url"),
    ):
        command = option(command)
    return command


@click.command("screenshot")
@_with_capture_options
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("screenshot.png"),
    show_default=True,
    help="A file: .png, .jpg or .webp.",
)
@click.option("--width", type=click.IntRange(320, 3840), default=1280, show_default=True)
@click.option("--height", type=click.IntRange(240, 2160), default=720, show_default=True)
@click.option(
    "--scale",
    type=click.FloatRange(1, 3),
    default=1.0,
    help="Pixels of the picture for each pixel of the page.",
)
@click.option("--full-page", is_flag=True, help="Capture the full page, not only the window.")
@click.option("--selector", metavar="CSS", help="Only the first element that matches.")
@click.option("--max-height", type=click.IntRange(1, MAX_SIDE_PIXELS), help="Cut a taller picture here.")
@click.option("--quality", type=click.IntRange(1, 100), help="The quality of .jpg and .webp.")
@click.option("--dark", is_flag=True, help="Show the page as a visitor with dark mode sees it.")
@click.pass_obj
def screenshot(
    build: Build, /, url: str, wait_for: str | None, timeout: float, output: Path, **options: Any
) -> None:
    """Take a picture of a page.

    Exit code: 0 if this is the requested page, 3 if it is something else (a captcha,
    a log-in, an error page), 1 if it could not be fetched.
    """
    request = ScreenshotRequest(
        url,
        viewport=Viewport(options.pop("width"), options.pop("height")),
        selector=options.pop("selector") or UNSET,
        full_page=options.pop("full_page"),
        max_height=options.pop("max_height") or UNSET,
        format=picture_format(output, "--output"),
        quality=options.pop("quality") or UNSET,
        device_scale_factor=options.pop("scale"),
        dark_mode=options.pop("dark"),
        wait_for_selector=wait_for or UNSET,
        timeout=round(timeout * 1000),
    )
    _capture(build, request, output, options)


@click.command("pdf")
@_with_capture_options
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("page.pdf"),
    show_default=True,
    help="A file.",
)
@click.option("--format", "paper", type=click.Choice(get_args(Paper)), default="A4", show_default=True)
@click.option("--landscape", is_flag=True)
@click.option("--no-background", is_flag=True, help="Without background colours and pictures.")
@click.option("--scale", type=click.FloatRange(0.1, 2), default=1.0)
@click.option("--margin", type=click.FloatRange(0, 500), default=10.0, show_default=True, help="Millimetres.")
@click.option("--pages", default="", metavar="RANGES", help="Which pages to print, such as 1-3,5.")
@click.pass_obj
def pdf(
    build: Build,
    /,
    url: str,
    wait_for: str | None,
    timeout: float,
    output: Path,
    paper: Paper,
    landscape: bool,
    no_background: bool,
    scale: float,
    margin: float,
    pages: str,
    **flags: Any,
) -> None:
    """Print a page to PDF. The exit codes are those of `gossamer screenshot`."""
    side = f"{margin:.3f}mm"
    request = PdfRequest(
        url,
        format=paper,
        landscape=landscape,
        print_background=not no_background,
        scale=scale,
        margins=Margins(side, side, side, side),
        page_ranges=pages,
        wait_for_selector=wait_for or UNSET,
        timeout=round(timeout * 1000),
    )
    _capture(build, request, output, flags)


def _capture(build: Build, request: CaptureRequest, output: Path, flags: dict[str, Any]) -> None:
    access = web_access(build, flags, acting=as_stranger)
    request.check()
    reserve(output)

    async def ask(web: Client) -> CapturedFile:
        return await ask_for_file(web, request)

    captured = asyncio.run(access.ask(ask))
    write(output, captured.body)
    click.echo(f"{output}: {captured.description}", err=True)
    if captured.missing_scripts:
        click.echo(f"  No font here has {captured.missing_scripts}: those letters are boxes.", err=True)
    if captured.outcome != Outcome.OK:
        why = f" ({captured.reason})" if captured.reason else ""
        fail(f"{captured.outcome}{why}, status {captured.status}", code=NOT_OK)
