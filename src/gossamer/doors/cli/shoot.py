"""`gossamer screenshot URL` and `gossamer pdf URL`: a page as it looks, in a file."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from gossamer.doors import wording
from gossamer.doors.cli import Build, House, fail, load, quiet_log, with_settings
from gossamer.doors.cli.render import FORMATS, NOT_OK, SETTINGS
from gossamer.doors.cli.writing import reserve, write
from gossamer.flows.shoot import Captured, Wish
from gossamer.reach.printing import MILLIMETRES
from gossamer.reach.shot import TALLEST
from gossamer.reach.visit import Paper, Print, Shot
from gossamer.web.outcome import Outcome
from gossamer.web.url import Url


def _capturing(command: Callable[..., None]) -> Callable[..., None]:
    """What both commands take."""
    for option in (
        with_settings(SETTINGS),
        click.option(
            "--timeout",
            type=click.FloatRange(0.1, 120),
            default=30.0,
            show_default=True,
            help="Seconds for it all.",
        ),
        click.option("--wait-for", metavar="CSS", help="The page is done when something matches."),
        click.argument("url"),
    ):
        command = option(command)
    return command


@click.command("screenshot")
@_capturing
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
@click.option("--scale", type=click.FloatRange(1, 3), default=1.0, help="Pixels for each of the page's.")
@click.option("--full-page", is_flag=True, help="All of the page, not only what fits the window.")
@click.option("--selector", metavar="CSS", help="Only the first element that matches.")
@click.option("--max-height", type=click.IntRange(1, TALLEST), help="Where what is taller is cut.")
@click.option("--quality", type=click.IntRange(1, 100), help="Of .jpg and .webp.")
@click.option("--dark", is_flag=True, help="As who prefers dark colours sees it.")
@click.pass_obj
def screenshot(
    build: Build, /, url: str, wait_for: str | None, timeout: float, output: Path, **options: Any
) -> None:
    """Take a picture of a page.

    Works by itself, without a server. Exit code: 0 when the page is what was asked for, 3 when it is
    something else (a captcha, a log-in, an error page), 1 when it could not be had.
    """
    kind = FORMATS.get(output.suffix.lower())
    if kind is None:
        raise click.BadParameter("the name must end in .png, .jpg or .webp", param_hint="--output")
    names = ("width", "height", "scale", "full_page", "selector", "max_height", "quality", "dark")
    shot = Shot(format=kind, **{name: options.pop(name) for name in names})
    wish = Wish(url=Url.parse(url), capture=shot, wait_for=wait_for, timeout=timeout)
    _capture(build, wish, output, options)


@click.command("pdf")
@_capturing
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
@click.option("--pages", default="", metavar="RANGES", help="Which pages, as in 1-3,5.")
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
    """Print a page to PDF. Works, and ends, as `gossamer screenshot` does."""
    inches = margin / MILLIMETRES
    wanted = Print(
        paper=paper,
        landscape=landscape,
        background=not no_background,
        scale=scale,
        margins=(inches, inches, inches, inches),
        pages=pages,
    )
    wish = Wish(url=Url.parse(url), capture=wanted, wait_for=wait_for, timeout=timeout)
    _capture(build, wish, output, flags)


def _capture(build: Build, wish: Wish, output: Path, flags: dict[str, Any]) -> None:
    settings = load(flags)
    reserve(output)

    async def work() -> Captured:
        house = build(settings, quiet_log(settings))
        try:
            return await _captured(house, wish)
        finally:
            await house.close()

    captured = asyncio.run(work())
    write(output, captured.body)
    click.echo(f"{output}: {_described(captured)}", err=True)
    if captured.outcome is not Outcome.OK:
        why = f" ({captured.reason})" if captured.reason else ""
        fail(f"{captured.outcome}{why}, status {captured.status}", code=NOT_OK)


async def _captured(house: House, wish: Wish) -> Captured:
    house.dialer.admit(wish.url.host, wish.url.port)
    await house.open_proxy()
    return await house.shooter.captured(wish, await house.browsers.visit(wish.visit()))


def _described(captured: Captured) -> str:
    size = wording.size(len(captured.body))
    if captured.size is not None:
        cut = ", cut" if captured.cut else ""
        return f"{captured.size.width} x {captured.size.height} pixels{cut}, {size}"
    return size if captured.pages is None else f"pages: {captured.pages}, {size}"
