"""Processes an answer: makes its row, and finds the URLs that are new to the crawl.

Sitemaps are URLs of a crawl, found when it first comes to a host, but not pages of it. A URL that was only
asked for as a sitemap is not a page either, because many sites answer every address with something. A page
at the same address is fetched if it is a seed or linked to, and not because the crawl looked there for a
sitemap.
"""

import sys
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.flows.crawl.plan import CrawlPlan
from gossamer.flows.crawl.seeds import new_url
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.page_parser import ERROR, ParsedPage, is_redirect, is_sitemap
from gossamer.flows.crawl.visiting.sitemap_reading import is_known_sitemap, newest_first, read_hints
from gossamer.flows.crawl.visiting.trap_watch import PageWeight, TrapWatch
from gossamer.flows.crawl.visiting.visit import Visited, VisitEnd, again, blocked, is_to_be_tried_again
from gossamer.problems import Problem
from gossamer.reach.http.retry import is_transient_status
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.new_urls import LOW, NewUrl
from gossamer.state.crawl.settling import CrawlTask
from gossamer.web.crawl.crawl_view import CrawlView, view_page
from gossamer.web.crawl.parts import PageParts, judge_briefly, judge_fully
from gossamer.web.crawl.refresh.page_change import NOT_MODIFIED
from gossamer.web.crawl.scope import OutOfScope
from gossamer.web.crawl.traps.trap import TrapKind
from gossamer.web.html.links import Folders
from gossamer.web.outcome.outcome import Judgement, Outcome
from gossamer.web.pages.page import Page
from gossamer.web.robots import sitemap
from gossamer.web.robots.robots import Robots
from gossamer.web.robots.sitemap import Entries
from gossamer.web.url.url import Url, digest, is_tracked

MAX_HOPS: Final = 5  # redirects in a row, or sitemaps in sitemaps
MAX_SITEMAPS: Final = 20  # that a robots.txt names
MAX_NESTED: Final = 1_000  # that the indexes of a host name
MAX_DENIED: Final = 1_000  # links of a crawl that robots.txt forbids and that are still listed
SITEMAP: Final = "/sitemap.xml"
GENUINE: Final = 10  # similar pages that were all genuine: the next ones are judged briefly
ENDLESS: Final = sys.maxsize
ROW: Final = 0x3D4C2B9E7  # keeps rows that are written apart from the URLs that led to them


class Discovery(Struct, frozen=True):
    """A link, a redirect or an entry of a sitemap."""

    depth: int
    hops: int = 0  # redirects in a row, or sitemaps in sitemaps
    most: int = ENDLESS  # URLs that are taken from one discovery
    found_on: PageWeight | None = None  # of links: they are judged by the page that has them

    mark: ClassVar[int] = 0  # keeps known pages and known sitemaps apart
    is_sitemap: ClassVar[bool] = False

    def admits(self, url: Url, plan: CrawlPlan) -> str:
        """Why the URL does not belong to the crawl; empty if it does."""
        return plan.scope.admits(url, self.depth)

    def new(self, url: Url, plan: CrawlPlan) -> NewUrl:
        new = new_url(url, plan.spec, depth=self.depth)
        return replace(new, hops=self.hops) if self.hops else new


class NewLink(NamedTuple):
    url: Url
    row: NewUrl


class RedirectDiscovery(Discovery, frozen=True):
    """A redirect to a URL that counts as the same page, as from `/a?utm_source=x` to `/a`. Its target would
    never be fetched if it were not a URL of its own."""

    mark: ClassVar[int] = 0x2B6E1A7F3

    def new(self, url: Url, plan: CrawlPlan) -> NewUrl:
        new = Discovery.new(self, url, plan)
        return replace(new, url_hash=hash_after(new.url_hash, self.hops))


