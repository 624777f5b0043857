"""Every check of a site as a whole, in the order of a report."""

from typing import Final

from gossamer.web.site_checks import (
    addresses,
    agents,
    canonical,
    content,
    languages,
    links,
    sitemap,
    status,
    titles,
)
from gossamer.web.site_checks.rule import SiteCheck

SITE_CHECKS: Final[tuple[SiteCheck, ...]] = (
    *status.CHECKS,
    *titles.CHECKS,
    *content.CHECKS,
    *canonical.CHECKS,
    *sitemap.CHECKS,
    *languages.CHECKS,
    *links.CHECKS,
    *addresses.CHECKS,
    *agents.CHECKS,
)
