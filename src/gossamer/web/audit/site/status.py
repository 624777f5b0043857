"""How the addresses of a site answer."""

from typing import Final

from gossamer.web.audit.check import CheckMaker, Hit, Severity, SiteAnswer, Theme, site_has_no
from gossamer.web.audit.site.site import GOOD, Site, SitePage

MAX_REDIRECTS: Final = 1
MAX_NAMED: Final = 5  # addresses in the evidence

check = CheckMaker[Site](Theme.STATUS, "site")


@check(
    "site-unread",
    Severity.CRITICAL,
    title="No page of the site could be read",
    passed="The site has pages that can be read",
    why="Pages that robots cannot read are neither found nor cited.",
    fix="Let the start page answer with success, and let robots.txt allow it: a robots.txt that fails "
    "forbids everything.",
)
def site_unread(site: Site) -> SiteAnswer:
    if site.documents:
        return []
    texts = [f"{site.shorten(page.url)} ({_why_unread(page)})" for page in site.pages[:MAX_NAMED]]
    return [Hit(text) for text in texts] or [Hit("nothing was answered")]


def _why_unread(page: SitePage) -> str:
    if page.blocked:
        return "robots.txt closes it, or cannot be had"
    return page.media_type if page.is_good and not page.is_html else page.status_text


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
        Hit(f"{site.shorten(page.url)} ({page.status_text})", (page.url,))
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
        return site_has_no("redirects")
    return [
        Hit(
            f"{page.redirects} redirects from {site.shorten(page.url)} to {site.shorten(page.final_url)}",
            (page.url,),
        )
        for page in redirected
        if page.redirects > MAX_REDIRECTS
    ]


@check(
    "missing-is-found",
    Severity.MODERATE,
    title="An address that does not exist answers with success",
    passed="An address that does not exist answers with an error",
    why="Every mistyped link becomes another page, and broken links go unnoticed.",
    fix="Answer with status 404 where there is no page.",
)
def missing_is_found(site: Site) -> SiteAnswer:
    if site.missing_status is None:
        return site_has_no("answer for an address that does not exist")
    return [Hit(f"{site.missing_url} ({site.missing_status})")] if site.missing_status in GOOD else []


CHECKS: Final = (site_unread, pages_failing, redirects_long, missing_is_found)