class SitemapDiscovery(Discovery, frozen=True):
    host: str | None = None  # whose sitemaps belong to the crawl whatever its scope; None: any host
    priority: int | None = None

    mark: ClassVar[int] = 0x51735E3A9
    is_sitemap: ClassVar[bool] = True

    def admits(self, url: Url, plan: CrawlPlan) -> str:
        return "" if self.host in (None, url.site) else plan.scope.admits(url, self.depth)

    def new(self, url: Url, plan: CrawlPlan) -> NewUrl:
        new = new_url(url, plan.spec, depth=self.depth, priority=self.priority)
        own = digest(f"sitemap {new.url_hash}")
        return replace(new, url_hash=own, hops=self.hops, as_sitemap=True)


def follow_redirect(task: CrawlTask, plan: CrawlPlan, target: str) -> Discovery:
    """The discovery of a redirect's target, which is as deep as the redirect itself."""
    depth, hops = task.depth, task.hops + 1
    if task.as_sitemap:
        return SitemapDiscovery(depth, hops, host=task.host, priority=task.priority)
    url = Url.parse(target)
    named = url if plan.traps is None else plan.traps.of(url.site).identify(url).named
    same = new_url(named, plan.spec).url_hash
    if task.url_hash in (same, hash_after(same, task.hops)) and target != task.url:
        return RedirectDiscovery(depth, hops)
    return Discovery(depth, hops)


def hash_after(url_hash: str, hops: int) -> str:
    return digest(f"{url_hash} after {hops}")


