"""The report of a site's audit on the terminal."""

from collections.abc import Iterator
from typing import Final

import click

from gossamer.doors.cli.report import (
    COLOURS,
    NARROWEST,
    TONES,
    WIDEST,
    clean,
    cut,
    end,
    rest,
    styled,
    theme_rows,
    wrapped,
)
from gossamer.doors.wording import SEVERITIES, band, moment, site_verdict
from gossamer.web.audit import Severity
from gossamer.web.site_audit import Place, SiteFinding, SiteReport
from gossamer.web.site_comparison import Comparison

MOST_PLACES: Final = 5  # of a finding that are told
MOST_URLS: Final = 3  # of a place
MOST_CHANGES: Final = 12


def render(
    report: SiteReport, comparison: Comparison | None = None, *, width: int = 80, full: bool = False
) -> str:
    """`full` also tells what passed and what was not checked."""
    room = max(NARROWEST, min(width, WIDEST))
    lines = [*_head(report, room), "", *theme_rows(report.themes, room), ""]
    if comparison is not None:
        lines += [*_changes(comparison, room), ""]
    for severity in Severity:
        found = [one for one in report.findings if one.severity is severity]
        if found:
            lines += [*_group(severity, found, room), ""]
    if full:
        lines += [*rest(report, room), ""]
    return "\n".join([*lines, *end(report, room)]) + "\n"


def _head(report: SiteReport, room: int) -> Iterator[str]:
    site = report.site
    yield from styled(f"The site at {site.start}", room, bold=True)
    statuses = ", ".join(f"{count:,} {name}" for name, count in site.statuses)
    seen = f"{site.pages:,} pages, {site.indexable:,} may be found; answers: {statuses}"
    yield from styled(f"{seen}; {moment(report.audited_at)}", room, dim=True)
    if not site.is_complete:
        yield from styled("There is more than was looked at: --max-pages allows it.", room, dim=True)
    yield ""
    yield click.style(f"{report.score} of 100", fg=COLOURS[band(report.score)], bold=True)
    yield from wrapped(site_verdict(report), room)


def _changes(comparison: Comparison, room: int) -> Iterator[str]:
    yield click.style("Since the audit before", bold=True)
    told = f"{comparison.fixed:,} fixed, {comparison.new:,} new, {comparison.remaining:,} remaining"
    unseen = f", {comparison.unseen:,} not looked at again" if comparison.unseen else ""
    before = f"{comparison.before_score} of 100 at {moment(comparison.before_at)}"
    yield from wrapped(f"{told}{unseen}; it was {before}.", room, "  ")
    for change in comparison.moved[:MOST_CHANGES]:
        mark = click.style("+" if change.new else "✓", fg="red" if change.new else "green")
        yield f"  {mark} " + cut(f"{change.title}: {change.fixed:,} fixed, {change.new:,} new", room - 4)


def _group(severity: Severity, findings: list[SiteFinding], room: int) -> Iterator[str]:
    name, about = SEVERITIES[severity]
    tone = TONES[severity]
    told = cut(f"{len(findings)}, {about}", room - len(name) - 2)
    yield f"{click.style(name, fg=tone, bold=True)}  {click.style(told, dim=True)}"
    for finding in findings:
        yield from _finding(finding, tone, room)


def _finding(finding: SiteFinding, tone: str, room: int) -> Iterator[str]:
    spread = f"{finding.pages:,} {'page' if finding.pages == 1 else 'pages'}" if finding.pages else "the site"
    first, *others = wrapped(finding.title, room - 2)
    yield f"{click.style('●', fg=tone)} {click.style(first, bold=True)}"
    yield from (f"  {click.style(line, bold=True)}" for line in others)
    yield click.style(f"  {cut(f'({finding.id}) {spread}', room - 2)}", dim=True)
    yield from wrapped(finding.why, room, "  ")
    yield from wrapped(f"Fix: {finding.fix}", room, "  ", "       ")
    for place in finding.places[:MOST_PLACES]:
        yield from _place(place, room)
    if more := len(finding.places[MOST_PLACES:]) + finding.more:
        yield click.style(f"    and {more:,} more", dim=True)


def _place(place: Place, room: int) -> Iterator[str]:
    yield click.style("    " + cut(clean(place.evidence), room - 4), dim=True)
    if len(place.urls) == 1 and place.urls[0].endswith(place.evidence):
        return
    for url in place.urls[:MOST_URLS]:
        yield click.style("      " + cut(clean(url), room - 6), dim=True)
    if more := len(place.urls[MOST_URLS:]) + place.more:
        yield click.style(f"      and {more:,} more pages", dim=True)
