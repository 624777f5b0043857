"""Every check there is, in the order of a report."""

from typing import Final

from gossamer.web.checks import (
    address,
    agents,
    canonical,
    content,
    document,
    headings,
    images,
    languages,
    links,
    robots,
    security,
    sharing,
    speed,
    status,
    structured,
    titles,
)
from gossamer.web.checks.rule import Check

CHECKS: Final[tuple[Check, ...]] = (
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
