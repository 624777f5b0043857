"""How the pages of a site are linked with each other."""

from collections.abc import Callable
from typing import Final

from gossamer.web.checks.rule import Severity, Theme
from gossamer.web.site_checks.rule import NOT_ALL_SEEN, Asking, Hit, SiteAnswer, nothing
from gossamer.web.site_checks.site import Site, SitePage

DEEP: Final = 4  # clicks from the start

check = Asking(Theme.LINKS)


@check(
    "site-links-broken",
    Severity.SERIOUS,
    title="Links within the site are broken",
    passed="No link within the site is broken",
    why="Readers and robots end at an error, and what lies behind is not found.",
    fix="Correct the addresses, redirect those that have moved, or remove the links.",
)
def site_links_broken(site: Site) -> SiteAnswer:
    return _targets(site, lambda page: page.is_broken, lambda page: f"{site.shown(page.url)} ({page.said})")


@check(
    "site-links-broken-outside",
    Severity.MODERATE,
    title="Links to other sites are broken",
    passed="No checked link to another site is broken",
    why="Dead references make a site look abandoned.",
    fix="Link to what is there now, or to an archived copy.",
)
def site_links_broken_outside(site: Site) -> SiteAnswer:
    if not site.outside:
        return nothing("links to other sites that were tried")
    return [
        Hit(f"{url} ({wrong})", tuple(site.links_to.get(url, ())))
        for url, wrong in site.outside.items()
        if wrong
    ]


@check(
    "site-links-redirected",
    Severity.MINOR,
    title="Links within the site lead to redirects",
    passed="Links within the site lead straight to their pages",
    why="Every click and every robot takes a detour that the site itself could spare them.",
    fix="Link to the address that the redirect leads to.",
)
def site_links_redirected(site: Site) -> SiteAnswer:
    return _targets(
        site,
        lambda page: page.is_redirected and page.is_good,
        lambda page: f"{site.shown(page.url)} leads to {site.shown(page.final_url)}",
    )


@check(
    "site-links-blocked",
    Severity.INFO,
    title="Links lead to pages that robots.txt closes",
    passed="No link leads to a page that robots.txt closes",
    why="That is fine for carts and searches. What should be found must be open.",
    fix="Look whether one of these pages should be found.",
)
def site_links_blocked(site: Site) -> SiteAnswer:
    return _targets(site, lambda page: page.blocked, lambda page: site.shown(page.url))


@check(
    "pages-orphaned",
    Severity.MODERATE,
    title="Pages are linked by no other page",
    passed="Every page is linked by another",
    why="They are found by the sitemap alone, if at all, and count for little.",
    fix="Link to them from where readers would look for them, or take them out of the sitemap.",
)
def pages_orphaned(site: Site) -> SiteAnswer:
    if not site.is_complete:
        return NOT_ALL_SEEN
    start = site.landing(site.start)
    return [
        Hit(site.shown(page.final_url), (page.final_url,))
        for page in site.indexable
        if page.final_url != start and page.final_url not in site.linked
    ]


@check(
    "pages-nofollowed",
    Severity.MODERATE,
    title="Pages are linked with nofollow only",
    passed="No page is linked with nofollow only",
    why="Search engines take the site's word that these pages are not worth following.",
    fix="Remove `nofollow` from links to own pages; use `noindex` for what should not be found.",
)
def pages_nofollowed(site: Site) -> SiteAnswer:
    if not site.is_complete:
        return NOT_ALL_SEEN
    return [
        Hit(site.shown(page.final_url), (page.final_url,))
        for page in site.indexable
        if (sources := site.linked.get(page.final_url)) and not any(sources.values())
    ]


@check(
    "pages-deep",
    Severity.MINOR,
    title="Pages are many clicks away from the start",
    passed=f"No page is more than {DEEP} clicks away from the start",
    why="The further away, the later robots come and the fewer readers do.",
    fix="Link to them from overview pages, and keep lists short or divided by subject.",
)
def pages_deep(site: Site) -> SiteAnswer:
    if not site.is_complete:
        return NOT_ALL_SEEN
    away: dict[int, list[str]] = {}
    for page in site.indexable:
        clicks = site.clicks.get(page.final_url, 0)
        if clicks > DEEP:
            away.setdefault(clicks, []).append(page.final_url)
    return [Hit(f"{clicks} clicks", tuple(away[clicks])) for clicks in sorted(away, reverse=True)]


@check(
    "pages-linked-once",
    Severity.INFO,
    title="Pages are linked by one other page only",
    passed="Every page is linked by several others",
    why="What is linked once is easily lost, and looks less important than what is linked often.",
    fix="Link to the pages that matter from others on the same subject.",
)
def pages_linked_once(site: Site) -> SiteAnswer:
    if not site.is_complete:
        return NOT_ALL_SEEN
    start = site.landing(site.start)
    return [
        Hit(f"{site.shown(page.final_url)}, linked by {site.shown(next(iter(sources)))}", (page.final_url,))
        for page in site.indexable
        if len(sources := site.linked.get(page.final_url, {})) == 1 and page.final_url != start
    ]


def _targets(site: Site, wrong: Callable[[SitePage], bool], told: Callable[[SitePage], str]) -> SiteAnswer:
    """A hit for each address, with the pages that link to it; the most linked first."""
    if not site.links_to:
        return nothing("links")
    found = [
        Hit(told(page), tuple(sources))
        for url, sources in site.links_to.items()
        if (page := site.at.get(url)) and page.url == url and wrong(page)
    ]
    return sorted(found, key=lambda hit: -len(hit.urls))


CHECKS: Final = (
    site_links_broken,
    site_links_broken_outside,
    site_links_redirected,
    site_links_blocked,
    pages_orphaned,
    pages_nofollowed,
    pages_deep,
    pages_linked_once,
)
