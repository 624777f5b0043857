"""How the pages of a site are linked with each other, and what they load."""

from collections.abc import Callable
from typing import Final

from gossamer.web.audit.check import NOT_ALL_SEEN, CheckMaker, Hit, Severity, SiteAnswer, Theme, site_has_no
from gossamer.web.audit.site.site import Site, SitePage
from gossamer.web.html.resources import ResourceKind

DEEP: Final = 4  # clicks from the start

check = CheckMaker[Site](Theme.LINKS, "site")
asking_images = CheckMaker[Site](Theme.IMAGES, "site")
asking_document = CheckMaker[Site](Theme.DOCUMENT, "site")


@check(
    "site-links-broken",
    Severity.SERIOUS,
    title="Links within the site are broken",
    passed="No link within the site is broken",
    why="Readers and robots end at an error, and do not find the pages behind it.",
    fix="Correct the addresses, redirect those that have moved, or remove the links.",
)
def site_links_broken(site: Site) -> SiteAnswer:
    return _link_targets(
        site, lambda page: page.is_broken, lambda page: f"{site.shorten(page.url)} ({page.status_text})"
    )


@check(
    "site-links-broken-outside",
    Severity.MODERATE,
    title="Links to other sites are broken",
    passed="No checked link to another site is broken",
    why="Dead references make a site look abandoned.",
    fix="Link to the current address, or to an archived copy.",
)
def site_links_broken_outside(site: Site) -> SiteAnswer:
    if not site.tried_links:
        return site_has_no("links to other sites that were tried")
    return [
        Hit(f"{url} ({wrong})", tuple(site.links_to.get(url, ())))
        for url, wrong in site.tried_links.items()
        if wrong
    ]


@asking_images(
    "site-images-broken",
    Severity.SERIOUS,
    title="Images of the site cannot be loaded",
    passed="Every checked image can be loaded",
    why="Readers see a hole in the page, and its content is lost to them.",
    fix="Correct the addresses, or put the images back.",
)
def site_images_broken(site: Site) -> SiteAnswer:
    return _broken_resources(site, "image")


@asking_document(
    "site-resources-broken",
    Severity.SERIOUS,
    title="Scripts or styles of the site cannot be loaded",
    passed="Every checked script and style can be loaded",
    why="Parts of the pages do not work or look broken, and robots that render them see the same.",
    fix="Correct the addresses, or put the files back. A page in the place of a file is an error too.",
)
def site_resources_broken(site: Site) -> SiteAnswer:
    return _broken_resources(site, "script", "style")


@check(
    "site-links-redirected",
    Severity.MINOR,
    title="Links within the site lead to redirects",
    passed="Links within the site lead straight to their pages",
    why="Every click and every robot takes a detour that the site itself could spare them.",
    fix="Link to the address that the redirect leads to.",
)
def site_links_redirected(site: Site) -> SiteAnswer:
    return _link_targets(
        site,
        lambda page: page.is_redirected and page.is_good,
        lambda page: f"{site.shorten(page.url)} leads to {site.shorten(page.final_url)}",
    )


@check(
    "site-links-blocked",
    Severity.INFO,
    title="Links lead to pages that robots.txt closes",
    passed="No link leads to a page that robots.txt closes",
    why="That is fine for carts and searches. Pages that should be found must be open.",
    fix="Check whether any of these pages should be found.",
)
def site_links_blocked(site: Site) -> SiteAnswer:
    return _link_targets(site, lambda page: page.blocked, lambda page: site.shorten(page.url))


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
        Hit(site.shorten(page.final_url), (page.final_url,))
        for page in site.indexable
        if page.final_url != start and page.final_url not in site.linked
    ]


@check(
    "pages-nofollowed",
    Severity.MODERATE,
    title="Pages are linked with nofollow only",
    passed="No page is linked with nofollow only",
    why="Search engines take the site's word that these pages are not worth following.",
    fix="Remove `nofollow` from links to own pages; use `noindex` for pages that should not be found.",
)
def pages_nofollowed(site: Site) -> SiteAnswer:
    if not site.is_complete:
        return NOT_ALL_SEEN
    return [
        Hit(site.shorten(page.final_url), (page.final_url,))
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
    why="A page that is linked once is easily lost, and looks less important than one that is linked often.",
    fix="Link to the pages that matter from others on the same subject.",
)
def pages_linked_once(site: Site) -> SiteAnswer:
    if not site.is_complete:
        return NOT_ALL_SEEN
    start = site.landing(site.start)
    return [
        Hit(
            f"{site.shorten(page.final_url)}, linked by {site.shorten(next(iter(sources)))}",
            (page.final_url,),
        )
        for page in site.indexable
        if len(sources := site.linked.get(page.final_url, {})) == 1 and page.final_url != start
    ]


def _broken_resources(site: Site, *kinds: ResourceKind) -> SiteAnswer:
    """A hit for each resource that is broken, with the pages that load it."""
    tried = {resource: wrong for resource, wrong in site.tried_resources.items() if resource.kind in kinds}
    if not tried:
        return site_has_no(f"{kinds[0]}s that were tried")
    found = [
        Hit(f"{site.shorten(resource.url)} ({wrong})", tuple(site.loads.get(resource, ())))
        for resource, wrong in tried.items()
        if wrong
    ]
    return sorted(found, key=lambda hit: -len(hit.urls))


def _link_targets(
    site: Site, wrong: Callable[[SitePage], bool], describe: Callable[[SitePage], str]
) -> SiteAnswer:
    """A hit for each address, with the pages that link to it; the most linked first."""
    if not site.links_to:
        return site_has_no("links")
    found = [
        Hit(describe(page), tuple(sources))
        for url, sources in site.links_to.items()
        if (page := site.at.get(url)) and page.url == url and wrong(page)
    ]
    return sorted(found, key=lambda hit: -len(hit.urls))


CHECKS: Final = (
    site_links_broken,
    site_links_broken_outside,
    site_images_broken,
    site_resources_broken,
    site_links_redirected,
    site_links_blocked,
    pages_orphaned,
    pages_nofollowed,
    pages_deep,
    pages_linked_once,
)
