"""The nouns of an audit: what is asked for, what was found, and the report that is stored and shown."""

from collections import Counter
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from gossamer.web.audit.check import SEVERITIES, Scope, Severity, Theme
from gossamer.web.documents.kind import ContentKind
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page import Hop
from gossamer.web.robots.bots import Purpose

MAX_LINKS: Final = 100
MAX_PAGES: Final = 5_000


class AuditOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How thorough to be."""

    max_links: Annotated[
        int, Meta(ge=0, le=MAX_LINKS, description="Links of the page that are tried; 0 for none.")
    ] = 20
    timeout: Annotated[int, Meta(ge=1_000, le=60_000, description="Milliseconds for the page itself.")] = (
        30_000
    )
    max_pages: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_PAGES,
            description="With more than one, the site is crawled from here, up to this many pages, and "
            "audited as a whole.",
        ),
    ] = 1
    crawl_id: Annotated[
        Annotated[str, Meta(max_length=26)] | None,
        Meta(
            description="A crawl that is over: its stored pages are audited, and nothing is fetched. What it "
            "has not stored is not checked.",
        ),
    ] = None

    @property
    def scope(self) -> Scope:
        return "site" if self.max_pages > 1 else "page"


class ThemeScore(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One side of the page, or of the site."""

    theme: Theme
    name: str
    score: Annotated[int | None, Meta(description="Null if nothing is known.")]
    findings: Annotated[int, Meta(description="Without those that only inform.")]
    passed: int
    not_checked: int


class FindingPlace(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that is wrong on a site, and where."""

    evidence: str
    urls: Annotated[
        tuple[str, ...], Meta(description="Pages that have it; none if it concerns the whole site.")
    ]
    more: Annotated[int, Meta(description="Pages that are not named.")]


class Finding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that should be fixed."""

    id: str
    severity: Severity
    theme: Theme
    title: str
    why: str
    fix: str
    evidence: tuple[str, ...]
    more: Annotated[int, Meta(description="Pieces of evidence that are not shown.")]
    scope: Annotated[
        Scope, Meta(description="Whether the check looks at each page alone, or at all pages together.")
    ] = "page"
    pages: Annotated[int, Meta(description="Pages of the site that have it.")] = 0
    places: Annotated[tuple[FindingPlace, ...], Meta(description="Where it is on a site.")] = ()


class Passed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A check that found nothing wrong."""

    id: str
    theme: Theme
    title: Annotated[str, Meta(description="What is right.")]


class NotChecked(Passed, frozen=True, kw_only=True, rename="camel"):
    """A check that could not be answered."""

    reason: str


class PageFacts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the server answered, and what is on the page."""

    url: Annotated[str, Meta(description="As it was asked for.")]
    final_url: Annotated[str, Meta(description="After redirects.")]
    status: int
    kind: ContentKind
    media_type: str
    outcome: Outcome
    reason: str
    redirects: tuple[Hop, ...]
    headers: Annotated[tuple[tuple[str, str], ...], Meta(description="Without the values of cookies.")]
    connect_ms: int
    first_byte_ms: int
    elapsed_ms: int
    wire_bytes: Annotated[int, Meta(description="As they were sent, most often compressed.")]
    bytes: int
    words: int
    elements: int
    links: int
    images: int


class BotAccess(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether robots.txt lets one robot read the page."""

    token: str
    operator: str
    purpose: Purpose
    allowed: Annotated[bool | None, Meta(description="Null if robots.txt is not known.")]


class AgentView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an agent gets from the page."""

    markdown: Annotated[str, Meta(description="The beginning of the page as markdown.")]
    cut: Annotated[bool, Meta(description="Whether there is more markdown than this.")]
    tokens: Annotated[int, Meta(description="Estimated tokens of the whole markdown.")]
    html_tokens: Annotated[int, Meta(description="Estimated tokens of the page as HTML.")]
    bots: tuple[BotAccess, ...]


class Preview(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What search engines and applications that unfold links show of the page."""

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


class PageLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One address of a site."""

    url: str
    status: int | None = None
    problem: str = ""
    final_url: str
    title: str = ""
    clicks: Annotated[int | None, Meta(description="Links from the start; null if no link leads there.")] = (
        None
    )
    words: int | None = None
    score: Annotated[int | None, Meta(description="Null if the page was not checked by itself.")] = None
    findings: Annotated[tuple[str, ...], Meta(description="The ids of its findings.")] = ()


class SiteFacts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the crawl saw of a site."""

    start: str
    addresses: Annotated[int, Meta(description="Addresses that were asked for.")]
    pages: Annotated[int, Meta(description="Pages of the site that can be read.")]
    indexable: int
    checked: Annotated[int, Meta(description="Pages that were also checked by themselves.")]
    statuses: Annotated[
        tuple[tuple[str, int], ...], Meta(description="`2xx`, `3xx` and so on, each with its count.")
    ]
    listed: Annotated[int | None, Meta(description="Addresses in sitemaps; null if there is no sitemap.")]
    is_complete: bool


class AuditReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an audit found: of one page (`page`, `agent`, `preview`) or of a site (`site`, `pages`)."""

    score: Annotated[int, Meta(description="0 to 100.")]
    audited_at: Annotated[float, Meta(description="Unix time in seconds.")]
    themes: tuple[ThemeScore, ...]
    findings: Annotated[tuple[Finding, ...], Meta(description="The worst first, then the most widespread.")]
    passed: tuple[Passed, ...]
    not_checked: tuple[NotChecked, ...]
    page: PageFacts | None = None
    agent: AgentView | None = None
    preview: Preview | None = None
    site: SiteFacts | None = None
    pages: Annotated[tuple[PageLine, ...], Meta(description="Every address of a site.")] = ()
    whole: Annotated[
        tuple[str, ...], Meta(description="The ids of findings that concern the whole site.")
    ] = ()
    crawl_id: Annotated[str | None, Meta(description="The crawl that fetched the pages of a site.")] = None

    @property
    def scope(self) -> Scope:
        return "page" if self.site is None else "site"

    @property
    def worst(self) -> Severity | None:
        return self.findings[0].severity if self.findings else None

    def count_by_severity(self) -> dict[Severity, int]:
        counts = Counter(finding.severity for finding in self.findings)
        return {severity: counts[severity] for severity in SEVERITIES}
