"""What robots see of a site: for each of its templates, pages as they are sent beside the rendered ones."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final, NamedTuple

from msgspec import Meta, Struct

from gossamer.problems import Problem
from gossamer.web.crawl.traps.url_pattern import pattern_of
from gossamer.web.sites.page_facts import PageSight, SeenVerdict
from gossamer.web.sites.site_words import VisitOutcome
from gossamer.web.url.url import Url

MAX_TEMPLATES: Final = 20
MAX_PAGES_EACH: Final = 5
MAX_KEPT: Final = 20  # comparisons of a site
_WORST_FIRST: Final = (SeenVerdict.SHELL, SeenVerdict.PARTLY, SeenVerdict.SAME)


class ComparisonRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How much to compare."""

    pages: Annotated[
        int, Meta(ge=1, le=MAX_PAGES_EACH, description="Pages of each template; each takes a render.")
    ] = 2
    templates: Annotated[
        int, Meta(ge=1, le=MAX_TEMPLATES, description="Templates, those that robots ask for most first.")
    ] = MAX_TEMPLATES


class ComparedPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """One page, with and without its scripts."""

    url: str
    verdict: SeenVerdict
    sight: Annotated[PageSight | None, Meta(description="`null`: it could not be compared.")] = None
    reason: Annotated[str, Meta(description="Why it could not be compared.")] = ""


class ComparedTemplate(Struct, frozen=True, kw_only=True, rename="camel"):
    """Pages that are made in the same way, as far as their addresses tell."""

    pattern: Annotated[str, Meta(examples=["/products/{word}"])]
    known: Annotated[int, Meta(description="Pages of the site that are known to be of this kind.")]
    visits: Annotated[int, Meta(description="Visits of robots to these pages, by all doors.")]
    misses: Annotated[int, Meta(description="Visits of robots that got no rendered page.")]
    verdict: Annotated[SeenVerdict, Meta(description="The worst of its pages.")]
    pages: list[ComparedPage]


class ComparisonLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """One comparison in the history of a site."""

    comparison_id: str
    made_at: str
    templates: dict[SeenVerdict, int]


class SiteComparison(Struct, frozen=True, kw_only=True, rename="camel"):
    """What robots see of a site."""

    templates: list[ComparedTemplate]
    robots: Annotated[
        dict[VisitOutcome, int],
        Meta(description="What robots got in the last 30 days, prerender door and middleware included."),
    ] = {}
    limited: Annotated[int, Meta(description="Pages left out because your daily renders are used up.")] = 0

    def count(self) -> dict[SeenVerdict, int]:
        counts: dict[SeenVerdict, int] = {}
        for template in self.templates:
            counts[template.verdict] = counts.get(template.verdict, 0) + 1
        return counts


class ComparisonAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The comparison that was asked for, and those that are kept."""

    site_id: str
    comparison_id: str | None
    made_at: str | None
    comparison: Annotated[SiteComparison | None, Meta(description="`null`: there is none yet.")]
    history: Annotated[list[ComparisonLine], Meta(description="The newest first.")]


class SiteTemplate(NamedTuple):
    """A group of pages to choose from."""

    pattern: str
    urls: list[str]  # those that robots ask for most first
    visits: int
    misses: int


class AskedCounts(NamedTuple):
    visits: int
    misses: int


_NOT_ASKED: Final = AskedCounts(0, 0)


def group(urls: Iterable[str], asked: Mapping[str, AskedCounts], most: int) -> list[SiteTemplate]:
    """The templates of a site, those that robots ask for most first; then the largest."""
    groups: dict[str, dict[str, AskedCounts]] = {}
    for text in urls:
        try:
            pattern = pattern_of(Url.parse(text)).text
        except Problem:
            continue
        groups.setdefault(pattern, {})[text] = asked.get(text, _NOT_ASKED)
    templates = [
        SiteTemplate(
            pattern,
            sorted(pages, key=lambda url: (-pages[url].visits, url)),
            sum(counts.visits for counts in pages.values()),
            sum(counts.misses for counts in pages.values()),
        )
        for pattern, pages in groups.items()
    ]
    templates.sort(key=lambda template: (-template.visits, -len(template.urls), template.pattern))
    return templates[:most]


def worst(pages: Iterable[ComparedPage]) -> SeenVerdict:
    found = {page.verdict for page in pages}
    return next((verdict for verdict in _WORST_FIRST if verdict in found), SeenVerdict.UNKNOWN)
