"""An audit: every check asked of one page, what came of it, and what it is worth.

The score. Every finding costs its theme points by its severity; a theme has 100 points and never less than 0.
The score of the page is the mean of its themes by their weights, rounded down, and no higher than the worst
finding allows. Checks without an answer cost nothing, and themes of which nothing is known do not count. So
fixing a finding never lowers the score, and 100 means that there is none that costs anything.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gossamer.web.bots import BOTS, Purpose
from gossamer.web.checks import CHECKS
from gossamer.web.checks.agents import tokens
from gossamer.web.checks.rule import Answer, Check, Severity, Theme, Unanswered
from gossamer.web.checks.subject import File, LinkCheck, Sitemap, Subject
from gossamer.web.kind import Kind
from gossamer.web.outcome import Outcome
from gossamer.web.page import Hop

__all__ = [
    "File",
    "Finding",
    "LinkCheck",
    "Report",
    "Severity",
    "Sitemap",
    "Subject",
    "Theme",
    "audit",
    "score",
]

POINTS: Final[Mapping[Severity, int]] = {
    Severity.CRITICAL: 60,
    Severity.SERIOUS: 30,
    Severity.MODERATE: 12,
    Severity.MINOR: 5,
    Severity.INFO: 0,
}
CEILINGS: Final[Mapping[Severity, int]] = {Severity.CRITICAL: 49, Severity.SERIOUS: 79}
THEMES: Final[Mapping[Theme, tuple[str, int]]] = {  # name and weight
    Theme.STATUS: ("Status and redirects", 3),
    Theme.TITLES: ("Title and description", 2),
    Theme.HEADINGS: ("Headings", 1),
    Theme.CONTENT: ("Content", 2),
    Theme.CANONICAL: ("Canonical address", 1),
    Theme.ROBOTS: ("Robots and sitemap", 3),
    Theme.LANGUAGES: ("Languages", 1),
    Theme.LINKS: ("Links", 2),
    Theme.IMAGES: ("Images", 1),
    Theme.STRUCTURED: ("Structured data", 1),
    Theme.SHARING: ("Sharing", 1),
    Theme.DOCUMENT: ("Document", 1),
    Theme.ADDRESS: ("Address", 1),
    Theme.SPEED: ("Speed", 2),
    Theme.SECURITY: ("Security", 2),
    Theme.AGENTS: ("Agent readiness", 3),
}
SEVERITIES: Final = tuple(Severity)  # the worst first
MOST_EVIDENCE: Final = 8
LONGEST_EVIDENCE: Final = 200
SHOWN_MARKDOWN: Final = 2_000  # characters
SHOWN_HEADERS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    id: str
    severity: Severity
    theme: Theme
    title: str
    why: str
    fix: str
    evidence: tuple[str, ...]
    more: int = 0  # pieces of evidence that are not shown


@dataclass(frozen=True, slots=True)
class Passed:
    id: str
    theme: Theme
    title: str


@dataclass(frozen=True, slots=True)
class NotChecked:
    id: str
    theme: Theme
    title: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeScore:
    theme: Theme
    name: str
    score: int | None  # None: nothing is known
    findings: int  # without those that only inform
    passed: int
    not_checked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    url: str  # as it was asked for
    final_url: str
    status: int
    kind: Kind
    media_type: str
    outcome: Outcome
    reason: str
    redirects: tuple[Hop, ...]
    headers: tuple[tuple[str, str], ...]  # values of cookies left out
    connect_ms: int
    first_byte_ms: int
    elapsed_ms: int
    wire_bytes: int
    bytes: int
    words: int
    elements: int
    links: int
    images: int


@dataclass(frozen=True, slots=True)
class BotAccess:
    token: str
    operator: str
    purpose: Purpose
    allowed: bool | None  # None: robots.txt is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView:
    """What an agent gets of the page."""

    markdown: str  # its beginning
    cut: bool
    tokens: int
    html_tokens: int  # what the page would cost as it is
    bots: tuple[BotAccess, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What others show of the page: a search engine, and whoever unfolds a link."""

    url: str
    title: str
    description: str
    site_name: str
    card_title: str
    card_description: str
    card_image: str
    language: str
    published_at: str
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    score: int
    audited_at: float  # Unix seconds
    themes: tuple[ThemeScore, ...]
    findings: tuple[Finding, ...]  # the worst first
    passed: tuple[Passed, ...]
    not_checked: tuple[NotChecked, ...]
    page: PageFacts
    agent: AgentView
    preview: Preview

    @property
    def worst(self) -> Severity | None:
        return self.findings[0].severity if self.findings else None

    def counted(self) -> dict[Severity, int]:
        counts = Counter(finding.severity for finding in self.findings)
        return {severity: counts[severity] for severity in SEVERITIES}


Answers = Iterable[tuple[Check, Answer]]


def audit(subject: Subject, checks: Iterable[Check] = CHECKS) -> Report:
    """Never raises: a check that does has no answer."""
    answers = [(check, _asked(check, subject)) for check in checks]
    points, themes = score(answers)
    findings = [_finding(check, answer) for check, answer in answers if isinstance(answer, list) and answer]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Report(
        score=points,
        audited_at=subject.now,
        themes=themes,
        findings=tuple(findings),
        passed=tuple(Passed(one.id, one.theme, one.passed) for one, answer in answers if answer == []),
        not_checked=tuple(
            NotChecked(one.id, one.theme, one.passed, answer.reason)
            for one, answer in answers
            if isinstance(answer, Unanswered)
        ),
        page=_facts(subject),
        agent=_agent(subject),
        preview=_preview(subject),
    )


