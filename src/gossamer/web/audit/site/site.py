"""Site: the pages of a crawl and what lies between them, as checks look at it.

All addresses are in one form, so that two that mean the same page are spelt the same.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct, field

from gossamer.web.audit.check import Hit
from gossamer.web.audit.page.subject import is_broken
from gossamer.web.html.resources import Resource

GOOD: Final = range(200, 300)


class SiteLink(NamedTuple):
    url: str
    nofollow: bool = False


class LanguageVersion(NamedTuple):
    """A version of a page in another language."""

    code: str
    url: str


class SitePage(Struct, frozen=True, kw_only=True):
    """What the crawl found at one address, as far as site checks need it."""

    url: str
    final_url: str  # after redirects
    status: int | None = 200  # None: no answer, and `problem` says why
    problem: str = ""
    redirects: int = 0  # on the way to the final address
    media_type: str = "text/html"
    title: str = ""
    description: str = ""
    heading: str = ""
    words: int | None = None  # None: not counted
    content_hash: str = ""  # of the visible text
    fingerprint: str = ""  # of the visible text
    canonical: str = ""
    noindex: bool = False
    nofollow: bool = False
    links: tuple[SiteLink, ...] = ()  # to pages of any site
    resources: tuple[Resource, ...] = ()  # that it loads
    versions: tuple[LanguageVersion, ...] = ()
    blocked: bool = False  # robots.txt asks us not to read it

    @property
    def is_good(self) -> bool:
        return self.status in GOOD

    @property
    def is_broken(self) -> bool:
        return not self.blocked and is_broken(self.status)

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
    def status_text(self) -> str:
        """How it answered."""
        return str(self.status) if self.status is not None else self.problem or "no answer"


class Site(Struct, frozen=True, kw_only=True, dict=True):
    start: str
    pages: tuple[SitePage, ...] = ()  # every address that was asked for, once
    is_complete: bool = True  # nothing was left to ask for when the crawl ended
    listed: tuple[str, ...] | None = None  # what the sitemaps name; None: there are none
    llms_urls: tuple[str, ...] | None = None  # what llms.txt names; None: there is none
    missing_status: int | None = None  # of an address at which there is no page
    missing_url: str = ""
    # What is wrong with each link to another site, and each resource, that was tried; empty if it works.
    tried_links: Mapping[str, str] = field(default_factory=dict)
    tried_resources: Mapping[Resource, str] = field(default_factory=dict)

    @cached_property
    def host(self) -> str:
        return host_of(self.start)

    @cached_property
    def at(self) -> dict[str, SitePage]:
        """What was found at each address, and at the ends of redirects that were not asked for themselves."""
        found = {page.final_url: page for page in self.pages if page.is_good}
        found.update((page.url, page) for page in self.pages)
        return found

    @cached_property
    def documents(self) -> tuple[SitePage, ...]:
        """Every readable page of the site itself, once even if several addresses lead to it."""
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
        """For each linked address, the pages that link to it and whether they let robots follow."""
        found: dict[str, dict[str, bool]] = defaultdict(dict)
        for page in self.documents:
            for link in page.links:
                followed = not (link.nofollow or page.nofollow)
                found[link.url][page.final_url] = followed or found[link.url].get(page.final_url, False)
        return dict(found)

    @cached_property
    def loads(self) -> dict[Resource, list[str]]:
        """For each resource, the pages that load it."""
        found: dict[Resource, list[str]] = defaultdict(list)
        for page in self.documents:
            for resource in page.resources:
                found[resource].append(page.final_url)
        return dict(found)

    @cached_property
    def linked(self) -> dict[str, dict[str, bool]]:
        """The same by page: links to any of its addresses count, links from the page itself do not."""
        found: dict[str, dict[str, bool]] = defaultdict(dict)
        for url, sources in self.links_to.items():
            target = self.landing(url)
            for source, followed in sources.items():
                if source != target:
                    found[target][source] = followed or found[target].get(source, False)
        return dict(found)

    @cached_property
    def clicks(self) -> dict[str, int]:
        """The number of links on the shortest path from the start to each page."""
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
        """The address at which a visitor of this address ends."""
        page = self.at.get(url)
        return url if page is None else page.final_url

    def is_inside(self, url: str) -> bool:
        return host_of(url) == self.host

    def shorten(self, url: str) -> str:
        """The address as reports show it: without the host for pages of the site."""
        return _path(url) if self.is_inside(url) else url

    def listed_pages(self) -> Iterator[tuple[str, SitePage]]:
        """The entries of the sitemaps that the crawl knows something about."""
        for url in self.listed or ():
            if page := self.at.get(url):
                yield url, page


def hits_for_groups(groups: Mapping[str, Iterable[str]], describe: Callable[[str, int], str]) -> list[Hit]:
    """A hit for each group of more than one page, the largest first."""
    known = {name: tuple(dict.fromkeys(urls)) for name, urls in groups.items()}
    several = [(name, urls) for name, urls in known.items() if len(urls) > 1]
    several.sort(key=lambda group: -len(group[1]))
    return [Hit(describe(name, len(urls)), urls) for name, urls in several]


def host_of(url: str) -> str:
    """Host and port; empty if there is none."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _path(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]
