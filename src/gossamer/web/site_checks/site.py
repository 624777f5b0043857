"""Site: the pages of a crawl and what lies between them, as checks look at it.

All addresses are in one form, so that two that mean the same page are spelt the same.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple
from urllib.parse import urlsplit

GOOD: Final = range(200, 300)


class SiteLink(NamedTuple):
    url: str
    nofollow: bool = False


class Version(NamedTuple):
    """A version of a page in another language."""

    code: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePage:
    """What the crawl found at one address."""

    url: str
    final_url: str  # after redirects
    status: int | None = 200  # None: no answer, and `problem` says why
    problem: str = ""
    redirects: int = 0  # on the way to the final address
    media_type: str = "text/html"
    title: str = ""
    description: str = ""
    heading: str = ""
    words: int | None = None  # None: nobody has counted
    content_hash: str = ""  # of the visible text
    simhash: int = 0  # 0: of no text
    canonical: str = ""
    noindex: bool = False
    nofollow: bool = False
    links: tuple[SiteLink, ...] = ()  # to pages of any site
    versions: tuple[Version, ...] = ()
    blocked: bool = False  # robots.txt asks us not to read it

    @property
    def is_good(self) -> bool:
        return self.status in GOOD

    @property
    def is_broken(self) -> bool:
        """Gone, or nobody there. That a robot is turned away says nothing about people."""
        if self.blocked:
            return False
        if self.status is None:
            return True
        return self.status >= 400 and self.status not in (401, 402, 403, 405, 406, 407, 418, 429, 451, 999)

    @property
    def is_redirected(self) -> bool:
        return self.redirects > 0 and self.url != self.final_url

    @property
    def is_html(self) -> bool:
        return self.media_type in ("text/html", "application/xhtml+xml")

    @property
    def is_canonical(self) -> bool:
        return self.canonical in ("", self.final_url)

    @property
    def said(self) -> str:
        """How it answered."""
        return str(self.status) if self.status is not None else self.problem or "no answer"


@dataclass(frozen=True, kw_only=True)
class Site:
    start: str
    pages: tuple[SitePage, ...]  # every address that was asked for, once
    is_complete: bool = True  # nothing was left to ask for when the crawl ended
    listed: tuple[str, ...] | None = None  # what the sitemaps name; None: there are none
    named: tuple[str, ...] | None = None  # what llms.txt names; None: there is none
    missing_status: int | None = None  # of an address that nobody has given to a page
    missing_url: str = ""
    outside: Mapping[str, str] = field(default_factory=dict)  # links to other sites, and what is wrong

    @cached_property
    def host(self) -> str:
        return host_of(self.start)

    @cached_property
    def at(self) -> dict[str, SitePage]:
        """What was found at an address; where a redirect leads is known too, if nobody has asked there."""
        found = {page.final_url: page for page in self.pages if page.is_good}
        found.update((page.url, page) for page in self.pages)
        return found

    @cached_property
    def documents(self) -> tuple[SitePage, ...]:
        """Every page of the site itself that can be read, once, however many addresses lead to it."""
        found: dict[str, SitePage] = {}
        for page in self.pages:
            is_page = page.is_good and page.is_html and not page.blocked and self.is_inside(page.final_url)
            if is_page and (page.final_url not in found or not page.is_redirected):
                found[page.final_url] = page
        return tuple(found.values())

    @cached_property
    def indexable(self) -> tuple[SitePage, ...]:
        return tuple(page for page in self.documents if page.is_canonical and not page.noindex)

    @cached_property
    def links_to(self) -> dict[str, dict[str, bool]]:
        """For each address that is linked, the pages that do, and whether they let robots follow."""
        found: dict[str, dict[str, bool]] = defaultdict(dict)
        for page in self.documents:
            for link in page.links:
                followed = not (link.nofollow or page.nofollow)
                found[link.url][page.final_url] = followed or found[link.url].get(page.final_url, False)
        return dict(found)

    @cached_property
    def linked(self) -> dict[str, dict[str, bool]]:
        """The same for pages: whichever of its addresses is linked, and not by itself."""
        found: dict[str, dict[str, bool]] = defaultdict(dict)
        for url, sources in self.links_to.items():
            target = self.landing(url)
            for source, followed in sources.items():
                if source != target:
                    found[target][source] = followed or found[target].get(source, False)
        return dict(found)

    @cached_property
    def clicks(self) -> dict[str, int]:
        """How many links lie between the start and a page, at least."""
        first = self.landing(self.start)
        away = {first: 0}
        waiting = deque([first])
        targets = {page.final_url: page.links for page in self.documents}
        while waiting:
            here = waiting.popleft()
            for link in targets.get(here, ()):
                there = self.landing(link.url)
                if there not in away and there in targets:
                    away[there] = away[here] + 1
                    waiting.append(there)
        return away

    def landing(self, url: str) -> str:
        """Where one ends who goes to this address."""
        page = self.at.get(url)
        return url if page is None else page.final_url

    def is_inside(self, url: str) -> bool:
        return host_of(url) == self.host

    def shown(self, url: str) -> str:
        """An address as it is told: of a page of the site, without the site."""
        return _path(url) if self.is_inside(url) else url

    def listed_pages(self) -> Iterator[tuple[str, SitePage]]:
        """The entries of the sitemaps of which something is known."""
        for url in self.listed or ():
            if page := self.at.get(url):
                yield url, page


def host_of(url: str) -> str:
    """Host and port; nothing where there is none."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _path(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]
