"""The harvest of a page: its row, and the URLs on it that the crawl did not know.

Sitemaps are URLs of a crawl like others, found when it first comes to a host, but no pages of it. What was
only asked for as one is no page either, whatever it is: many sites answer every address with something.
"""

from collections.abc import Iterable
from typing import Final

from gossamer.flows.crawl.known import Known
from gossamer.flows.crawl.plan import Plan
from gossamer.flows.crawl.taking import ERROR, Taken, is_redirect, is_sitemap
from gossamer.flows.crawl.visit import End, Visited, again, is_to_be_tried_again
from gossamer.flows.crawl.way import ToSitemap, Way, way_on
from gossamer.problems import Problem
from gossamer.reach.retry import is_transient_status
from gossamer.state.frontier import CrawledPage, Task
from gossamer.state.new_urls import LOW
from gossamer.web import sitemap
from gossamer.web.glance import Glance, glance
from gossamer.web.links import Folders
from gossamer.web.outcome import Judgement, Outcome
from gossamer.web.page import Page
from gossamer.web.parts import Parts, believed, examined
from gossamer.web.robots import Robots
from gossamer.web.scope import TOO_DEEP
from gossamer.web.sitemap import Entries
from gossamer.web.url import Url

MOST_HOPS: Final = 5  # redirects in a row, or sitemaps in sitemaps
MOST_SITEMAPS: Final = 20  # that a robots.txt names
MOST_NESTED: Final = 1_000  # that the indexes of a host name
MOST_DENIED: Final = 1_000  # links of a crawl that robots.txt forbids and that are listed all the same
SITEMAP: Final = "/sitemap.xml"
GENUINE: Final = 10  # pages that are alike, and all what they seem to be: more are taken at their word


