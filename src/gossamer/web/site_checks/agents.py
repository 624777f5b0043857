"""What agents are told about the site, against what is there."""

from typing import Final

from gossamer.web.checks.rule import Severity, Theme
from gossamer.web.site_checks.rule import Asking, Hit, SiteAnswer, nothing
from gossamer.web.site_checks.site import Site

NO_GUIDE: Final = nothing("llms.txt that names pages")

check = Asking(Theme.AGENTS)


@check(
    "llms-txt-dead",
    Severity.MODERATE,
    title="llms.txt names pages that are not there",
    passed="Every page that llms.txt names is there",
    why="An agent that follows the site's own guide ends at an error.",
    fix="Correct the addresses in llms.txt, or take them out.",
)
def llms_txt_dead(site: Site) -> SiteAnswer:
    if not site.named:
        return NO_GUIDE
    return [
        Hit(f"{site.shown(url)} ({page.said})", (url,))
        for url in site.named
        if (page := site.at.get(url)) and page.is_broken
    ]


@check(
    "llms-txt-hidden",
    Severity.MINOR,
    title="llms.txt names pages that robots must not read",
    passed="Every page that llms.txt names may be read",
    why="The guide leads to what robots.txt forbids; well-behaved agents stay outside.",
    fix="Open the pages in robots.txt, or take them out of llms.txt.",
)
def llms_txt_hidden(site: Site) -> SiteAnswer:
    if not site.named:
        return NO_GUIDE
    return [Hit(site.shown(url), (url,)) for url in site.named if (page := site.at.get(url)) and page.blocked]


CHECKS: Final = (llms_txt_dead, llms_txt_hidden)
