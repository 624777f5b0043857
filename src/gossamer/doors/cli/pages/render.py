"""`gossamer render URL`: prints a page as a browser sees it."""

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

import click

from gossamer.doors import wording
from gossamer.doors.cli import Build, CommandService, load, quiet_log, with_settings
from gossamer.doors.cli.shared.writing import reserve, write
from gossamer.flows.parsers.parser_process import Prepared
from gossamer.reach.page.visit import Format, Screenshot, Visit, VisitResult
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.url.url import Url

NOT_OK: Final = 3
SETTINGS: Final = (
    "egress_allow",
    "egress_ports",
    "dns_servers",
    "user_agent",
    "chromium",
    "fence",
    "browser_url",
    "browser_proxy_url",
    "data_dir",
)
FORMATS: Final[dict[str, Format]] = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}


@click.command("render")
@click.argument("url")
@click.option("--wait-for", metavar="CSS", help="Wait until an element matches.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 120),
    default=30.0,
    show_default=True,
    help="Seconds for the whole visit.",
)
@click.option("--keep-scripts", is_flag=True, help="Leave the scripts in the page.")
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="A file for the HTML.")
@click.option(
    "--screenshot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also take a picture of the page: .png, .jpg or .webp.",
)
@click.option("--full-page", is_flag=True, help="Capture the full page, not only the window.")
@click.option("--stats", is_flag=True, help="Print a table on stderr: status, times, requests, bytes.")
@with_settings(SETTINGS)
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

    Works without a server. Exit code: 0 if this is the requested page, 3 if it is something else (a captcha,
    a log-in, an error page), 1 if it could not be fetched.
    """
    settings = load(flags)
    shot = None if screenshot is None else _shot(screenshot, full_page=full_page)
    visit = Visit(url=Url.parse(url), timeout=timeout, wait_for=wait_for, capture=shot)
    for path in (output, screenshot):
        if path is not None:
            reserve(path)

    async def work() -> tuple[VisitResult, Prepared]:
        service = build(settings, quiet_log(settings))
        try:
            return await _render(service, visit, keep_scripts=keep_scripts)
        finally:
            await service.close()

    rendered, prepared = asyncio.run(work())
    if screenshot is not None and rendered.capture is not None:
        write(screenshot, rendered.capture.body)
    html = prepared.served.html.encode("utf-8", "replace")
    if output is not None:
        write(output, html)
    else:
        sys.stdout.buffer.write(html + b"\n")
    if stats:
        click.echo(_table(rendered, prepared), err=True)
    sys.exit(_code(rendered, prepared))


async def _render(
    service: CommandService, visit: Visit, *, keep_scripts: bool
) -> tuple[VisitResult, Prepared]:
    service.dialer.admit(visit.url.host, visit.url.port)
    await service.open_proxy()
    rendered = await service.browsers.visit(visit)
    return rendered, await service.renderer.prepare(rendered.page, keep_scripts=keep_scripts)


def _shot(path: Path, *, full_page: bool) -> Screenshot:
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise click.BadParameter("the name must end in .png, .jpg or .webp", param_hint="--screenshot")
    return Screenshot(format=kind, full_page=full_page)


def _table(rendered: VisitResult, prepared: Prepared) -> str:
    page, timings, judgement = rendered.page, rendered.timings, prepared.judgement
    status = prepared.served.status
    rows = [
        ("status", f"{page.status}" + (f", {status} by its own word" if status else "")),
        ("outcome", judgement.outcome + (f" ({judgement.reason})" if judgement.reason else "")),
        ("final URL", page.final_url),
        ("redirects", str(len(page.redirects))),
        ("settled", "yes" if rendered.settled else f"no: out of time, waiting for {rendered.awaited}"),
        ("time", f"{page.elapsed_ms} ms"),
        ("  for a place", f"{timings.queue_ms} ms"),
        ("  to navigate", f"{timings.navigate_ms} ms"),
        ("  to settle", f"{timings.wait_ms} ms"),
        ("  to capture", f"{timings.capture_ms} ms"),
        ("requests", f"{rendered.requests}, {rendered.refused} refused"),
        ("received", wording.size(rendered.bytes)),
        (
            "HTML",
            f"{wording.size(len(page.body))}, {wording.size(len(prepared.served.html.encode()))} served",
        ),
        *(("console", line[:200]) for line in rendered.console),
    ]
    return "\n".join(f"{name:<14} {_printable(value)}" for name, value in rows)


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _code(rendered: VisitResult, prepared: Prepared) -> int:
    good = rendered.page.status < 400 and prepared.judgement.outcome is Outcome.OK
    return 0 if good else NOT_OK