class PageProcessor:
    def __init__(self, known: KnownUrls, agent: str) -> None:
        self._known = known
        self._agent = agent
        self._folders = Folders()
        self._watch = TrapWatch(known)

    def process(
        self,
        task: CrawlTask,
        plan: CrawlPlan,
        page: Page,
        rules: Robots,
        randomness: float,
        found: ParsedPage | None = None,
        waiting: Mapping[int, int] | None = None,
    ) -> Visited:
        """What an answer means to its crawl; `found` is the parsed page, if it was parsed elsewhere. URLs in
        `waiting` are written before this, or this is not written either: their keys and depths."""
        if is_to_be_tried_again(task, page.status):
            return again(task, plan, f"status_{page.status}", randomness)
        visited = Visited(task, plan, answer=page if plan.spec.keeps_fresh else None, waiting=waiting or {})
        if page.status == NOT_MODIFIED and task.known is not None:
            return visited
        if is_transient_status(page.status):
            visited.end, visited.reason = VisitEnd.FAILED, f"status_{page.status}"
        if is_redirect(page):
            self._redirect(visited, page, rules)
        elif is_known_sitemap(task, page):
            return visited
        elif is_sitemap(task, page):
            self._sitemap(visited, found if isinstance(found, Entries) else sitemap.read(page.body), rules)
        elif not task.as_sitemap:
            self._page(visited, page, rules, found if isinstance(found, PageParts) else None)
        self._add_sitemaps(visited, rules)
        return visited

    def find_merged(self, task: CrawlTask, plan: CrawlPlan) -> Visited | None:
        """The end of a URL that waited, if it is found out meanwhile that others are the same page. None: it
        is to be fetched."""
        traps = plan.traps
        if traps is None or not task.depth or task.hops or not traps.knows_parameters(task.host):
            return None
        url = Url.parse(task.url)
        link = traps.of(task.host).identify(url, is_link=True)
        if link.merged is not TrapKind.PARAMETER or new_url(url, plan.spec).url_hash != task.url_hash:
            return None
        visited = blocked(task, plan, f"trap_{link.merged}")
        new = self._watch.row_of(
            visited, link, lambda url: new_url(url, plan.spec, depth=task.depth, priority=task.priority)
        )
        if new is not None and new.url_hash == task.url_hash:
            return None
        visited.urls += [new] if new is not None else []
        return visited

    def _page(self, visited: Visited, page: Page, rules: Robots, parts: PageParts | None) -> None:
        task, plan = visited.task, visited.plan
        seen = parts.view if parts is not None else self._view(plan, page)
        original = _original(plan, task, seen)
        judgement = _judge(plan, page, seen, original, parts)
        visited.page, visited.judgement = page, judgement
        visited.links, visited.notes = seen.links, seen.notes
        visited.row = _row(page, seen, judgement, original, visited.reason)
        weight = self._watch.weigh(visited, page, seen)
        if page.status < ERROR:
            found = (*seen.followed, *weight.retracted) if weight is not None else seen.followed
            self._admit(visited, found, rules, Discovery(task.depth + 1, found_on=weight))

    def _redirect(self, visited: Visited, page: Page, rules: Robots) -> None:
        task, target = visited.task, redirect_target(page)
        if not task.as_sitemap:
            visited.row = CrawledPage(
                final_url=target or page.final_url,
                status_code=page.status or None,
                via=page.via,
                duration_ms=page.elapsed_ms,
                outcome=Outcome.OK if target else Outcome.ERROR,
            )
            visited.headers = page.headers
        if target:
            self._admit(visited, (target,), rules, follow_redirect(task, visited.plan, target))

    def _view(self, plan: CrawlPlan, page: Page) -> CrawlView:
        most = plan.spec.max_urls_per_page
        return view_page(page, agent=self._agent, max_links=most, folders=self._folders)

    def _sitemap(self, visited: Visited, entries: Entries, rules: Robots) -> None:
        """Pages come before nested sitemaps, and of both no more are taken than can be used."""
        task, plan = visited.task, visited.plan
        if task.as_sitemap and task.known is not None:
            visited.hints = read_hints(task, plan, entries)
            named = rules.sitemaps[:MAX_SITEMAPS]  # perhaps another one since
            self._admit(visited, named, rules, SitemapDiscovery(task.depth))
        if entries.is_index:
            most = MAX_NESTED - plan.nested[task.host]
            discovery = SitemapDiscovery(task.depth, task.hops + 1, most, host=task.host, priority=LOW)
            plan.nested[task.host] += self._admit(visited, entries.urls, rules, discovery)
        else:
            urls = entries.urls if task.known is None else newest_first(entries)
            plan.room -= self._admit(visited, urls, rules, Discovery(task.depth + 1, most=plan.room))

    def _add_sitemaps(self, visited: Visited, rules: Robots) -> None:
        """Add the sitemaps of a host when a crawl first comes to one of its pages."""
        task, plan = visited.task, visited.plan
        if not plan.spec.sitemaps or task.as_sitemap or task.depth >= plan.spec.max_depth:
            return
        key = hash(f"sitemaps of {task.host}") ^ plan.salt_of(task)
        if key in self._known:
            return
        visited.keys.append(key)
        places = (*rules.sitemaps[:MAX_SITEMAPS], Url.parse(task.url).join(SITEMAP).href)
        self._admit(
            visited, (each for each in places if each != task.url), rules, SitemapDiscovery(task.depth)
        )

    def _admit(self, visited: Visited, found: Iterable[str], rules: Robots, discovery: Discovery) -> int:
        """Add the URLs that belong to the crawl and are not known yet; returns how many."""
        plan, keys, before = visited.plan, visited.keys, len(visited.urls)
        salt = plan.salt_of(visited.task)
        mark = salt ^ discovery.mark
        keyed = {hash(text) ^ mark: text for text in found} if discovery.hops <= MAX_HOPS else {}
        waiting, wanted = visited.waiting, dict[int, NewLink]()
        unknown = self._known.unknown(keyed.keys() - keys)
        unknown = {key for key in unknown if waiting.get(key, ENDLESS) > discovery.depth}
        for key, text in keyed.items() if unknown else ():
            if key not in unknown:
                continue
            if len(wanted) >= discovery.most:
                break
            try:
                url = Url.parse(text)
            except Problem:
                continue
            reason = discovery.admits(url, plan)
            if reason == OutOfScope.TOO_DEEP:  # a shorter path to it may exist
                continue
            row = None if reason else self._new_row(url, plan, discovery, salt)
            if row is not None and self._is_worth_a_row(url, visited, rules):
                wanted[key] = NewLink(url, row)
            else:
                keys.append(key)
        self._add(visited, wanted, discovery)
        return len(visited.urls) - before

    def _new_row(self, url: Url, plan: CrawlPlan, discovery: Discovery, salt: int) -> NewUrl | None:
        """None if the page is known without `?utm_source=` or the like. Other URLs of a known page are no
        links to it, but may be a trap."""
        row = discovery.new(url, plan)
        is_known = bool(url.query) and is_tracked(url) and hash(row.url_hash) ^ salt ^ ROW in self._known
        return None if is_known else row

    def _add(self, visited: Visited, wanted: dict[int, NewLink], discovery: Discovery) -> None:
        plan, found_on = visited.plan, visited.task.url_hash
        if plan.traps is None or discovery.is_sitemap:
            visited.keys += wanted
            rows = [link.row for link in wanted.values()]
        else:
            made = {link.url: link.row for link in wanted.values()}

            def new(url: Url) -> NewUrl:
                return made.get(url) or discovery.new(url, plan)

            urls = {key: link.url for key, link in wanted.items()}
            links = self._watch.follow(visited, plan.traps, urls, discovery.found_on)
            rows = [row for link in links if (row := self._watch.row_of(visited, link, new)) is not None]
        salt = plan.salt_of(visited.task) ^ ROW
        keyed = [(hash(row.url_hash) ^ salt, row) for row in rows]
        unknown = self._known.unknown({key for key, _ in keyed})
        visited.keys += unknown
        visited.urls += [replace(row, found_on=found_on) for key, row in keyed if key in unknown]

    def _is_worth_a_row(self, url: Url, visited: Visited, rules: Robots) -> bool:
        """URLs that robots.txt forbids are listed too, up to a bound."""
        if url.site != visited.task.host or rules.allows(url.target):
            return True
        visited.plan.denied += 1
        return visited.plan.denied <= MAX_DENIED


