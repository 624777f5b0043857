"""An audit: every check asked of a page or of a site, what they found, and the score.

A page is audited like a site of one page. The audits of a site's single pages are merged by PageFindings.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from gossamer.web.audit.check import (
    NOT_HTML,
    NOTHING_READ,
    SEVERITIES,
    Check,
    Hit,
    PageAnswer,
    SiteAnswer,
    Unanswered,
)
from gossamer.web.audit.checks import EACH_PAGE_CHECKS, PAGE_CHECKS, SITE_CHECKS
from gossamer.web.audit.page.subject import Subject
from gossamer.web.audit.report import (
    AgentView,
    AuditReport,
    BotAccess,
    Finding,
    FindingPlace,
    NotChecked,
    PageFacts,
    PageLine,
    Passed,
    Preview,
    SiteFacts,
)
from gossamer.web.audit.score import CheckResult, score
from gossamer.web.audit.site.site import Site, SitePage
from gossamer.web.content import tokens
from gossamer.web.robots.bots import BOTS

MAX_EVIDENCE: Final = 8  # pieces of one finding of a page
MAX_EVIDENCE_CHARS: Final = 200
MAX_PLACES: Final = 20  # of one finding of a site
MAX_PLACE_URLS: Final = 10
MAX_MARKDOWN_CHARS: Final = 2_000
MAX_HEADERS: Final = 60
MAX_HEADER_CHARS: Final = 400

S = TypeVar("S")


def audit_page(subject: Subject, checks: Iterable[Check[Subject]] = PAGE_CHECKS) -> AuditReport:
    """Never raises: a check that fails has no answer."""
    results = [CheckResult.of(check, _ask_page(check, subject)) for check in checks]
    return AuditReport(
        **_summarise(results, [_page_finding(one) for one in _worst_first(results, 1)], pages=1),
        audited_at=subject.now,
        page=_page_facts(subject),
        agent=_agent_view(subject),
        preview=_preview(subject),
    )


def audit_site(
    site: Site,
    each_page: "PageFindings",
    *,
    now: float,
    crawl_id: str = "",
    page_checks: Iterable[Check[Subject]] = EACH_PAGE_CHECKS,
    site_checks: Iterable[Check[Site]] = SITE_CHECKS,
) -> AuditReport:
    """Never raises: a check that fails has no answer."""
    results = [each_page.result(check) for check in page_checks]
    results += [CheckResult.of(check, _ask_site(check, site)) for check in site_checks]
    pages = len(site.documents)
    found = _worst_first(results, pages)
    return AuditReport(
        **_summarise(results, [_site_finding(one) for one in found], pages=pages),
        audited_at=now,
        site=_site_facts(site, each_page),
        pages=tuple(_page_lines(site, each_page, found)),
        whole=tuple(one.check.id for one in found if one.is_whole),
        crawl_id=crawl_id,
    )


class PageFindings:
    """Merges the audits of single pages as they come; what pages have in common is kept once."""

    def __init__(self) -> None:
        self.scores: dict[str, int] = {}
        self._hits: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        self._passed: set[str] = set()
        self._unanswered: dict[str, Unanswered] = {}

    def add(self, url: str, report: AuditReport) -> None:
        self.scores[url] = report.score
        for finding in report.findings:
            self._hits[finding.id]["; ".join(finding.evidence[:3])].append(url)
        self._passed.update(one.id for one in report.passed)
        for one in report.not_checked:
            self._unanswered.setdefault(one.id, Unanswered(one.reason, harmless=False))

    def result(self, check: Check[Subject]) -> CheckResult:
        groups = self._hits.get(check.id, {})
        hits = [Hit(shorten(text, MAX_EVIDENCE_CHARS), tuple(urls)) for text, urls in groups.items()]
        hits.sort(key=lambda hit: -len(hit.urls))
        if hits or check.id in self._passed:
            return CheckResult(check, tuple(hits))
        missing = Unanswered("No page was checked by itself", harmless=False)
        return CheckResult(check, (), self._unanswered.get(check.id, missing))


def _ask_page(check: Check[Subject], subject: Subject) -> PageAnswer | SiteAnswer:
    return NOT_HTML if check.html and not subject.is_html else _ask(check, subject)


def _ask_site(check: Check[Site], site: Site) -> PageAnswer | SiteAnswer:
    answer = _ask(check, site)
    is_fine = isinstance(answer, Unanswered) or not answer
    return NOTHING_READ if is_fine and not site.documents else answer  # pages that were not read are not fine


def _ask(check: Check[S], target: S) -> PageAnswer | SiteAnswer:
    try:
        return check.ask(target)
    except Exception as error:  # noqa: BLE001  (one faulty check must not take the other answers with it)
        return Unanswered(f"The check failed ({type(error).__name__})", harmless=False)


def _worst_first(results: Iterable[CheckResult], pages: int) -> list[CheckResult]:
    """The results with findings; of the same severity, the most widespread first."""
    found = [one for one in results if one.hits]
    return sorted(found, key=lambda one: (SEVERITIES.index(one.check.severity), -one.share(pages)))


def _summarise(results: Sequence[CheckResult], findings: Sequence[Finding], *, pages: int) -> dict[str, Any]:
    """The parts that the reports of pages and sites have in common."""
    points, themes = score(results, pages)
    return {
        "score": points,
        "themes": themes,
        "findings": tuple(findings),
        "passed": tuple(
            Passed(id=one.check.id, theme=one.check.theme, title=one.check.passed)
            for one in results
            if one.has_passed
        ),
        "not_checked": tuple(
            NotChecked(
                id=one.check.id, theme=one.check.theme, title=one.check.passed, reason=one.unanswered.reason
            )
            for one in results
            if one.unanswered is not None
        ),
    }


def _page_finding(result: CheckResult) -> Finding:
    evidence = list(dict.fromkeys(hit.text for hit in result.hits))
    return _finding(
        result.check,
        evidence=tuple(shorten(piece, MAX_EVIDENCE_CHARS) for piece in evidence[:MAX_EVIDENCE]),
        more=max(0, len(evidence) - MAX_EVIDENCE),
    )


def _site_finding(result: CheckResult) -> Finding:
    places = tuple(map(_place, result.hits[:MAX_PLACES]))
    return _finding(
        result.check,
        evidence=tuple(place.evidence for place in places),
        more=max(0, len(result.hits) - MAX_PLACES),
        pages=len(result.urls),
        places=places,
    )


def _place(hit: Hit) -> FindingPlace:
    return FindingPlace(
        evidence=shorten(hit.text, MAX_EVIDENCE_CHARS),
        urls=hit.urls[:MAX_PLACE_URLS],
        more=max(0, len(hit.urls) - MAX_PLACE_URLS),
    )


def _finding(check: Check[Any], **found: Any) -> Finding:
    return Finding(
        id=check.id,
        severity=check.severity,
        theme=check.theme,
        title=check.title,
        why=check.why,
        fix=check.fix,
        scope=check.scope,
        **found,
    )


def shorten(text: str, max_chars: int) -> str:
    """The text as one line, cut if it is too long."""
    line = " ".join(text[: max_chars * 2].split())
    if len(line) <= max_chars and len(text) <= max_chars * 2:
        return line
    return line[:max_chars].rstrip() + "…"


# Facts about a single page.


def _page_facts(subject: Subject) -> PageFacts:
    page, reading = subject.page, subject.reading
    return PageFacts(
        url=page.url,
        final_url=page.final_url,
        status=page.status,
        kind=reading.kind,
        media_type=page.media_type,
        outcome=reading.judgement.outcome,
        reason=reading.judgement.reason,
        redirects=page.redirects,
        headers=tuple((name, _header_value(name, value)) for name, value in page.headers[:MAX_HEADERS]),
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


def _header_value(name: str, value: str) -> str:
    if name == "set-cookie":  # its value is a visitor's secret
        cookie, semicolon, flags = value.partition(";")
        value = f"{cookie.partition('=')[0]}=…{semicolon}{flags}"
    return shorten(value, MAX_HEADER_CHARS)


def _agent_view(subject: Subject) -> AgentView:
    markdown, rules = subject.reading.markdown, subject.rules
    return AgentView(
        markdown=_beginning(markdown),
        cut=len(markdown) > MAX_MARKDOWN_CHARS,
        tokens=tokens.count(markdown),
        html_tokens=tokens.estimate(subject.html),
        bots=tuple(
            BotAccess(
                token=bot.token,
                operator=bot.operator,
                purpose=bot.purpose,
                allowed=None if rules is None else rules.is_allowed(bot.token, subject.url),
            )
            for bot in BOTS
        ),
    )


def _beginning(markdown: str) -> str:
    if len(markdown) <= MAX_MARKDOWN_CHARS:
        return markdown
    whole_lines = markdown[:MAX_MARKDOWN_CHARS].rpartition("\n")[0]
    return whole_lines or markdown[:MAX_MARKDOWN_CHARS]


def _preview(subject: Subject) -> Preview:
    metadata = subject.reading.metadata
    title = subject.title or subject.reading.title
    description = subject.meta("description") or (metadata.description or "")
    card_title = subject.meta("og:title") or subject.meta("twitter:title") or title
    card_description = subject.meta("og:description") or subject.meta("twitter:description") or description
    return Preview(
        url=subject.canonical or subject.url,
        title=shorten(title, 300),
        description=shorten(description, 500),
        site_name=shorten(metadata.site_name or subject.parts.hostname or "", 100),
        card_title=shorten(card_title, 300),
        card_description=shorten(card_description, 500),
        card_image=shorten(metadata.image or "", 500),
        language=metadata.language or "",
        published_at=metadata.published_at or "",
        author=shorten(metadata.author or "", 200),
    )


# Facts about a site.


def _site_facts(site: Site, each_page: PageFindings) -> SiteFacts:
    statuses = Counter(map(_status_class, site.pages))
    return SiteFacts(
        start=site.start,
        addresses=len(site.pages),
        pages=len(site.documents),
        indexable=len(site.indexable),
        checked=len(each_page.scores),
        statuses=tuple(sorted(statuses.items())),
        listed=None if site.listed is None else len(set(site.listed)),
        is_complete=site.is_complete,
    )


def _status_class(page: SitePage) -> str:
    if page.blocked:
        return "closed"
    if page.status is None:
        return "no answer"
    return "3xx" if page.is_redirected and page.is_good else f"{page.status // 100}xx"


def _page_lines(site: Site, each_page: PageFindings, found: Iterable[CheckResult]) -> Iterator[PageLine]:
    """Every address that was asked for, and every other address that has a finding."""
    ids: dict[str, list[str]] = defaultdict(list)
    for result in found:
        for url in result.urls:
            ids[url].append(result.check.id)
    for page in site.pages:
        yield PageLine(
            url=page.url,
            status=page.status,
            problem=page.problem,
            final_url=page.final_url,
            title=shorten(page.title, MAX_EVIDENCE_CHARS),
            clicks=site.clicks.get(page.final_url) if page.is_good else None,
            words=page.words,
            score=each_page.scores.get(page.url),
            findings=tuple(ids.get(page.url, ())),
        )
    for url in ids.keys() - {page.url for page in site.pages}:
        yield PageLine(url=url, final_url=url, score=each_page.scores.get(url), findings=tuple(ids[url]))
