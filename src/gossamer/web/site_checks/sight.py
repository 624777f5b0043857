"""What the checks of a site need to know of one page."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from gossamer.problems import Problem
from gossamer.web.checks.subject import Subject
from gossamer.web.page import Page
from gossamer.web.robots import Robots
from gossamer.web.simhash import simhash
from gossamer.web.site_checks.site import SiteLink, SitePage, Version, host_of
from gossamer.web.url import Url, crawl_form, digest

Form = Callable[[str], str]


def seen(subject: Subject, form: Form | None = None) -> SitePage:
    """A page that was read, as one of its site. Pages of a site link to the same ones over and over: who has
    many of them gives a `form` that remembers."""
    form = form or form_of
    text = subject.reading.text.strip()
    return replace(
        unread(subject.page),
        title=subject.title,
        description=subject.meta("description"),
        heading=next((one.text for one in subject.headings if one.level == 1), ""),
        words=subject.reading.words,
        content_hash=digest(text) if text else "",
        simhash=simhash(text),
        canonical=form(subject.canonical) if subject.canonical else "",
        noindex=subject.noindex,
        nofollow=bool(subject.asks("nofollow")),
        links=_links(subject, form),
        versions=tuple(Version(one.code, form(one.url)) for one in subject.alternates if one.url),
    )


def unread(page: Page) -> SitePage:
    """What is known of an answer that cannot be read, or need not be."""
    return SitePage(
        url=form_of(page.url),
        final_url=form_of(page.final_url),
        status=page.status,
        redirects=len(page.redirects),
        media_type=page.media_type,
    )


def closed(urls: Iterable[str], rules: Robots) -> tuple[SitePage, ...]:
    """Those that robots.txt keeps the crawler from."""
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


def form_of(url: str) -> str:
    """The one spelling of an address; what is none stays as it is."""
    try:
        return crawl_form(Url.parse(url))
    except Problem:
        return url


def _links(subject: Subject, form: Form) -> tuple[SiteLink, ...]:
    """What leads to other sites stays as it is written: it may be asked for."""
    found: dict[str, bool] = {}  # whether every link there is marked `nofollow`
    host = host_of(subject.url)
    for anchor in subject.anchors:
        if anchor.url.startswith(("http:", "https:")):
            url = form(anchor.url) if host_of(anchor.url) == host else anchor.url.partition("#")[0]
            found[url] = "nofollow" in anchor.rel and found.get(url, True)
    return tuple(SiteLink(url, nofollow) for url, nofollow in found.items())