class Harvest:
    def __init__(self, known: Known, agent: str) -> None:
        self._known = known
        self._agent = agent
        self._folders = Folders()

    def of(
        self,
        task: Task,
        plan: Plan,
        page: Page,
        rules: Robots,
        randomness: float,
        found: Taken | None = None,
    ) -> Visited:
        """What the answer to a request means to its crawl; `found` is what was taken from it before."""
        if is_to_be_tried_again(task, page.status):
            return again(task, plan, f"status_{page.status}", randomness)
        visited = Visited(task, plan)
        if is_transient_status(page.status):
            visited.end, visited.reason = End.FAILED, f"status_{page.status}"
        if is_redirect(page):
            self._redirect(visited, page, rules)
        elif is_sitemap(task, page):
            self._sitemap(visited, found if isinstance(found, Entries) else sitemap.read(page.body), rules)
        elif not task.as_sitemap:
            self._page(visited, page, rules, found if isinstance(found, Parts) else None)
        self._add_sitemaps(visited, rules)
        return visited

    def _page(self, visited: Visited, page: Page, rules: Robots, parts: Parts | None) -> None:
        task, plan = visited.task, visited.plan
        seen = parts.glance if parts is not None else self._glance(plan, page)
        original = _original(plan, task, seen)
        judgement = _judged(plan, page, seen, original, parts)
        visited.page, visited.judgement = page, judgement
        visited.row = _row(page, seen, judgement, original, visited.reason)
        if page.status < ERROR:
            self._admit(visited, seen.followed, rules, Way(task.depth + 1))

    def _redirect(self, visited: Visited, page: Page, rules: Robots) -> None:
        task, target = visited.task, _target(page)
        if not task.as_sitemap:
            visited.row = CrawledPage(
                final_url=target or page.final_url,
                status_code=page.status or None,
                via=page.via,
                duration_ms=page.elapsed_ms,
                outcome=Outcome.OK if target else Outcome.ERROR,
            )
        if target:
            self._admit(visited, (target,), rules, way_on(task, visited.plan, target))

    def _glance(self, plan: Plan, page: Page) -> Glance:
        most = plan.spec.max_urls_per_page
        return glance(page, agent=self._agent, most_links=most, folders=self._folders)

    def _sitemap(self, visited: Visited, entries: Entries, rules: Robots) -> None:
        """Pages come before sitemaps in sitemaps, and of both no more than can be of use."""
        task, plan = visited.task, visited.plan
        if entries.is_index:
            most = MOST_NESTED - plan.nested[task.host]
            way = ToSitemap(task.depth, task.hops + 1, most, host=task.host, priority=LOW)
            plan.nested[task.host] += self._admit(visited, entries.urls, rules, way)
        else:
            plan.room -= self._admit(visited, entries.urls, rules, Way(task.depth + 1, most=plan.room))

    def _add_sitemaps(self, visited: Visited, rules: Robots) -> None:
        """Those of a host, when a crawl first comes to one of its pages."""
        task, plan = visited.task, visited.plan
        if not plan.spec.sitemaps or task.as_sitemap or task.depth >= plan.spec.max_depth:
            return
        key = hash(f"sitemaps of {task.host}") ^ plan.salt_of(task)
        if key in self._known:
            return
        visited.keys.append(key)
        places = (*rules.sitemaps[:MOST_SITEMAPS], Url.parse(task.url).join(SITEMAP).href)
        self._admit(visited, (each for each in places if each != task.url), rules, ToSitemap(task.depth))

    def _admit(self, visited: Visited, found: Iterable[str], rules: Robots, way: Way) -> int:
        """Those that belong to the crawl and are not known yet; how many."""
        plan, keys, before = visited.plan, visited.keys, len(visited.urls)
        salt = plan.salt_of(visited.task) ^ way.mark
        keyed = {hash(text) ^ salt: text for text in found} if way.hops <= MOST_HOPS else {}
        unknown = self._known.unknown(keyed.keys() - keys)
        for key, text in keyed.items() if unknown else ():
            if key not in unknown:
                continue
            if len(visited.urls) - before >= way.most:
                break
            try:
                url = Url.parse(text)
            except Problem:
                continue
            reason = way.admits(url, plan)
            if reason == TOO_DEEP:  # there may be a shorter way to it
                continue
            keys.append(key)
            if not reason and self._is_worth_a_row(url, visited, rules):
                visited.urls.append(way.new(url, plan))
        return len(visited.urls) - before

    def _is_worth_a_row(self, url: Url, visited: Visited, rules: Robots) -> bool:
        """What robots.txt forbids is listed as forbidden, but not without end."""
        if url.site != visited.task.host or rules.allows(url.target):
            return True
        visited.plan.denied += 1
        return visited.plan.denied <= MOST_DENIED


def _row(page: Page, seen: Glance, judgement: Judgement, original: str | None, error: str) -> CrawledPage:
    directives = seen.directives
    return CrawledPage(
        final_url=page.final_url,
        status_code=page.status,
        content_type=page.media_type,
        content_length=len(page.body),
        content_hash=seen.content_hash,
        simhash=seen.simhash or None,
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


def _original(plan: Plan, task: Task, seen: Glance) -> str | None:
    """The page of this crawl that said nearly the same before."""
    found = plan.alike.find(seen.simhash)
    if found is None:
        plan.alike.add(seen.simhash, task.url_hash)
    return found if found != task.url_hash else None


def _judged(plan: Plan, page: Page, seen: Glance, original: str | None, parts: Parts | None) -> Judgement:
    """A stand-in for many pages is like the others, so what is unlike all before it is not looked into, nor
    what is like many that were what they seem to be."""
    if original is None or plan.genuine[original] >= GENUINE:
        return believed(page, seen) if parts is None else parts.believed
    judgement = examined(page, seen) if parts is None else parts.examined
    if judgement.outcome is Outcome.OK:
        plan.genuine[original] += 1
    return judgement


def _target(page: Page) -> str:
    if page.redirects:  # a browser, which was not let follow
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
