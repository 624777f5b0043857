"""Compares the sitemaps with what the crawl found, and finds what the site keeps from robots."""

from collections.abc import Callable
from typing import Final

from gossamer.web.audit.check import (
    NO_SITEMAP,
    NOT_ALL_SEEN,
    CheckMaker,
    Hit,
    Severity,
    SiteAnswer,
    Theme,
    site_has_no,
)
from gossamer.web.audit.site.site import Site, SitePage

MUCH: Final = 0.5  # of the pages

check = CheckMaker[Site](Theme.ROBOTS, "site")


@check(
    "sitemap-incomplete",
    Severity.MODERATE,
    title="Pages are missing from the sitemap",
    passed="The sitemap lists every page that was found",
    why="A sitemap is how search engines learn of new and changed pages soon.",
    fix="Generate the sitemap from the same source as the pages.",
)
def sitemap_incomplete(site: Site) -> SiteAnswer:
    if site.listed is None:
        return NO_SITEMAP
    listed = set(site.listed)
    return [
        Hit(site.shorten(page.final_url), (page.final_url,))
        for page in site.indexable
        if page.final_url not in listed
    ]


@check(
    "sitemap-dead",
    Severity.SERIOUS,
    title="The sitemap lists pages that are not there",
    passed="Every listed page is there",
    why="Search engines lose trust in a sitemap that sends them to errors.",
    fix="Take them out of the sitemap, or bring the pages back.",
)
def sitemap_dead(site: Site) -> SiteAnswer:
    return _find_listed(site, lambda page: page.is_broken, lambda page: page.status_text)


@check(
    "sitemap-redirects",
    Severity.MODERATE,
    title="The sitemap lists addresses that redirect",
    passed="No listed address redirects",
    why="A sitemap should name the addresses that are to be shown.",
    fix="List the addresses that the redirects lead to.",
)
def sitemap_redirects(site: Site) -> SiteAnswer:
    return _find_listed(
        site,
        lambda page: page.is_redirected and page.is_good,
        lambda page: f"leads to {site.shorten(page.final_url)}",
    )


@check(
    "sitemap-noindex",
    Severity.MODERATE,
    title="The sitemap lists pages that must not be indexed",
    passed="Every listed page may be indexed",
    why="The sitemap asks for what the page forbids; one of them is wrong.",
    fix="Take the pages out of the sitemap, or remove their `noindex`.",
)
def sitemap_noindex(site: Site) -> SiteAnswer:
    return _find_listed(site, lambda page: page.is_good and page.noindex, lambda _: "noindex")


@check(
    "sitemap-not-canonical",
    Severity.MODERATE,
    title="The sitemap lists pages that name another address as theirs",
    passed="Every listed page stands at its canonical address",
    why="The sitemap and the page give different answers to the same question.",
    fix="List the canonical addresses only.",
)
def sitemap_not_canonical(site: Site) -> SiteAnswer:
    return _find_listed(
        site,
        lambda page: page.is_good and not page.is_redirected and not page.is_canonical,
        lambda page: f"canonical: {site.shorten(page.canonical)}",
    )


@check(
    "sitemap-blocked",
    Severity.SERIOUS,
    title="The sitemap lists pages that robots.txt closes",
    passed="Every listed page may be read by robots",
    why="Search engines are sent to pages that they must not read.",
    fix="Open the pages in robots.txt, or take them out of the sitemap.",
)
def sitemap_blocked(site: Site) -> SiteAnswer:
    return _find_listed(site, lambda page: page.blocked, lambda _: "closed by robots.txt")


@check(
    "sitemap-foreign",
    Severity.MINOR,
    title="The sitemap lists pages of other hosts",
    passed="The sitemap lists pages of its own host only",
    why="Search engines skip entries that the sitemap does not speak for, http instead of https too.",
    fix="List each page with the scheme and host that the site is served from.",
)
def sitemap_foreign(site: Site) -> SiteAnswer:
    if site.listed is None:
        return NO_SITEMAP
    scheme = site.start.partition("://")[0] + "://"
    return [Hit(url) for url in site.listed if not (site.is_inside(url) and url.startswith(scheme))]


@check(
    "sitemap-unseen",
    Severity.INFO,
    title="Pages of the sitemap were not seen",
    passed="Every page of the sitemap was seen",
    why="The crawl ended before it came to them, so nothing is known about them.",
    fix="Allow the audit more pages.",
)
def sitemap_unseen(site: Site) -> SiteAnswer:
    if site.listed is None:
        return NO_SITEMAP
    unseen = [url for url in dict.fromkeys(site.listed) if site.is_inside(url) and url not in site.at]
    return [Hit(f"{len(unseen):,} pages, the first is {site.shorten(unseen[0])}")] if unseen else []


@check(
    "noindex-much",
    Severity.SERIOUS,
    title="Much of the site asks not to be found",
    passed="Most of the site may be found",
    why="A `noindex` meant for one page, or for a copy for testing, easily ends up on all of them.",
    fix="Find out where the `noindex` comes from: a template, a header of the server, a setting of the "
    "system.",
)
def noindex_much(site: Site) -> SiteAnswer:
    if not site.documents:
        return site_has_no("pages")
    hidden = tuple(page.final_url for page in site.documents if page.noindex)
    if len(hidden) <= MUCH * len(site.documents):
        return []
    return [Hit(f"{len(hidden):,} of {len(site.documents):,} pages", hidden)]


@check(
    "noindex-hub",
    Severity.MODERATE,
    title="Pages are linked only by pages that must not be indexed",
    passed="Every page is linked by one that may be indexed",
    why="Search engines stop following the links of pages that stay out of the index.",
    fix="Link to them from pages that are found, or remove the `noindex` from the lists that lead to them.",
)
def noindex_hub(site: Site) -> SiteAnswer:
    if not site.is_complete:
        return NOT_ALL_SEEN
    hidden = {page.final_url for page in site.documents if page.noindex}
    if not hidden:
        return site_has_no("pages that must not be indexed")
    return [
        Hit(site.shorten(page.final_url), (page.final_url,))
        for page in site.indexable
        if (sources := site.linked.get(page.final_url)) and hidden.issuperset(sources)
    ]


def _find_listed(
    site: Site, wrong: Callable[[SitePage], bool], describe: Callable[[SitePage], str]
) -> SiteAnswer:
    if site.listed is None:
        return NO_SITEMAP
    return [
        Hit(f"{site.shorten(url)} ({describe(page)})", (url,))
        for url, page in site.listed_pages()
        if wrong(page)
    ]


CHECKS: Final = (
    sitemap_incomplete,
    sitemap_dead,
    sitemap_redirects,
    sitemap_noindex,
    sitemap_not_canonical,
    sitemap_blocked,
    sitemap_foreign,
    sitemap_unseen,
    noindex_much,
    noindex_hub,
)
