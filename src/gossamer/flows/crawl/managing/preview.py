"""Shows what a crawl would do with its first pages, before it is started.

Up to three seeds are fetched, each once, in the way in which a crawl fetches: robots.txt is obeyed, and no
redirect is followed. Each link is judged by the scope of the crawl. Nothing is stored.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from gossamer.flows.crawl.politeness.robots import RobotsFiles, Rules
from gossamer.flows.crawl.visiting.fetch import CrawlFetcher
from gossamer.flows.crawl.visiting.page_parser import is_redirect
from gossamer.flows.crawl.visiting.page_processor import redirect_target
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.problems import Problem, Unavailable
from gossamer.reach.net.dial import Dialer
from gossamer.state.crawl.hosts import Hosts
from gossamer.web.crawl.crawl_view import CrawlView, view_page
from gossamer.web.crawl.parts import is_quick
from gossamer.web.crawl.scope import OutOfScope, Scope
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.pages.page import Page
from gossamer.web.url.url import MAX_URL_CHARS, Url

MAX_SEEDS: Final = 3  # that are fetched
MAX_LINKS: Final = 50  # that are shown of each
SEED_SECONDS: Final = 20.0  # for a seed and its robots.txt
FETCH_SECONDS: Final = 12.0
TIMEOUT: Final = "timeout"

RobotsVerdict = Literal["allowed", "disallowed", "unreachable"]


class PreviewLink(Struct, frozen=True, rename="camel"):
    """A link of a seed, and whether the crawl would follow it."""

    url: str
    is_included: bool
    reason: Annotated[OutOfScope | None, Meta(description="Why the scope leaves it out.")] = None


class PreviewError(Struct, frozen=True, rename="camel"):
    """Why a seed could not be looked at."""

    reason: Annotated[
        str, Meta(description="As in a problem's `details.reason`: `invalid_url_format`, `dns_not_found`, …")
    ]
    message: str


class SeedPreview(Struct, frozen=True, rename="camel", kw_only=True):
    """What a crawl would find at a seed."""

    url: Annotated[str, Meta(description="The seed, up to 2,048 characters.")]
    robots: Annotated[
        RobotsVerdict | None,
        Meta(
            description="What its robots.txt says to this seed. `unreachable`: the crawl would try again "
            "after an hour. `null`: it was not asked for, see `error`."
        ),
    ] = None
    status_code: Annotated[int | None, Meta(description="`null` if it was not fetched.")] = None
    redirects_to: Annotated[
        str | None, Meta(description="The target of a redirect, which is then the only link.")
    ] = None
    title: str | None = None
    links: Annotated[list[PreviewLink], Meta(description="The first of them.")] = []
    links_found: Annotated[int, Meta(description="The links that a crawl would take from it.")] = 0
    links_included: Annotated[int, Meta(description="How many of these are in the scope.")] = 0
    error: PreviewError | None = None


class CrawlPreviewer(Struct, frozen=True):
    fetcher: CrawlFetcher
    robots: RobotsFiles
    hosts: Hosts
    dialer: Dialer
    parsers: ParserPool
    agent: str
    clock: Callable[[], float] = time.time

    async def preview(self, spec: CrawlSpec) -> list[SeedPreview]:
        """A seed that fails is a value in the answer. Raises `Unavailable` if one of our services is away."""
        valid = replace(spec, seeds=tuple(seed for seed in spec.seeds if _is_url(seed)))
        scope = Scope.of(valid)
        async with asyncio.TaskGroup() as group:
            looking = [
                group.create_task(self._look_safely(seed, valid, scope)) for seed in spec.seeds[:MAX_SEEDS]
            ]
        looked = [task.result() for task in looking]
        if away := next((each for each in looked if isinstance(each, Unavailable)), None):
            raise away
        return [each for each in looked if isinstance(each, SeedPreview)]

    async def _look_safely(self, seed: str, spec: CrawlSpec, scope: Scope) -> SeedPreview | Unavailable:
        shown = seed[:MAX_URL_CHARS]
        try:
            async with asyncio.timeout(SEED_SECONDS):
                return await self._look(Url.parse(seed), spec, scope)
        except TimeoutError:
            told = PreviewError(TIMEOUT, f"There was no answer within {SEED_SECONDS:g} seconds.")
            return SeedPreview(url=shown, error=told)
        except Unavailable as away:
            return away
        except Problem as problem:
            told = PreviewError(problem.reason or problem.kind.code.lower(), problem.detail)
            return SeedPreview(url=shown, error=told)

    async def _look(self, url: Url, spec: CrawlSpec, scope: Scope) -> SeedPreview:
        self.dialer.admit(url.host, url.port)
        now = int(self.clock() * 1000)
        rules = await self.robots.peek(url, await self.hosts.robots(url.site), now)
        verdict = _verdict(rules, url)
        if verdict != "allowed":
            return SeedPreview(url=url.href, robots=verdict)
        page = await self.fetcher.fetch(url, spec, "", FETCH_SECONDS)
        known = SeedPreview(url=url.href, robots=verdict, status_code=page.status)
        if is_redirect(page):
            target = redirect_target(page)
            found = [target] if target else []
            return _with_links(replace(known, redirects_to=target or None), found, scope, depth=0)
        seen = await self._view(page, spec.max_urls_per_page)
        found = list(seen.followed)
        return _with_links(replace(known, title=seen.title or None), found, scope, depth=1)

    async def _view(self, page: Page, max_links: int) -> CrawlView:
        if is_quick(page):
            return view_page(page, agent=self.agent, max_links=max_links)
        return (await self.parsers.take_apart(page, agent=self.agent, max_links=max_links)).view


def _with_links(known: SeedPreview, found: Sequence[str], scope: Scope, *, depth: int) -> SeedPreview:
    links = [link for text in found if (link := _judge(text, scope, depth)) is not None]
    return replace(
        known,
        links=links[:MAX_LINKS],
        links_found=len(links),
        links_included=sum(link.is_included for link in links),
    )


def _judge(text: str, scope: Scope, depth: int) -> PreviewLink | None:
    """None for what is no URL, as in a crawl."""
    try:
        reason = scope.admits(Url.parse(text), depth)
    except Problem:
        return None
    return PreviewLink(text, not reason, OutOfScope(reason) if reason else None)


def _verdict(rules: Rules, url: Url) -> RobotsVerdict:
    if rules.unknown:
        return "unreachable"
    return "allowed" if rules.robots.allows(url.target) else "disallowed"


def _is_url(text: str) -> bool:
    try:
        Url.parse(text)
    except Problem:
        return False
    return True
