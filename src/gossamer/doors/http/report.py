"""The report of an audit as a page: complete in itself, so that it can be sent on, printed and kept."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined

from gossamer import __version__
from gossamer.doors import wording
from gossamer.doors.http.audit_shapes import ShownAudit
from gossamer.doors.http.markup import prose
from gossamer.state.jobs import State
from gossamer.web.audit import SEVERITIES, Finding, NotChecked, Passed, Report, Severity, ThemeScore
from gossamer.web.site_audit import SiteFinding

_SHEETS: Final = ("pages.css", "report.css")
_GAUGE: Final = 326.7  # the length of its circle
LOOK_SECONDS: Final = 3  # how often a page that waits for its report looks for it
_PENDING: Final = {
    State.QUEUED: "The audit has not begun yet",
    State.RUNNING: "The audit is under way",
    State.DONE: "The audit is done",
    State.FAILED: "The audit could not be made",
    State.CANCELED: "The audit was canceled",
}
_LONGEST_TITLE: Final = 65
_LONGEST_SNIPPET: Final = 165

F = TypeVar("F", bound=Finding | SiteFinding)


@dataclass(frozen=True, slots=True)
class Rendered:
    body: bytes
    policy: str  # for the `Content-Security-Policy` header; the page says it too

    @property
    def headers(self) -> dict[str, str]:
        return {"Content-Security-Policy": self.policy, "Content-Type": "text/html; charset=utf-8"}


def render(report: Report, *, version: str = __version__) -> Rendered:
    return filled("report.html", report=report, version=version, **_context(report))


def pending(audit: ShownAudit, progress: int) -> Rendered:
    """Instead of a report that is not there yet, or will never be."""
    return filled(
        "audit_pending.html",
        url=audit.url,
        kind=audit.kind,
        status=audit.status.value,
        heading=_PENDING[audit.status],
        progress=progress,
        error=audit.error,
        refresh=0 if audit.status.is_over else LOOK_SECONDS,
    )


def filled(template: str, **context: Any) -> Rendered:
    """A report's page."""
    style = _style()
    policy = _policy(style)
    html = (
        _environment()
        .get_template(template)
        .render(
            style=style,
            # `frame-ancestors` means nothing in a meta element, and browsers complain about it
            policy=policy.partition("; frame-ancestors")[0],
            icon=_icon(),
            **context,
        )
    )
    return Rendered(html.encode("utf-8", "replace"), policy)


def _context(report: Report) -> dict[str, Any]:
    parts = urlsplit(report.page.final_url)
    return {
        "groups": groups(report.findings),
        "counts": counts(report.counted()),
        "host": parts.netloc,
        "path": f"{parts.path}?{parts.query}" if parts.query else parts.path,
        "crumbs": [part for part in parts.path.split("/") if part][:4],
        "moment": wording.moment(report.audited_at),
        "verdict": wording.verdict(report),
        "gauge": gauge(report.score),
        "passed": by_theme(report.themes, report.passed),
        "not_checked": by_theme(report.themes, report.not_checked),
        "purposes": [
            (name, about, [bot for bot in report.agent.bots if bot.purpose is purpose])
            for purpose, (name, about) in wording.PURPOSES.items()
        ],
        "snippet_title": _cut(report.preview.title, _LONGEST_TITLE),
        "snippet": _cut(report.preview.description, _LONGEST_SNIPPET),
        "themes": {one.theme: one.name for one in report.themes},
        "saved": _saved(report),
    }


def groups(findings: Sequence[F]) -> list[tuple[Severity, str, str, list[F]]]:
    """The worst first; severities that have none are left out."""
    found = {severity: [one for one in findings if one.severity is severity] for severity in SEVERITIES}
    return [(severity, *wording.SEVERITIES[severity], group) for severity, group in found.items() if group]


def counts(counted: Mapping[Severity, int]) -> list[tuple[str, Severity, int]]:
    return [(wording.SEVERITIES[severity][0], severity, count) for severity, count in counted.items()]


def gauge(score: int) -> tuple[str, str]:
    """How much of its circle is drawn, and how long that is."""
    return f"{score / 100 * _GAUGE:.1f}", f"{_GAUGE}"


def by_theme(
    themes: Sequence[ThemeScore], checks: Sequence[Passed | NotChecked]
) -> list[tuple[str, list[Passed | NotChecked]]]:
    found = [(one.name, [check for check in checks if check.theme is one.theme]) for one in themes]
    return [group for group in found if group[1]]


def _saved(report: Report) -> int | None:
    """How much of the page an agent need not read, in percent."""
    if report.agent.html_tokens <= report.agent.tokens or not report.agent.tokens:
        return None
    return round(100 * (1 - report.agent.tokens / report.agent.html_tokens))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0].rstrip(' ,.;:')} …"


# What is the same in every report.


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
    return "".join(_packaged(name) for name in _SHEETS)


@lru_cache(maxsize=1)
def _policy(style: str) -> str:
    """Nothing is loaded, nothing runs, and no style counts but this one."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


@lru_cache(maxsize=1)
def _icon() -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(_packaged('favicon.svg').encode()).decode()}"


def _packaged(name: str) -> str:
    return resources.files("gossamer.doors.http").joinpath("templates", name).read_text("utf-8")