def _row(page: Page, seen: CrawlView, judgement: Judgement, original: str | None, error: str) -> CrawledPage:
    directives = seen.directives
    return CrawledPage(
        final_url=page.final_url,
        status_code=page.status,
        content_type=page.media_type,
        content_length=len(page.body),
        content_hash=seen.content_hash,
        fingerprint=seen.fingerprint,
        duplicate_of=original,
        title=seen.title,
        description=seen.description,
        language=seen.language,
        canonical=seen.canonical,
        directives=",".join(name for name in ("noindex", "nofollow") if getattr(directives, name)),
        links_count=len(seen.links),
        via=page.via,
        duration_ms=page.elapsed_ms,
        error=error,
        outcome=judgement.outcome,
    )


def _original(plan: CrawlPlan, task: CrawlTask, seen: CrawlView) -> str | None:
    """An earlier page of this crawl with nearly the same text."""
    found = plan.alike.find(seen.fingerprint)
    if found is None:
        plan.alike.add(seen.fingerprint, task.url_hash)
    return found if found != task.url_hash else None


def _judge(
    plan: CrawlPlan, page: Page, seen: CrawlView, original: str | None, parts: PageParts | None
) -> Judgement:
    """A page that stands in for many resembles the others. So a page unlike all before it is judged briefly,
    and so is one that resembles many genuine ones."""
    if original is None or plan.genuine[original] >= GENUINE:
        return judge_briefly(page, seen) if parts is None else parts.believed
    judgement = judge_fully(page, seen) if parts is None else parts.examined
    if judgement.outcome is Outcome.OK:
        plan.genuine[original] += 1
    return judgement


def redirect_target(page: Page) -> str:
    """Where a redirect leads; empty if that is no URL."""
    if page.redirects:  # a browser was kept from following
        location = page.final_url
    else:
        location = (page.header("location") or "").encode("latin-1", "replace").decode("utf-8", "replace")
    if not location:
        return ""
    try:
        joined = Url.parse(page.url).join(location)
    except Problem:
        return ""
    return joined.href.partition("#")[0]
