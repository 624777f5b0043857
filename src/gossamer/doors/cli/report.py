"""The report of an audit on the terminal: as wide as it is, and plain text in a pipe."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

import click

from gossamer.doors.wording import PURPOSES, SEVERITIES, band, moment, size, verdict
from gossamer.web.audit import Finding, Report, Severity, ThemeScore
from gossamer.web.site_audit import SiteReport

NARROWEST: Final = 40
WIDEST: Final = 100
_BAR: Final = 10
_COLUMN: Final = 40
COLOURS: Final = {"good": "green", "fair": "yellow", "weak": "yellow", "poor": "red", "unknown": "white"}
TONES: Final = {
    Severity.CRITICAL: "red",
    Severity.SERIOUS: "yellow",
    Severity.MODERATE: "blue",
    Severity.MINOR: "magenta",
    Severity.INFO: "white",
}
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def render(report: Report, *, width: int = 80, full: bool = False) -> str:
    """`full` also tells what passed and what was not checked."""
    room = max(NARROWEST, min(width, WIDEST))
    lines = [*_head(report, room), "", *theme_rows(report.themes, room), ""]
    for severity in Severity:
        found = [one for one in report.findings if one.severity is severity]
        if found:
            lines += [*_group(severity, found, room), ""]
    lines += _agent(report, room)
    if full:
        lines += ["", *rest(report, room)]
    return "\n".join([*lines, "", *end(report, room)]) + "\n"


def _head(report: Report, room: int) -> Iterator[str]:
    page = report.page
    colour = COLOURS[band(report.score)]
    yield from styled(report.preview.title or "No title", room, bold=True)
    yield from wrapped(page.final_url, room)
    took = f"{page.first_byte_ms} ms to the first byte, {size(page.wire_bytes)}"
    yield from styled(f"status {page.status}, {took}, {moment(report.audited_at)}", room, dim=True)
    yield ""
    yield click.style(f"{report.score} of 100", fg=colour, bold=True)
    yield from wrapped(verdict(report), room)


def theme_rows(themes: Sequence[ThemeScore], room: int) -> Iterator[str]:
    cells = [_theme(one) for one in themes]
    across = max(1, room // _COLUMN)
    rows = -(-len(cells) // across)
    for row in range(rows):
        yield "".join(cell for cell in cells[row::rows]).rstrip()


def _theme(theme: ThemeScore) -> str:
    filled = round((theme.score or 0) / 100 * _BAR)
    bar = click.style("█" * filled, fg=COLOURS[band(theme.score)]) + click.style(
        "░" * (_BAR - filled), dim=True
    )
    points = "-" if theme.score is None else str(theme.score)
    return f"{theme.name:<22} {bar} {points:>3}   "


def _group(severity: Severity, findings: list[Finding], room: int) -> Iterator[str]:
    name, about = SEVERITIES[severity]
    tone = TONES[severity]
    told = cut(f"{len(findings)}, {about}", room - len(name) - 2)
    yield f"{click.style(name, fg=tone, bold=True)}  {click.style(told, dim=True)}"
    for finding in findings:
        yield from _finding(finding, tone, room)


def _finding(finding: Finding, tone: str, room: int) -> Iterator[str]:
    mark = click.style("●", fg=tone)
    identity = click.style(f"({finding.id})", dim=True)
    *whole, last = wrapped(finding.title, room - 2)
    lines = [click.style(line, bold=True) for line in (*whole, last)]
    if len(last) + len(finding.id) + 5 <= room:
        lines[-1] += f" {identity}"
    else:
        lines.append(identity)
    yield f"{mark} {lines[0]}"
    yield from (f"  {line}" for line in lines[1:])
    yield from wrapped(finding.why, room, "  ")
    yield from wrapped(f"Fix: {finding.fix}", room, "  ", "       ")
    for piece in finding.evidence[:3]:
        yield click.style("    " + cut(clean(piece), room - 4), dim=True)
    more = len(finding.evidence[3:]) + finding.more
    if more:
        yield click.style(f"    and {more} more", dim=True)


def _agent(report: Report, room: int) -> Iterator[str]:
    agent = report.agent
    yield click.style("What an agent sees", bold=True)
    counts = f"About {agent.tokens:,} tokens of content, in HTML of about {agent.html_tokens:,}."
    yield from wrapped(counts, room, "  ")
    for purpose, (name, _) in PURPOSES.items():
        bots = [bot for bot in agent.bots if bot.purpose is purpose]
        blocked = [bot.token for bot in bots if bot.allowed is False]
        unknown = any(bot.allowed is None for bot in bots)
        told = "unknown" if unknown else f"closed to {', '.join(blocked)}" if blocked else "open to all"
        yield from wrapped(f"{name}: {told}", room, "  ", "    ")


def rest(report: Report | SiteReport, room: int) -> Iterator[str]:
    yield click.style("Passed", bold=True)
    for passed in report.passed:
        yield f"  {click.style('✓', fg='green')} {cut(passed.title, room - 4)}"
    yield ""
    yield click.style("Not checked", bold=True)
    for one in report.not_checked:
        yield click.style(f"  - {cut(f'{one.title}: {one.reason}', room - 4)}", dim=True)


def end(report: Report | SiteReport, room: int) -> Iterator[str]:
    counts = [
        f"{count} {SEVERITIES[severity][0].lower()}" for severity, count in report.counted().items() if count
    ]
    told = [*counts, f"{len(report.passed)} passed", f"{len(report.not_checked)} not checked"]
    yield from wrapped(", ".join(told) + ".", room)


def wrapped(text: str, room: int, first: str = "", following: str | None = None) -> list[str]:
    indent = first if following is None else following
    return textwrap.wrap(
        clean(text), room, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
    ) or [""]


def styled(text: str, room: int, **style: bool) -> Iterator[str]:
    return (click.style(line, **style) for line in wrapped(text, room))


def clean(text: str) -> str:
    """What pages say must not move the cursor, or turn the direction of what follows."""
    return _CONTROL.sub("", text)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
