"""Titles, descriptions and headings that several pages share."""

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from gossamer.web.checks.rule import Severity, Theme
from gossamer.web.site_checks.rule import Asking, SiteAnswer, nothing, shared
from gossamer.web.site_checks.site import Site, SitePage

SHOWN: Final = 80  # characters

check = Asking(Theme.TITLES)
check_headings = Asking(Theme.HEADINGS)


@check(
    "titles-shared",
    Severity.MODERATE,
    title="Several pages have the same title",
    passed="Every page has a title of its own",
    why="People cannot tell them apart in search results and tabs, and search engines show one of them.",
    fix="Say in each title what is particular to its page.",
)
def titles_shared(site: Site) -> SiteAnswer:
    return _shared(site, lambda page: page.title, "titles")


@check(
    "descriptions-shared",
    Severity.MINOR,
    title="Several pages have the same description",
    passed="Every description is used once",
    why="A description that fits every page says nothing about any of them.",
    fix="Describe each page by itself, or leave the description out where there is nothing to say.",
)
def descriptions_shared(site: Site) -> SiteAnswer:
    return _shared(site, lambda page: page.description, "descriptions")


@check_headings(
    "headings-shared",
    Severity.MINOR,
    title="Several pages have the same main heading",
    passed="Every page has a main heading of its own",
    why="A reader who comes from a link cannot tell where that is, and neither can a machine.",
    fix="Let the `<h1>` name the page, not the site.",
)
def headings_shared(site: Site) -> SiteAnswer:
    return _shared(site, lambda page: page.heading, "main headings")


def _shared(site: Site, text: Callable[[SitePage], str], what: str) -> SiteAnswer:
    """Of pages that want to be found: whoever gives way to another page may share its words."""
    groups: dict[str, list[str]] = defaultdict(list)
    for page in site.indexable:
        if said := text(page):
            groups[" ".join(said.split()).casefold()].append(page.final_url)
    if not groups:
        return nothing(what)
    return shared(groups, _told)


def _told(text: str, count: int) -> str:
    cut = text if len(text) <= SHOWN else text[:SHOWN].rstrip() + "…"
    return f"“{cut}” on {count:,} pages"


CHECKS: Final = (titles_shared, descriptions_shared, headings_shared)