def score(answers: Answers) -> tuple[int, tuple[ThemeScore, ...]]:
    """Of the page, and of each theme that was asked about."""
    answers = list(answers)
    themes = tuple(
        _theme(theme, [pair for pair in answers if pair[0].theme is theme])
        for theme in THEMES
        if any(check.theme is theme for check, _ in answers)
    )
    known = [(one.score, THEMES[one.theme][1]) for one in themes if one.score is not None]
    total = sum(points * weight for points, weight in known)
    mean = total // sum(weight for _, weight in known) if known else 0
    found = {check.severity for check, answer in answers if isinstance(answer, list) and answer}
    return min([mean, *(CEILINGS[severity] for severity in found if severity in CEILINGS)]), themes


def _theme(theme: Theme, answers: list[tuple[Check, Answer]]) -> ThemeScore:
    found = [check.severity for check, answer in answers if isinstance(answer, list) and answer]
    known = any(not isinstance(answer, Unanswered) or answer.harmless for _, answer in answers)
    return ThemeScore(
        theme=theme,
        name=THEMES[theme][0],
        score=max(0, 100 - sum(POINTS[severity] for severity in found)) if known else None,
        findings=sum(severity is not Severity.INFO for severity in found),
        passed=sum(answer == [] for _, answer in answers),
        not_checked=sum(isinstance(answer, Unanswered) for _, answer in answers),
    )


def _asked(check: Check, subject: Subject) -> Answer:
    try:
        return check.answer(subject)
    except Exception as error:  # noqa: BLE001  (one faulty check must not take the other answers with it)
        return Unanswered(f"The check failed ({type(error).__name__})", harmless=False)


def _finding(check: Check, answer: list[str]) -> Finding:
    evidence = list(dict.fromkeys(answer))
    return Finding(
        id=check.id,
        severity=check.severity,
        theme=check.theme,
        title=check.title,
        why=check.why,
        fix=check.fix,
        evidence=tuple(short(piece, LONGEST_EVIDENCE) for piece in evidence[:MOST_EVIDENCE]),
        more=max(0, len(evidence) - MOST_EVIDENCE),
    )


def short(text: str, most: int) -> str:
    line = " ".join(text[: most * 2].split())
    return line if len(line) <= most and len(text) <= most * 2 else line[:most].rstrip() + "…"


# What is told of the page itself.


def _facts(subject: Subject) -> PageFacts:
    page, reading = subject.page, subject.reading
    headers = tuple((name, _shown(name, value)) for name, value in page.headers[:SHOWN_HEADERS])
    return PageFacts(
        url=page.url,
        final_url=page.final_url,
        status=page.status,
        kind=reading.kind,
        media_type=page.media_type,
        outcome=reading.judgement.outcome,
        reason=reading.judgement.reason,
        redirects=page.redirects,
        headers=headers,
        connect_ms=page.connect_ms,
        first_byte_ms=page.first_byte_ms,
        elapsed_ms=page.elapsed_ms,
        wire_bytes=page.wire_bytes,
        bytes=len(page.body),
        words=reading.words,
        elements=subject.elements[0],
        links=len(subject.anchors),
        images=len(subject.images),
    )


def _shown(name: str, value: str) -> str:
    if name == "set-cookie":  # its value is a visitor's secret
        cookie, semicolon, flags = value.partition(";")
        value = f"{cookie.partition('=')[0]}=…{semicolon}{flags}"
    return short(value, 400)


def _agent(subject: Subject) -> AgentView:
    markdown, rules = subject.reading.markdown, subject.rules
    return AgentView(
        markdown=_beginning(markdown),
        cut=len(markdown) > SHOWN_MARKDOWN,
        tokens=tokens(markdown),
        html_tokens=tokens(subject.html),
        bots=tuple(
            BotAccess(
                bot.token,
                bot.operator,
                bot.purpose,
                None if rules is None else rules.allowed(bot.token, subject.url),
            )
            for bot in BOTS
        ),
    )


def _beginning(markdown: str) -> str:
    if len(markdown) <= SHOWN_MARKDOWN:
        return markdown
    whole_lines = markdown[:SHOWN_MARKDOWN].rpartition("\n")[0]
    return whole_lines or markdown[:SHOWN_MARKDOWN]


def _preview(subject: Subject) -> Preview:
    metadata = subject.reading.metadata
    title = subject.title or subject.reading.title
    description = subject.meta("description") or (metadata.description or "")
    return Preview(
        url=subject.canonical or subject.url,
        title=short(title, 300),
        description=short(description, 500),
        site_name=short(metadata.site_name or subject.parts.hostname or "", 100),
        card_title=short(subject.meta("og:title") or subject.meta("twitter:title") or title, 300),
        card_description=short(
            subject.meta("og:description") or subject.meta("twitter:description") or description, 500
        ),
        card_image=short(metadata.image or "", 500),
        language=metadata.language or "",
        published_at=metadata.published_at or "",
        author=short(metadata.author or "", 200),
    )
