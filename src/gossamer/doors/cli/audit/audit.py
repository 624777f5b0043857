"""`gossamer audit URL`: reports what search engines and agents see of a page or a site."""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from gossamer.client.calls.auditing import audit_page
from gossamer.client.client import Client
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.audit import report as terminal
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.progress import ProgressLine
from gossamer.doors.cli.shared.writing import reserve, write
from gossamer.doors.http.api.audit import report as page
from gossamer.doors.http.api.audit.audit_shapes import comparison_to_api, report_to_api
from gossamer.web.audit.audit_answer import AuditAnswer
from gossamer.web.audit.check import SEVERITIES, Severity
from gossamer.web.audit.comparison import Comparison
from gossamer.web.audit.report import MAX_LINKS, MAX_PAGES, AuditOptions, AuditReport

FOUND: Final = 3  # the exit code
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
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="A file to write to.")
@click.option("--full", is_flag=True, help="In the text, also list checks that passed or were not run.")
@click.option(
    "--max-links",
    type=click.IntRange(0, MAX_LINKS),
    default=20,
    show_default=True,
    help="Links of the page to try.",
)
@click.option(
    "--max-pages",
    type=click.IntRange(1, MAX_PAGES),
    default=1,
    show_default=True,
    help="With more than one, the site is crawled from here and audited as a whole.",
)
@click.option(
    "--crawl", "crawl_id", help="The ID of a crawl whose stored pages are audited; nothing is fetched."
)
@click.option(
    "--fail-on",
    type=click.Choice([*_LEVELS, _NEVER]),
    default="serious",
    show_default=True,
    help="The lowest severity that makes the exit code 3.",
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
    crawl_id: str | None,
    fail_on: str,
    timeout: float,
    **flags: Any,
) -> None:
    """Audit a page: status, content, metadata, links, speed, security, and how ready it is for agents.

    With --max-pages the whole site is crawled politely and audited. Such an audit is stored, and compared
    with the previous one.

    Exit code: 0 if no finding is as severe as --fail-on, 3 if one is, 1 if the page could not be fetched.
    """
    access = web_access(build, flags, in_any_folder=True)
    options = AuditOptions(
        max_links=max_links, timeout=round(timeout * 1000), max_pages=max_pages, crawl_id=crawl_id
    )
    if output is not None:
        reserve(output)
    line = ProgressLine(is_wanted=True)

    async def ask(web: Client) -> AuditAnswer:
        body = {"url": url, "options": msgspec.to_builtins(options)}
        return await audit_page(web, body, lambda step, percent: line.show(f"{percent:3} %  {step}"))

    answer = asyncio.run(access.ask(ask))
    line.clear()
    report, comparison = answer.to_report(), answer.to_comparison()
    _print(report, comparison, shape, output, full=full)
    sys.exit(FOUND if _is_found(report, fail_on) else 0)


def _print(
    report: AuditReport, comparison: Comparison | None, shape: str, output: Path | None, *, full: bool
) -> None:
    if shape == "text" and output is None:  # `echo` removes the colours outside a terminal
        width = shutil.get_terminal_size((80, 24)).columns
        click.echo(terminal.render(report, comparison, width=width, full=full), nl=False)
        return
    rendered = _render(report, comparison, shape, full=full)
    if output is None:
        click.echo(rendered, nl=False)
    else:
        write(output, rendered)
        click.echo(f"score {report.score}: {output}", err=True)


def _render(report: AuditReport, comparison: Comparison | None, shape: str, *, full: bool) -> bytes:
    if shape == "html":
        return page.render(report, comparison)
    if shape == "json":
        compared = None if comparison is None else comparison_to_api(comparison)
        answer = report_to_api(report) | {"comparison": compared}
        return msgspec.json.format(msgspec.json.encode(answer), indent=2) + b"\n"
    return click.unstyle(terminal.render(report, comparison, full=full)).encode()


def _is_found(report: AuditReport, fail_on: str) -> bool:
    if fail_on == _NEVER:
        return False
    bad = SEVERITIES[: SEVERITIES.index(Severity(fail_on)) + 1]
    return any(finding.severity in bad for finding in report.findings)
