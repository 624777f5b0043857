"""How the addresses of a site answer."""

from typing import Final

from gossamer.web.checks.rule import Severity, Theme
from gossamer.web.site_checks.rule import Asking, Hit, SiteAnswer, nothing
from gossamer.web.site_checks.site import GOOD, Site, SitePage

LONGEST_CHAIN: Final = 1
FEW: Final = 5  # addresses that are named

check = Asking(Theme.STATUS)


@check(
    "site-unread",
    Severity.CRITICAL,
    title="No page of the site could be read",
    passed="The site has pages that can be read",
    why="What robots cannot read is not found, and not cited.",
    fix="Answer with a page at the start, and let robots.txt, which must be there or be missing, open it.",
)
def site_unread(site: Site) -> SiteAnswer:
    if site.documents:
        return []
    told = [f"{site.shown(page.url)} ({_why_unread(page)})" for page in site.pages[:FEW]]
    return [Hit(text) for text in told] or [Hit("nothing was answered")]


def _why_unread(page: SitePage) -> str:
    if page.blocked:
        return "robots.txt closes it, or cannot be had"
    return page.media_type if page.is_good and not page.is_html else page.said


@check(
    "pages-failing",
    Severity.SERIOUS,
    title="The server fails for some pages",
    passed="The server fails for no page",
    why="Robots come back less often to a site that fails, and drop the pages after a while.",
    fix="Look into the server's log for these addresses.",
)
def pages_failing(site: Site) -> SiteAnswer:
    return [
        Hit(f"{site.shown(page.url)} ({page.said})", (page.url,))
        for page in site.pages
        if not page.blocked and (page.status is None or page.status >= 500) and site.is_inside(page.url)
    ]


@check(
    "redirects-long",
    Severity.MODERATE,
    title="Redirects lead to redirects",
    passed="Every redirect leads to its end at once",
    why="Every step costs a round trip, and robots give up on long chains.",
    fix="Redirect the first address to the last one directly.",
)
def redirects_long(site: Site) -> SiteAnswer:
    redirected = [page for page in site.pages if page.is_redirected]
    if not redirected:
        return nothing("redirects")
    return [
        Hit(
            f"{page.redirects} redirects from {site.shown(page.url)} to {site.shown(page.final_url)}",
            (page.url,),
        )
        for page in redirected
        if page.redirects > LONGEST_CHAIN
    ]


@check(
    "missing-is-found",
    Severity.MODERATE,
    title="An address that does not exist answers with success",
    passed="An address that does not exist answers with an error",
    why="Every mistyped link becomes a page of its own, and broken ones are never noticed.",
    fix="Answer with status 404 where there is no page.",
)
def missing_is_found(site: Site) -> SiteAnswer:
    if site.missing_status is None:
        return nothing("answer for an address that does not exist")
    return [Hit(f"{site.missing_url} ({site.missing_status})")] if site.missing_status in GOOD else []


CHECKS: Final = (site_unread, pages_failing, redirects_long, missing_is_found)
