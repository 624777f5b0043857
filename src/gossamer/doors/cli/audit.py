"""`gossamer audit URL`: what search engines and agents see of a page or a site, here and now."""

import asyncio
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from gossamer.doors.cli import Build, load, quiet_log, site_audit, site_report, with_settings
from gossamer.doors.cli import report as terminal
from gossamer.doors.cli.writing import reserve, write
from gossamer.doors.http import report as page
from gossamer.doors.http import site_report as site_page
from gossamer.doors.http.audit_shapes import camel
from gossamer.flows.audit import MOST_LINKS, Options
from gossamer.flows.site_audit import MOST_PAGES
from gossamer.web.audit import SEVERITIES, Report, Severity
from gossamer.web.site_audit import SiteReport
from gossamer.web.site_comparison import Comparison
from gossamer.web.url import Url

FOUND: Final = 3
_SETTINGS: Final = (
    "data_dir",
    "database_url",
    "blobs_url",
    "egress_allow",
    "egress_ports",
    "dns_servers",
    "user_agent",
    "crawl_delay",
    "reading_processes",
)
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
    "--max-pages",
    type=click.IntRange(1, MOST_PAGES),
    default=1,
    show_default=True,
    help="With more than one, the site is crawled from here and audited as a whole.",
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
    max_pages: int,
    fail_on: str,
    timeout: float,
    **flags: Any,
) -> None:
    """Audit a page: status, content, metadata, links, speed, security, and how ready it is for agents.

    With --max-pages the whole site is crawled, as politely as it asks for, and audited; such an audit is
    kept, and compared with the one before.

    Exit code: 0 when nothing as bad as --fail-on was found, 3 when something was, 1 when the page could not
    be had.
    """
    settings = load(flags)
    target = Url.parse(url)
    options = Options(max_links, timeout, max_pages)
    if output is not None:
        reserve(output)

    async def work() -> "_Page | _Site":
        house = build(settings, quiet_log(settings))
        try:
            if max_pages > 1:
                return _Site(*await site_audit.audited(house, target, options, _progress))
            return _Page(await house.auditor.audit(target, options, _progress))
        finally:
            await house.close()

    shown = asyncio.run(work())
    _print(shown, shape, output, full=full)
    sys.exit(FOUND if _is_found(shown.report, fail_on) else 0)


@dataclass(frozen=True, slots=True)
class _Page:
    report: Report

    def text(self, width: int, *, full: bool) -> str:
        return terminal.render(self.report, width=width, full=full)

    def html(self) -> bytes:
        return page.render(self.report).body

    def told(self) -> Any:
        return msgspec.to_builtins(self.report)


@dataclass(frozen=True, slots=True)
class _Site:
    report: SiteReport
    comparison: Comparison | None

    def text(self, width: int, *, full: bool) -> str:
        return site_report.render(self.report, self.comparison, width=width, full=full)

    def html(self) -> bytes:
        return site_page.render(self.report, self.comparison).body

    def told(self) -> Any:
        compared = None if self.comparison is None else msgspec.to_builtins(self.comparison)
        return {**msgspec.to_builtins(self.report), "comparison": compared}


async def _progress(step: str, percent: int) -> None:
    """A line on the terminal that is written over; nothing in a pipe."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{percent:3} %  {step}", err=True, nl=percent >= 90)


def _print(shown: _Page | _Site, shape: str, output: Path | None, *, full: bool) -> None:
    if shape == "text" and output is None:  # colours and all; `echo` leaves them out where nobody sees them
        click.echo(shown.text(shutil.get_terminal_size((80, 24)).columns, full=full), nl=False)
    elif output is None:
        click.echo(_rendered(shown, shape, full=full), nl=False)
    else:
        write(output, _rendered(shown, shape, full=full))
        click.echo(f"score {shown.report.score}: {output}", err=True)


def _rendered(shown: _Page | _Site, shape: str, *, full: bool) -> bytes:
    if shape == "html":
        return shown.html()
    if shape == "json":
        return msgspec.json.format(msgspec.json.encode(camel(shown.told())), indent=2) + b"\n"
    return click.unstyle(shown.text(80, full=full)).encode()


def _is_found(report: Report | SiteReport, fail_on: str) -> bool:
    if fail_on == _NEVER:
        return False
    bad = SEVERITIES[: SEVERITIES.index(Severity(fail_on)) + 1]
    return any(finding.severity in bad for finding in report.findings)
