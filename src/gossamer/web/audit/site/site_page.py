"""What site checks need to know of each page."""

from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from gossamer.problems import Problem
from gossamer.web.audit.page.subject import Subject
from gossamer.web.audit.site.site import LanguageVersion, SiteLink, SitePage, host_of
from gossamer.web.crawl.fingerprint import fingerprint
from gossamer.web.pages.page import Page
from gossamer.web.robots.robots import Robots
from gossamer.web.url.url import Url, crawl_form, digest

MAX_HOPS: Final = 20
CIRCLE: Final = "it redirects in a circle"

Normalise = Callable[[str], str]


def normalise(url: str) -> str:
    """The one spelling of an address; text that is not a URL stays as it is."""
    try:
        return crawl_form(Url.parse(url))
    except Problem:
        return url


def summarise(subject: Subject, normal: Normalise = normalise) -> SitePage:
    """A page that was read, as one of its site.

    Pages of a site link to the same addresses over and over, so `normal` may be a cached `normalise`.
    """
    text = subject.reading.text.strip()
    return replace(
        summarise_unread(subject.page),
        title=subject.title,
        description=subject.meta("description"),
        heading=next((one.text for one in subject.headings if one.level == 1), ""),
        words=subject.reading.words,
        content_hash=digest(text) if text else "",
        fingerprint=fingerprint(text),
        canonical=normal(subject.canonical) if subject.canonical else "",
        noindex=subject.noindex,
        nofollow=bool(subject.asks("nofollow")),
        links=_links(subject, normal),
        resources=subject.resources,
        versions=tuple(LanguageVersion(one.code, normal(one.url)) for one in subject.alternates if one.url),
    )


def summarise_unread(page: Page) -> SitePage:
    """What is known of an answer that cannot be read, or need not be."""
    return SitePage(
        url=normalise(page.url),
        final_url=normalise(page.final_url),
        status=page.status,
        redirects=len(page.redirects),
        media_type=page.media_type,
    )


def closed_pages(urls: Iterable[str], rules: Robots) -> tuple[SitePage, ...]:
    """The addresses that robots.txt closes to the crawler."""
    return tuple(
        SitePage(url=url, final_url=url, status=None, blocked=True)
        for url in dict.fromkeys(urls)
        if not _allows(rules, url)
    )


def _allows(rules: Robots, url: str) -> bool:
    try:
        return rules.allows(Url.parse(url).target)
    except Problem:
        return True


def _links(subject: Subject, normal: Normalise) -> tuple[SiteLink, ...]:
    """Links to other sites keep their spelling, because they may be requested."""
    found: dict[str, bool] = {}  # whether every link there is marked `nofollow`
    host = host_of(subject.url)
    for anchor in subject.anchors:
        if anchor.url.startswith(("http:", "https:")):
            url = normal(anchor.url) if host_of(anchor.url) == host else anchor.url.partition("#")[0]
            found[url] = "nofollow" in anchor.rel and found.get(url, True)
    return tuple(SiteLink(url, nofollow) for url, nofollow in found.items())


# Redirects of which each step was fetched as an address of its own.


def resolve_redirects(pages: Iterable[SitePage]) -> tuple[SitePage, ...]:
    """Replace each redirect by the page at its end, where that is known."""
    pages = tuple(pages)
    at = {page.url: page for page in pages}
    return tuple(_resolve(page, at) if _leads_on(page) else page for page in pages)


def _leads_on(page: SitePage) -> bool:
    return page.status is not None and 300 <= page.status < 400 and page.final_url != page.url


def _resolve(page: SitePage, at: dict[str, SitePage]) -> SitePage:
    passed, here, there = {page.url}, page, at.get(page.final_url)
    while there is not None and _leads_on(there):
        if there.url in passed or len(passed) > MAX_HOPS:
            return replace(page, status=None, problem=CIRCLE, redirects=len(passed))
        passed.add(there.url)
        here, there = there, at.get(there.final_url)
    if there is None:
        return replace(page, final_url=here.final_url, redirects=len(passed))
    return replace(there, url=page.url, redirects=len(passed))
