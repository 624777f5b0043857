"""SiteProbe: fetches what an audit needs to know besides the pages themselves."""

import asyncio
import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Final, Literal, Protocol, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.problems import INVALID_URL, NOT_FOUND, Problem, Unavailable
from gossamer.web.audit.page.subject import File, LinkCheck, Sitemap
from gossamer.web.audit.site.site import Site, SitePage
from gossamer.web.audit.site.site_page import Normalise
from gossamer.web.html.resources import Resource
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import Reading
from gossamer.web.robots import robots
from gossamer.web.robots.sitemap import Entries
from gossamer.web.url.url import Url, digest

FILE_SECONDS: Final = 10.0  # for each of the files beside the page
MAX_FILE_BYTES: Final = 2_000_000
LINK_SECONDS: Final = 8.0
CONCURRENT_LINKS: Final = 5
MAX_PAGE_RESOURCES: Final = 50  # images, scripts and styles of one page that are tried
MAX_SITE_RESOURCES: Final = 500  # of a site
MAX_SITEMAPS: Final = 50  # files
MAX_SITEMAP_URLS: Final = 50_000
MAX_LLMS_LINKS: Final = 1_000  # in llms.txt
_ARTICLES: Final = {"image": "an image", "script": "a script", "style": "a style"}
_MARKDOWN_LINK: Final = re.compile(r"\]\(\s*<?([^\s)<>]{1,2000})")


class NotKnown(Problem):
    """A source of pages cannot say whether there is such a page."""

    def __init__(self, detail: str) -> None:
        super().__init__(NOT_FOUND, detail)


class AuditSource(Protocol):
    """Where an audit gets pages from: the web, or a crawl."""

    async def fetch(self, spec: FetchSpec) -> Page: ...


class SiteFiles(TypedDict):
    """What a site keeps for robots beside its pages. The keys are fields of Subject; None: not known."""

    robots: File | None
    llms: File | None
    sitemap: Sitemap | None
    http_redirects_to_https: bool | None


class SiteSurvey(Struct, frozen=True, kw_only=True):
    """The facts about a site before its pages are read."""

    files: SiteFiles
    site: Site  # without its pages


