"""Every check, in the order of a report."""

from typing import Final

from gossamer.web.audit.check import Check
from gossamer.web.audit.page.delivery import address, security, speed, status
from gossamer.web.audit.page.discovery import agents, canonical, headings, languages, robots, titles
from gossamer.web.audit.page.markup import content, document, images, links, sharing, structured
from gossamer.web.audit.page.subject import Subject
from gossamer.web.audit.site import addresses, sitemap
from gossamer.web.audit.site import agents as site_agents
from gossamer.web.audit.site import canonical as site_canonical
from gossamer.web.audit.site import content as site_content
from gossamer.web.audit.site import languages as site_languages
from gossamer.web.audit.site import links as site_links
from gossamer.web.audit.site import status as site_status
from gossamer.web.audit.site import titles as site_titles
from gossamer.web.audit.site.site import Site

PAGE_CHECKS: Final[tuple[Check[Subject], ...]] = (
    *status.CHECKS,
    *titles.CHECKS,
    *headings.CHECKS,
    *content.CHECKS,
    *canonical.CHECKS,
    *robots.CHECKS,
    *languages.CHECKS,
    *links.CHECKS,
    *images.CHECKS,
    *structured.CHECKS,
    *sharing.CHECKS,
    *document.CHECKS,
    *address.CHECKS,
    *speed.CHECKS,
    *security.CHECKS,
    *agents.CHECKS,
)
SITE_CHECKS: Final[tuple[Check[Site], ...]] = (
    *site_status.CHECKS,
    *site_titles.CHECKS,
    *site_content.CHECKS,
    *site_canonical.CHECKS,
    *sitemap.CHECKS,
    *site_languages.CHECKS,
    *site_links.CHECKS,
    *addresses.CHECKS,
    *site_agents.CHECKS,
)

# Page checks that a site check replaces: a fault of a single page may be right for one page of many.
REPLACED: Final = frozenset(
    {
        "noindex",
        "canonical-elsewhere",
        "links-broken",
        "links-broken-outside",
        "images-broken",
        "resources-broken",
        "sitemap-omits-page",
    }
)
EACH_PAGE_CHECKS: Final = tuple(check for check in PAGE_CHECKS if check.id not in REPLACED)
