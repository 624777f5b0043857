"""Titles, descriptions and headings that several pages share."""

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from gossamer.web.audit.check import CheckMaker, Severity, SiteAnswer, Theme, site_has_no
from gossamer.web.audit.site.site import Site, SitePage, hits_for_groups

MAX_QUOTED_CHARS: Final = 80

check = CheckMaker[Site](Theme.TITLES, "site")
check_headings = CheckMaker[Site](Theme.HEADINGS, "site")


@check(
    "titles-shared",
    Severity.MODERATE,
    title="Several pages have the same title",
    passed="Every page has a different title",
    why="People cannot tell them apart in search results and tabs, and search engines show one of them.",
    fix="Say in each title what is particular to its page.",
)
def titles_shared(site: Site) -> SiteAnswer:
    return _find_repeated(site, lambda page: page.title, "titles")


@check(
    "descriptions-shared",
    Severity.MINOR,
    title="Several pages have the same description",
    passed="Every description is used once",
    why="A description that fits every page says nothing about any of them.",
    fix="Describe each page by itself, or leave the description out where there is nothing to say.",
)
def descriptions_shared(site: Site) -> SiteAnswer:
    return _find_repeated(site, lambda page: page.description, "descriptions")


@check_headings(
    "headings-shared",
    Severity.MINOR,
    title="Several pages have the same main heading",
    passed="Every page has a different main heading",
    why="Readers and machines that come from a link cannot tell which page they are on.",
    fix="Let the `<h1>` name the page, not the site.",
)
def headings_shared(site: Site) -> SiteAnswer:
    return _find_repeated(site, lambda page: page.heading, "main headings")


def _find_repeated(site: Site, text: Callable[[SitePage], str], what: str) -> SiteAnswer:
    """Only pages that may be indexed count: a page that names another as canonical may share its words."""
    groups: dict[str, list[str]] = defaultdict(list)
    for page in site.indexable:
        if words := text(page):
            groups[" ".join(words.split()).casefold()].append(page.final_url)
    if not groups:
        return site_has_no(what)
    return hits_for_groups(groups, _describe)


def _describe(text: str, count: int) -> str:
    cut = text if len(text) <= MAX_QUOTED_CHARS else text[:MAX_QUOTED_CHARS].rstrip() + "…"
    return f"“{cut}” on {count:,} pages"


CHECKS: Final = (titles_shared, descriptions_shared, headings_shared)
