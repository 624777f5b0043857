"""Where redirects end, when each of their steps is known as an address of its own."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from gossamer.web.site_checks.site import SitePage

MOST_HOPS: Final = 20
CIRCLE: Final = "it redirects in a circle"


def resolved(pages: Iterable[SitePage]) -> tuple[SitePage, ...]:
    """Pages whose final address is the next one on the way become what stands at its end. Where that is not
    known, they stay as they are."""
    pages = tuple(pages)
    at = {page.url: page for page in pages}
    return tuple(_resolved(page, at) if _leads_on(page) else page for page in pages)


def _leads_on(page: SitePage) -> bool:
    return page.status is not None and 300 <= page.status < 400 and page.final_url != page.url


def _resolved(page: SitePage, at: dict[str, SitePage]) -> SitePage:
    passed, here, there = {page.url}, page, at.get(page.final_url)
    while there is not None and _leads_on(there):
        if there.url in passed or len(passed) > MOST_HOPS:
            return replace(page, status=None, problem=CIRCLE, redirects=len(passed))
        passed.add(there.url)
        here, there = there, at.get(there.final_url)
    if there is None:
        return replace(page, final_url=here.final_url, redirects=len(passed))
    return replace(there, url=page.url, redirects=len(passed))