class SiteProbe(Struct, frozen=True):
    """Every request is tried once: the retries of the job are the only loop."""

    fetcher: AuditSource
    parsers: ParserPool

    async def fetch_page(self, url: Url, timeout: float) -> Page:
        return await self.fetcher.fetch(FetchSpec(url=url, timeout=timeout, attempts=1))

    async def fetch_files(self, page: Page) -> SiteFiles:
        final = Url.parse(page.final_url)
        rules, guide, redirects = await asyncio.gather(
            self._fetch_file(final, "/robots.txt"),
            self._fetch_file(final, "/llms.txt"),
            self._redirects_to_https(final),
        )
        return {
            "robots": rules,
            "llms": guide,
            "sitemap": await self._fetch_sitemap(final, rules, page),
            "http_redirects_to_https": redirects,
        }

    async def survey(self, start: Page, normal: Normalise) -> SiteSurvey:
        final = Url.parse(start.final_url)
        files = await self.fetch_files(start)
        missing = final.join(f"/{digest(final.origin)[:20]}")  # the same each time
        answer = await self._fetch(missing)
        site = Site(
            start=normal(start.final_url),
            listed=await self._list_sitemaps(final, files["robots"], normal),
            llms_urls=_links_in_llms(final, files["llms"], normal),
            missing_url=missing.href,
            missing_status=None if answer is None else answer.status,
        )
        return SiteSurvey(files=files, site=site)

    # Links and resources.

    async def try_page(self, reading: Reading, page: Page, max_links: int) -> tuple[LinkCheck, ...]:
        """The links and resources of one page."""
        named = [reading.metadata.canonical or "", *(link.url for link in reading.links)]
        urls = [url.partition("#")[0] for url in named if url.startswith(("http://", "https://"))]
        wanted = [url for url in dict.fromkeys(urls) if url not in (page.url, page.final_url)]
        host = Url.parse(page.final_url).host
        links = await self._try_links(wanted[:max_links], host)
        return links + await self._try_resources(reading.resources[:MAX_PAGE_RESOURCES], host)

    async def try_outside_links(
        self, pages: Iterable[SitePage], start_url: str, max_links: int
    ) -> dict[str, str]:
        """The faults of the links to other sites that most pages have; empty for links that work."""
        here = _host_and_port(start_url)
        linked = Counter(
            link.url for page in pages for link in page.links if _host_and_port(link.url) not in ("", here)
        )
        wanted = [url for url, _ in linked.most_common(max_links)]
        return {one.url: one.wrong for one in await self._try_links(wanted, Url.parse(start_url).host)}

    async def try_site_resources(self, pages: Iterable[SitePage], start_url: str) -> dict[Resource, str]:
        """The faults of the resources that most pages load; empty for resources that work."""
        counted = Counter(resource for page in pages for resource in page.resources)
        wanted = [resource for resource, _ in counted.most_common(MAX_SITE_RESOURCES)]
        checked = await self._try_resources(wanted, Url.parse(start_url).host)
        tried = {one.url: one.wrong for one in checked}
        return {resource: tried[resource.url] for resource in wanted if resource.url in tried}

    async def _try_links(self, urls: Sequence[str], host: str) -> tuple[LinkCheck, ...]:
        return await self._try([LinkCheck(url, None, internal=_is_internal(url, host)) for url in urls])

    async def _try_resources(self, resources: Iterable[Resource], host: str) -> tuple[LinkCheck, ...]:
        return await self._try(
            [LinkCheck(url, None, internal=_is_internal(url, host), kind=kind) for url, kind in resources]
        )

    async def _try(self, links: Sequence[LinkCheck]) -> tuple[LinkCheck, ...]:
        """A few at a time. Links that we must not or cannot ask for are left out."""
        places = asyncio.Semaphore(CONCURRENT_LINKS)

        async def check(link: LinkCheck) -> LinkCheck | None:
            async with places:
                return await self._try_one(link)

        checked = await asyncio.gather(*(check(link) for link in links))
        return tuple(link for link in checked if link is not None)

    async def _try_one(self, link: LinkCheck) -> LinkCheck | None:
        """None for links that we must not or cannot request: that says nothing about the link."""
        try:
            url = Url.parse(link.url)
            found = await self._fetch_head(url, "HEAD")
            if found.status in (400, 403, 404, 405, 501):  # some servers know only GET
                found = await self._fetch_head(url, "GET")
        except (Unavailable, NotKnown):
            return None
        except Problem as problem:
            if problem.kind is INVALID_URL:
                return None
            return replace(link, problem=_as_clause(problem.detail))
        if link.kind != "page" and found.status == 200 and found.media_type == "text/html":
            return replace(link, problem=f"a page, not {_ARTICLES[link.kind]}")
        return replace(link, status=found.status)

    async def _fetch_head(self, url: Url, method: Literal["GET", "HEAD"]) -> Page:
        """The target of a link may be large, and its headers are enough."""
        return await self.fetcher.fetch(
            FetchSpec(url=url, method=method, timeout=LINK_SECONDS, attempts=1, head_only=True)
        )

    # Files for robots.

    async def _fetch_file(self, page: Url, path: str) -> File:
        url = page.join(path)
        found = await self._fetch(url)
        if found is None:
            return File(url.href, None)
        return File(url.href, found.status, found.text, found.media_type)

    async def _fetch_sitemap(self, page: Url, rules: File, fetched: Page) -> Sitemap:
        """The first sitemap that robots.txt names, or the one at the usual address."""
        named = _sitemaps_in(rules)
        try:
            url = page.join(named[0] if named else "/sitemap.xml")
        except Problem:
            return Sitemap(True, named[0][:200], problem="its address is not a URL")
        found = await self._fetch(url)
        if found is None or found.status != 200:
            return Sitemap(bool(named), url.href, problem="it cannot be had" if named else "")
        entries = await self._read_sitemap(found)
        listed = None if entries.is_index or entries.problem else fetched.final_url in entries.urls
        return Sitemap(True, url.href, len(entries.urls), entries.problem, listed)

    async def _list_sitemaps(
        self, site: Url, rules: File | None, normal: Normalise
    ) -> tuple[str, ...] | None:
        """The entries of all sitemaps, one file after the other; None if no sitemap can be read."""
        waiting = deque(_sitemaps_in(rules) or ("/sitemap.xml",))
        known, found, is_readable = set(waiting), dict[str, None](), False
        for _ in range(MAX_SITEMAPS):
            if not waiting or len(found) >= MAX_SITEMAP_URLS:
                break
            entries = await self._fetch_entries(site, waiting.popleft())
            is_readable = is_readable or not entries.problem
            if entries.is_index:
                waiting.extend(url for url in dict.fromkeys(entries.urls) if url not in known)
                known.update(entries.urls)
            else:
                found.update(dict.fromkeys(map(normal, entries.urls[:MAX_SITEMAP_URLS])))
        return tuple(found) if is_readable else None

    async def _fetch_entries(self, site: Url, reference: str) -> Entries:
        try:
            page = await self._fetch(site.join(reference))
        except Problem:
            return Entries((), problem="its address is not a URL")
        if page is None or page.status != 200:
            return Entries((), problem="it cannot be had")
        return await self._read_sitemap(page)

    async def _read_sitemap(self, page: Page) -> Entries:
        try:
            return await self.parsers.read_sitemap(page)
        except Unavailable:
            raise
        except Problem:
            return Entries((), problem="it takes too long to read")

    async def _redirects_to_https(self, page: Url) -> bool | None:
        """Whether http leads to https; None if it cannot be known, as on an unusual port."""
        if page.scheme != "https" or page.port != 443:
            return None
        found = await self._fetch(Url.parse(f"http://{page.host}{page.path}"), "HEAD")
        return None if found is None else found.final_url.startswith("https:")

    async def _fetch(self, url: Url, method: Literal["GET", "HEAD"] = "GET") -> Page | None:
        try:
            return await self.fetcher.fetch(
                FetchSpec(url=url, method=method, timeout=FILE_SECONDS, max_bytes=MAX_FILE_BYTES, attempts=1)
            )
        except Problem:
            return None


def _sitemaps_in(rules: File | None) -> tuple[str, ...]:
    if rules is None or not rules.exists:
        return ()
    return robots.from_answer(rules.status, rules.text).sitemaps


def _links_in_llms(site: Url, guide: File | None, normal: Normalise) -> tuple[str, ...] | None:
    if guide is None or not guide.exists:
        return None
    found: dict[str, None] = {}
    for reference in _MARKDOWN_LINK.findall(guide.text)[:MAX_LLMS_LINKS]:
        try:
            found[normal(site.join(reference).href)] = None
        except Problem:
            continue
    return tuple(found)


def _as_clause(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _is_internal(url: str, host: str) -> bool:
    return _host_and_port(url).partition(":")[0] == host


def _host_and_port(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
