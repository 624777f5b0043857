"""The report of an audit on the terminal: as wide as it is, and plain text in a pipe."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import click

from gossamer.doors.wording import PURPOSES, SEVERITIES, band, moment, size, verdict
from gossamer.web.audit.check import Severity
from gossamer.web.audit.comparison import Comparison
from gossamer.web.audit.report import (
    AgentView,
    AuditReport,
    Finding,
    FindingPlace,
    PageFacts,
    SiteFacts,
    ThemeScore,
)

MIN_WIDTH: Final = 40
MAX_WIDTH: Final = 100
MAX_EVIDENCE: Final = 3  # pieces of a finding of a page
MAX_PLACES: Final = 5  # of a finding of a site
MAX_URLS: Final = 3  # of a place
MAX_CHANGES: Final = 12
_BAR: Final = 10
_COLUMN: Final = 40
_COLOURS: Final = {"good": "green", "fair": "yellow", "weak": "yellow", "poor": "red", "unknown": "white"}
_TONES: Final = {
    Severity.CRITICAL: "red",
    Severity.SERIOUS: "yellow",
    Severity.MODERATE: "blue",
    Severity.MINOR: "magenta",
    Severity.INFO: "white",
}
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def render(
    report: AuditReport, comparison: Comparison | None = None, *, width: int = 80, full: bool = False
) -> str:
    """With `full`, also what passed and what was not checked."""
    room = max(MIN_WIDTH, min(width, MAX_WIDTH))
    sections = [list(_head(report, room)), list(_themes(report.themes, room))]
    if comparison is not None:
        sections.append(list(_changes(comparison, room)))
    by_severity = groupby(report.findings, key=lambda finding: finding.severity)  # they are sorted by it
    sections += [list(_group(severity, list(group), room)) for severity, group in by_severity]
    if report.agent is not None:
        sections.append(list(_agent(report.agent, room)))
    if full:
        sections.append(list(_rest(report, room)))
    sections.append(list(_end(report, room)))
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _head(report: AuditReport, room: int) -> Iterator[str]:
    when = moment(report.audited_at)
    if report.site is not None:
        yield from _site_head(report.site, when, room)
    elif report.page is not None and report.preview is not None:
        yield from _page_head(report.page, report.preview.title, when, room)
    yield ""
    yield click.style(f"{report.score} of 100", fg=_COLOURS[band(report.score)], bold=True)
    yield from _wrap(verdict(report), room)


def _page_head(page: PageFacts, title: str, when: str, room: int) -> Iterator[str]:
    yield from _style(title or "No title", room, bold=True)
    yield from _wrap(page.final_url, room)
    took = f"{page.first_byte_ms} ms to the first byte, {size(page.wire_bytes)}"
    yield from _style(f"status {page.status}, {took}, {when}", room, dim=True)


def _site_head(site: SiteFacts, when: str, room: int) -> Iterator[str]:
    yield from _style(f"The site at {site.start}", room, bold=True)
    statuses = ", ".join(f"{count:,} {name}" for name, count in site.statuses)
    pages = f"{site.pages:,} pages, {site.indexable:,} may be found; answers: {statuses}"
    yield from _style(f"{pages}; {when}", room, dim=True)
    if not site.is_complete:
        yield from _style("There is more than was looked at: --max-pages allows it.", room, dim=True)


def _themes(themes: Sequence[ThemeScore], room: int) -> Iterator[str]:
    cells = [_theme(one) for one in themes]
    across = max(1, room // _COLUMN)
    rows = -(-len(cells) // across)
    for row in range(rows):
        yield "".join(cell for cell in cells[row::rows]).rstrip()


def _theme(theme: ThemeScore) -> str:
    filled = round((theme.score or 0) / 100 * _BAR)
    bar = click.style("█" * filled, fg=_COLOURS[band(theme.score)]) + click.style(
        "░" * (_BAR - filled), dim=True
    )
    points = "-" if theme.score is None else str(theme.score)
    return f"{theme.name:<22} {bar} {points:>3}   "


def _changes(comparison: Comparison, room: int) -> Iterator[str]:
    yield click.style("Since the last audit", bold=True)
    counts = f"{comparison.fixed:,} fixed, {comparison.new:,} new, {comparison.remaining:,} remaining"
    unseen = f", {comparison.unseen:,} not looked at again" if comparison.unseen else ""
    before = f"{comparison.before_score} of 100 at {moment(comparison.before_at)}"
    yield from _wrap(f"{counts}{unseen}; it was {before}.", room, "  ")
    for change in comparison.moved[:MAX_CHANGES]:
        mark = click.style("+" if change.new else "✓", fg="red" if change.new else "green")
        yield f"  {mark} " + _cut(f"{change.title}: {change.fixed:,} fixed, {change.new:,} new", room - 4)


def _group(severity: Severity, findings: Sequence[Finding], room: int) -> Iterator[str]:
    name, about = SEVERITIES[severity]
    tone = _TONES[severity]
    summary = _cut(f"{len(findings)}, {about}", room - len(name) - 2)
    yield f"{click.style(name, fg=tone, bold=True)}  {click.style(summary, dim=True)}"
    for finding in findings:
        first, *others = _title(finding, room)
        yield f"{click.style('●', fg=tone)} {first}"
        yield from (f"  {line}" for line in others)
        yield from _wrap(finding.why, room, "  ")
        yield from _wrap(f"Fix: {finding.fix}", room, "  ", "       ")
        yield from _places(finding, room) if finding.places else _evidence(finding, room)


def _title(finding: Finding, room: int) -> Iterator[str]:
    """The title with the id: of a page on the same line if there is room, of a site with the spread."""
    *whole, last = _wrap(finding.title, room - 2)
    yield from (click.style(line, bold=True) for line in whole)
    if finding.places:
        spread = f"{finding.pages:,} {'page' if finding.pages == 1 else 'pages'}"
        yield click.style(last, bold=True)
        yield click.style(
            _cut(f"({finding.id}) {spread if finding.pages else 'the site'}", room - 2), dim=True
        )
        return
    identity = click.style(f"({finding.id})", dim=True)
    if len(last) + len(finding.id) + 5 <= room:
        yield f"{click.style(last, bold=True)} {identity}"
    else:
        yield click.style(last, bold=True)
        yield identity


def _evidence(finding: Finding, room: int) -> Iterator[str]:
    for piece in finding.evidence[:MAX_EVIDENCE]:
        yield _dim(piece, room, 4)
    if more := len(finding.evidence[MAX_EVIDENCE:]) + finding.more:
        yield click.style(f"    and {more} more", dim=True)


def _places(finding: Finding, room: int) -> Iterator[str]:
    for place in finding.places[:MAX_PLACES]:
        yield from _place(place, room)
    if more := len(finding.places[MAX_PLACES:]) + finding.more:
        yield click.style(f"    and {more:,} more", dim=True)


def _place(place: FindingPlace, room: int) -> Iterator[str]:
    yield _dim(place.evidence, room, 4)
    if len(place.urls) == 1 and place.urls[0].endswith(place.evidence):
        return
    for url in place.urls[:MAX_URLS]:
        yield _dim(url, room, 6)
    if more := len(place.urls[MAX_URLS:]) + place.more:
        yield click.style(f"      and {more:,} more pages", dim=True)


def _agent(agent: AgentView, room: int) -> Iterator[str]:
    yield click.style("What an agent sees", bold=True)
    counts = f"About {agent.tokens:,} tokens of content, in HTML of about {agent.html_tokens:,}."
    yield from _wrap(counts, room, "  ")
    for purpose, (name, _) in PURPOSES.items():
        bots = [bot for bot in agent.bots if bot.purpose is purpose]
        blocked = [bot.token for bot in bots if bot.allowed is False]
        unknown = any(bot.allowed is None for bot in bots)
        access = "unknown" if unknown else f"closed to {', '.join(blocked)}" if blocked else "open to all"
        yield from _wrap(f"{name}: {access}", room, "  ", "    ")


def _rest(report: AuditReport, room: int) -> Iterator[str]:
    yield click.style("Passed", bold=True)
    for passed in report.passed:
        yield f"  {click.style('✓', fg='green')} {_cut(passed.title, room - 4)}"
    yield ""
    yield click.style("Not checked", bold=True)
    for one in report.not_checked:
        yield click.style(f"  - {_cut(f'{one.title}: {one.reason}', room - 4)}", dim=True)


def _end(report: AuditReport, room: int) -> Iterator[str]:
    counts = report.count_by_severity()
    found = [f"{count} {SEVERITIES[severity][0].lower()}" for severity, count in counts.items() if count]
    all_counts = [*found, f"{len(report.passed)} passed", f"{len(report.not_checked)} not checked"]
    yield from _wrap(", ".join(all_counts) + ".", room)


def _wrap(text: str, room: int, first: str = "", following: str | None = None) -> list[str]:
    indent = first if following is None else following
    return textwrap.wrap(
        _clean(text), room, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
    ) or [""]


def _style(text: str, room: int, **style: bool) -> Iterator[str]:
    return (click.style(line, **style) for line in _wrap(text, room))


def _dim(text: str, room: int, indent: int) -> str:
    return click.style(" " * indent + _cut(_clean(text), room - indent), dim=True)


def _clean(text: str) -> str:
    """Text from pages must not move the cursor, or turn the direction of what follows."""
    return _CONTROL.sub("", text)


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
