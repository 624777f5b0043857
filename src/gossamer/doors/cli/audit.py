"""`gossamer audit URL`: what search engines and agents see of a page, here and now."""

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from gossamer.doors.cli import Build, load, quiet_log, with_settings
from gossamer.doors.cli import report as terminal
from gossamer.doors.http import report as page
from gossamer.doors.http.audits import camel
from gossamer.flows.audit import MOST_LINKS, Options
from gossamer.web.audit import SEVERITIES, Report, Severity
from gossamer.web.url import Url

FOUND: Final = 3
_SETTINGS: Final = ("egress_allow", "egress_ports", "dns_servers", "user_agent", "data_dir")
_NEVER: Final = "never"
_LEVELS: Final = [severity.value for severity in SEVERITIES if severity is not Severity.INFO]


@click.command("audit")
@click.argument("url")
@click.option(
    "--format", "shape", type=click.Choice(["text", "json", "html"]), default="text", show_default=True
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="A file to write it to."
)
@click.option("--full", is_flag=True, help="In the text, also what passed and what was not checked.")
@click.option(
    "--max-links",
    type=click.IntRange(0, MOST_LINKS),
    default=20,
    show_default=True,
    help="Links of the page that are tried.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*_LEVELS, _NEVER]),
    default="serious",
    show_default=True,
    help="The least severity that makes the exit code 3.",
)
@click.option(
    "--timeout", type=click.FloatRange(1, 60), default=30.0, show_default=True, help="Seconds for the page."
)
@with_settings(_SETTINGS)
@click.pass_obj
def audit(
    build: Build,
    /,
    url: str,
    shape: str,
    output: Path | None,
    full: bool,
    max_links: int,
    fail_on: str,
    timeout: float,
    **flags: Any,
) -> None:
    """Audit a page: status, content, metadata, links, speed, security, and how ready it is for agents.

    Exit code: 0 when nothing as bad as --fail-on was found, 3 when something was, 1 when the page could not
    be had.
    """
    settings = load(flags)
    target = Url.parse(url)

    async def work() -> Report:
        house = build(settings, quiet_log(settings))
        try:
            return await house.auditor.audit(target, Options(max_links, timeout), _progress)
        finally:
            await house.close()

    report = asyncio.run(work())
    _print(report, shape, output, full=full)
    sys.exit(FOUND if _is_found(report, fail_on) else 0)


async def _progress(step: str, percent: int) -> None:
    """A line on the terminal that is written over; nothing in a pipe."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{percent:3} %  {step}", err=True, nl=percent >= 90)


def _print(report: Report, shape: str, output: Path | None, *, full: bool) -> None:
    if shape == "text" and output is None:
        terminal.show(report, full=full)
    elif output is None:
        click.echo(_rendered(report, shape, full=full), nl=False)
    else:
        output.write_bytes(_rendered(report, shape, full=full))
        click.echo(f"score {report.score}: {output}", err=True)


def _rendered(report: Report, shape: str, *, full: bool) -> bytes:
    if shape == "html":
        return page.render(report).body
    if shape == "json":
        told = camel(msgspec.to_builtins(report))
        return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"
    return click.unstyle(terminal.render(report, full=full)).encode()


def _is_found(report: Report, fail_on: str) -> bool:
    if fail_on == _NEVER:
        return False
    bad = SEVERITIES[: SEVERITIES.index(Severity(fail_on)) + 1]
    return any(finding.severity in bad for finding in report.findings)
