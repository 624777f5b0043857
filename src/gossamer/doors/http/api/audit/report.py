"""The report of an audit as a page: complete in itself, so that it can be sent on, printed and kept."""

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, Final
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined

from gossamer import __version__
from gossamer.doors import wording
from gossamer.doors.http.docs.markup import prose
from gossamer.web.audit.audit_answer import AuditAnswer
from gossamer.web.audit.check import SEVERITIES
from gossamer.web.audit.comparison import Comparison
from gossamer.web.audit.report import AgentView, AuditReport, PageFacts, PageLine, Passed, Preview, SiteFacts
from gossamer.web.outcome.job_state import JobState

RELOAD_SECONDS: Final = 3  # how often the page of an unfinished audit reloads itself
MAX_LINES: Final = 500  # addresses in the table; the JSON has them all
MAX_CRUMBS: Final = 4
MAX_SNIPPET_TITLE_CHARS: Final = 65
MAX_SNIPPET_CHARS: Final = 165
_SHEETS: Final = ("pages.css", "report.css")
_GAUGE: Final = 326.7  # the length of its circle
_PENDING: Final = {
    JobState.QUEUED: "The audit has not begun yet",
    JobState.RUNNING: "The audit is under way",
    JobState.DONE: "The audit is done",
    JobState.FAILED: "The audit could not be made",
    JobState.CANCELED: "The audit was canceled",
}


def render(report: AuditReport, comparison: Comparison | None = None, *, version: str = __version__) -> bytes:
    context = _common_context(report)
    if report.site is not None:
        context |= _site_context(report.site, report.pages, comparison)
    elif report.page is not None and report.preview is not None and report.agent is not None:
        context |= _page_context(report.page, report.preview, report.agent)
    return _fill("report.html", report=report, comparison=comparison, version=version, **context)


def render_pending(audit: AuditAnswer, progress: int) -> bytes:
    """Stands in for a report that is not there yet, or never will be."""
    return _fill(
        "report_pending.html",
        url=audit.url,
        kind=audit.kind,
        status=audit.status.value,
        heading=_PENDING[audit.status],
        progress=progress,
        error=audit.error,
        refresh=0 if audit.status.is_over else RELOAD_SECONDS,
    )


def headers() -> dict[str, str]:
    return {"Content-Security-Policy": policy(), "Content-Type": "text/html; charset=utf-8"}


@lru_cache(maxsize=1)
def policy() -> str:
    """The Content-Security-Policy: nothing is loaded, nothing runs, and only our own style applies."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


def _common_context(report: AuditReport) -> dict[str, Any]:
    groups = {
        severity: [one for one in report.findings if one.severity is severity] for severity in SEVERITIES
    }
    counts = report.count_by_severity()
    return {
        "groups": [
            (severity, *wording.SEVERITIES[severity], group) for severity, group in groups.items() if group
        ],
        "counts": [(wording.SEVERITIES[severity][0], severity, count) for severity, count in counts.items()],
        "moment": wording.moment(report.audited_at),
        "verdict": wording.verdict(report),
        "gauge": (f"{report.score / 100 * _GAUGE:.1f}", f"{_GAUGE}"),  # the drawn part, and all of it
        "passed": _by_theme(report, report.passed),
        "not_checked": _by_theme(report, report.not_checked),
        "themes": {one.theme: one.name for one in report.themes},
    }


def _page_context(page: PageFacts, preview: Preview, agent: AgentView) -> dict[str, Any]:
    parts = urlsplit(page.final_url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return {
        "subject": f"{parts.netloc}{path}",
        "eyebrow": parts.netloc,
        "name": preview.title or path,
        "where": page.final_url,
        "host": parts.netloc,
        "crumbs": [part for part in parts.path.split("/") if part][:MAX_CRUMBS],
        "purposes": [
            (name, about, [bot for bot in agent.bots if bot.purpose is purpose])
            for purpose, (name, about) in wording.PURPOSES.items()
        ],
        "snippet_title": _cut(preview.title, MAX_SNIPPET_TITLE_CHARS),
        "snippet": _cut(preview.description, MAX_SNIPPET_CHARS),
        "saved": _saved_percent(agent),
    }


def _site_context(
    site: SiteFacts, pages: Sequence[PageLine], comparison: Comparison | None
) -> dict[str, Any]:
    host = urlsplit(site.start).netloc
    lines = sorted(pages, key=_urgency)
    return {
        "subject": f"the site {host}",
        "eyebrow": f"{site.pages:,} pages",
        "name": host,
        "where": site.start,
        "before": None if comparison is None else wording.moment(comparison.before_at),
        "moved": [] if comparison is None else comparison.moved,
        "lines": lines[:MAX_LINES],
        "left": max(0, len(lines) - MAX_LINES),
    }


def _urgency(line: PageLine) -> tuple[int, int, str]:
    """Pages with the lowest score first, then the most findings; addresses without a page come last."""
    return (101 if line.score is None else line.score, -len(line.findings), line.url)


def _by_theme(report: AuditReport, checks: Sequence[Passed]) -> list[tuple[str, list[Passed]]]:
    found = [(one.name, [check for check in checks if check.theme is one.theme]) for one in report.themes]
    return [group for group in found if group[1]]


def _saved_percent(agent: AgentView) -> int | None:
    """How much of the page an agent need not read."""
    if agent.html_tokens <= agent.tokens or not agent.tokens:
        return None
    return round(100 * (1 - agent.tokens / agent.html_tokens))


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[:max_chars].rsplit(' ', 1)[0].rstrip(' ,.;:')} …"


# Common to all reports.


def _fill(template: str, **context: Any) -> bytes:
    # `frame-ancestors` means nothing in a meta element, and browsers complain about it.
    allowed = policy().partition("; frame-ancestors")[0]
    page = _environment().get_template(template)
    return page.render(style=_style(), policy=allowed, icon=_icon(), **context).encode("utf-8", "replace")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gossamer.doors.http"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(prose=prose, band=wording.band, size=wording.size)
    return environment


@lru_cache(maxsize=1)
def _style() -> str:
    return "".join(_read_template(name) for name in _SHEETS)


@lru_cache(maxsize=1)
def _icon() -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(_read_template('favicon.svg').encode()).decode()}"


def _read_template(name: str) -> str:
    return resources.files("gossamer.doors.http").joinpath("templates", name).read_text("utf-8")
