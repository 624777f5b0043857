"""Compares what llms.txt says about the site with what is there."""

from typing import Final

from gossamer.web.audit.check import CheckMaker, Hit, Severity, SiteAnswer, Theme, site_has_no
from gossamer.web.audit.site.site import Site

NO_GUIDE: Final = site_has_no("llms.txt that names pages")

check = CheckMaker[Site](Theme.AGENTS, "site")


@check(
    "llms-txt-dead",
    Severity.MODERATE,
    title="llms.txt names pages that are not there",
    passed="Every page that llms.txt names is there",
    why="An agent that follows the site's own guide ends at an error.",
    fix="Correct the addresses in llms.txt, or take them out.",
)
def llms_txt_dead(site: Site) -> SiteAnswer:
    if not site.llms_urls:
        return NO_GUIDE
    return [
        Hit(f"{site.shorten(url)} ({page.status_text})", (url,))
        for url in site.llms_urls
        if (page := site.at.get(url)) and page.is_broken
    ]


@check(
    "llms-txt-hidden",
    Severity.MINOR,
    title="llms.txt names pages that robots must not read",
    passed="Every page that llms.txt names may be read",
    why="The guide leads to pages that robots.txt forbids, and well-behaved agents do not read them.",
    fix="Open the pages in robots.txt, or take them out of llms.txt.",
)
def llms_txt_hidden(site: Site) -> SiteAnswer:
    if not site.llms_urls:
        return NO_GUIDE
    return [
        Hit(site.shorten(url), (url,))
        for url in site.llms_urls
        if (page := site.at.get(url)) and page.blocked
    ]


CHECKS: Final = (llms_txt_dead, llms_txt_hidden)
