"""Audit: what search engines and AI agents see of a page, and what to do about it."""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, TypedDict

from gossamer.flows.workshop import Workshop
from gossamer.problems import INVALID_URL, Problem, Unavailable
from gossamer.reach.fetch import Ask, Fetcher
from gossamer.web import robots
from gossamer.web.audit import File, LinkCheck, Report, Sitemap, Subject
from gossamer.web.page import Page
from gossamer.web.reading import How, Reading
from gossamer.web.sitemap import Entries
from gossamer.web.url import Url, audit_form

KIND: Final = "audit"
RECIPE: Final = "v1"  # raised when the checks change so much that an old answer is another one
BESIDE_SECONDS: Final = 10.0  # for each of the files beside the page
BESIDE_BYTES: Final = 2_000_000
LINK_SECONDS: Final = 8.0
LINKS_AT_ONCE: Final = 5
MOST_LINKS: Final = 100

Step = Callable[[str, int], Awaitable[None]]  # what is being done, and how far it is in percent


@dataclass(frozen=True, slots=True)
class Options:
    max_links: int = 20  # links whose targets are asked for; 0 for none
    timeout: float = 30.0  # seconds for the page itself
    max_pages: int = 1  # more than one: of the whole site


@dataclass(frozen=True, slots=True)
class Payload:
    """What a job carries."""

    audit_id: str
    url: str
    options: Options


def idempotency_key(tenant: str, url: Url, options: Options) -> str:
    """The same for the same audit; two requests for it are one while it is queued or running."""
    wanted = json.dumps(asdict(options), sort_keys=True)
    return hashlib.sha256(f"{tenant}|{audit_form(url)}|{wanted}|{RECIPE}".encode()).hexdigest()


class Beside(TypedDict):
    """What a site keeps beside its pages."""

    robots: File
    llms: File
    sitemap: Sitemap
    http_redirects_to_https: bool | None


@dataclass(frozen=True, slots=True)
class Auditor:
    fetcher: Fetcher
    workshop: Workshop
    clock: Callable[[], float] = time.time

    async def audit(self, url: Url, options: Options, step: Step) -> Report:
        """Inside a job: every fetch is tried once, since the job's own policy is the only loop."""
        await step("fetching the page", 5)
        page = await self.fetcher.fetch(Ask(url=url, timeout=options.timeout, attempts=1))
        await step("reading it", 25)
        reading = await self.workshop.read(page, How())
        await step("looking at what stands beside it", 40)
        beside = await self.beside(page)
        await step("following its links", 60)
        links = await self._links(reading, page, options.max_links) if options.max_links else None
        await step("checking", 90)
        subject = Subject(page=page, reading=reading, now=self.clock(), links=links, **beside)
        return (await self.workshop.audit(subject)).report

    async def beside(self, page: Page) -> Beside:
        final = Url.parse(page.final_url)
        rules, guide, plain = await asyncio.gather(
            self._file(final, "/robots.txt"), self._file(final, "/llms.txt"), self._from_plain(final)
        )
        return {
            "robots": rules,
            "llms": guide,
            "sitemap": await self._sitemap(final, rules, page),
            "http_redirects_to_https": plain,
        }

    async def _file(self, page: Url, path: str) -> File:
        url = page.join(path)
        found = await self.attempt(url)
        if found is None:
            return File(url.href, None)
        return File(url.href, found.status, found.text, found.media_type)

    async def _sitemap(self, page: Url, rules: File, fetched: Page) -> Sitemap:
        """The first that robots.txt names, or the one at the usual place."""
        named = robots.from_answer(rules.status, rules.text).sitemaps if rules.exists else ()
        try:
            url = page.join(named[0] if named else "/sitemap.xml")
        except Problem:
            return Sitemap(True, named[0][:200], problem="its address is not a URL")
        found = await self.attempt(url)
        if found is None or found.status != 200:
            return Sitemap(bool(named), url.href, problem="it cannot be had" if named else "")
        entries = await self.entries(found)
        listed = None if entries.is_index or entries.problem else fetched.final_url in entries.urls
        return Sitemap(True, url.href, len(entries.urls), entries.problem, listed)

    async def entries(self, found: Page) -> Entries:
        """Of a sitemap, which may be of any kind and size."""
        try:
            return await self.workshop.entries(found)
        except Unavailable:
            raise
        except Problem:
            return Entries((), problem="it takes too long to read")

    async def _from_plain(self, page: Url) -> bool | None:
        """Whether http leads to https; nobody knows where the page is not on the usual port."""
        if page.scheme != "https" or page.port != 443:
            return None
        found = await self.attempt(Url.parse(f"http://{page.host}{page.path}"), "HEAD")
        return None if found is None else found.final_url.startswith("https:")

    async def _links(self, reading: Reading, page: Page, most: int) -> tuple[LinkCheck, ...]:
        named = [reading.metadata.canonical or "", *(link.url for link in reading.links)]
        urls = [url.partition("#")[0] for url in named if url.startswith(("http://", "https://"))]
        wanted = [url for url in dict.fromkeys(urls) if url not in (page.url, page.final_url)]
        return await self.try_links(wanted[:most], Url.parse(page.final_url).host)

    async def try_links(self, urls: Sequence[str], site: str) -> tuple[LinkCheck, ...]:
        """A few at a time; those of which nobody may know how they are, are left out."""
        places = asyncio.Semaphore(LINKS_AT_ONCE)

        async def check(address: str) -> LinkCheck | None:
            async with places:
                return await self._link(address, site)

        checked = await asyncio.gather(*(check(address) for address in urls))
        return tuple(link for link in checked if link is not None)

    async def _link(self, address: str, site: str) -> LinkCheck | None:
        """None for what we must not or cannot ask: that says nothing about the link."""
        try:
            url = Url.parse(address)
            status = await self._status(url, "HEAD")
            if status in (400, 403, 404, 405, 501):  # some servers know only GET
                status = await self._status(url, "GET")
        except Unavailable:
            return None
        except Problem as problem:
            if problem.kind is INVALID_URL:
                return None
            return LinkCheck(address, None, _in_passing(problem.detail), _is_internal(address, site))
        return LinkCheck(address, status, "", url.host == site)

    async def _status(self, url: Url, method: Literal["GET", "HEAD"]) -> int:
        """What is behind a link may be large; that it is there is enough."""
        ask = Ask(url=url, method=method, timeout=LINK_SECONDS, attempts=1, head_only=True)
        return (await self.fetcher.fetch(ask)).status

    async def attempt(self, url: Url, method: Literal["GET", "HEAD"] = "GET") -> Page | None:
        try:
            return await self.fetcher.fetch(
                Ask(url=url, method=method, timeout=BESIDE_SECONDS, max_bytes=BESIDE_BYTES, attempts=1)
            )
        except Problem:
            return None


def _in_passing(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _is_internal(address: str, site: str) -> bool:
    return address.partition("://")[2].partition("/")[0].partition(":")[0] == site
