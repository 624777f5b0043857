"""The harvest of a page: its row, and the URLs on it that the crawl did not know.

Sitemaps are URLs of a crawl like others, found when it first comes to a host, but no pages of it.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from gossamer.flows.crawl.known import Known
from gossamer.flows.crawl.plan import Plan
from gossamer.flows.crawl.seeds import new_url
from gossamer.flows.crawl.visit import End, Visited, again, is_to_be_tried_again
from gossamer.problems import Problem
from gossamer.reach.http import REDIRECTS
from gossamer.reach.retry import is_transient_status
from gossamer.state.frontier import CrawledPage, Task
from gossamer.web import sitemap
from gossamer.web.glance import Glance, glance
from gossamer.web.outcome import NOTE, PLENTY, Judgement, Outcome, judge
from gossamer.web.page import Page
from gossamer.web.robots import Robots
from gossamer.web.scope import TOO_DEEP
from gossamer.web.url import Url

MOST_HOPS: Final = 5  # redirects in a row, or sitemaps in sitemaps
REMEMBERED_HOPS: Final = 10_000
MOST_SITEMAPS: Final = 20  # that a robots.txt names
MOST_DENIED: Final = 1_000  # links of a crawl that robots.txt forbids and that are listed all the same
SITEMAP: Final = "/sitemap.xml"
ERROR: Final = 400
GENUINE: Final = 10  # pages that are alike, and all what they seem to be: more are taken at their word
_SIGNS: Final = (b"<urlset", b"<sitemapindex")
_GZIP: Final = b"\x1f\x8b"


class Harvest:
    def __init__(self, known: Known, agent: str) -> None:
        self._known = known
        self._agent = agent
        self._hops: OrderedDict[tuple[str, str], int] = OrderedDict()  # of what a redirect led to

    def of(self, task: Task, plan: Plan, page: Page, rules: Robots, randomness: float) -> Visited:
        """What the answer to a request means to its crawl."""
        if is_to_be_tried_again(task, page.status):
            return again(task, plan, f"status_{page.status}", randomness)
        visited = Visited(task, plan)
        if page.status in REDIRECTS:
            self._redirect(visited, page, rules)
        elif _is_sitemap(page):
            self._sitemap(visited, page, rules)
        elif page.status < ERROR or not _is_place_of_sitemap(task, rules):
            self._page(visited, page, rules)
        self._add_sitemaps(visited, rules)
        return visited

    def _page(self, visited: Visited, page: Page, rules: Robots) -> None:
        task, plan = visited.task, visited.plan
        seen = glance(page, agent=self._agent, most_links=plan.spec.max_urls_per_page)
        original = _original(plan, task, seen)
        judgement = _judged(plan, page, seen, original)
        if is_transient_status(page.status):
            visited.end, visited.reason = End.FAILED, f"status_{page.status}"
        visited.page, visited.judgement = page, judgement
        visited.row = _row(page, seen, judgement, original)
        if page.status < ERROR:
            self._admit(visited, seen.followed, rules, task.depth + 1)

    def _redirect(self, visited: Visited, page: Page, rules: Robots) -> None:
        target = _target(page)
        visited.row = CrawledPage(
            final_url=target or page.final_url,
            status_code=page.status,
            duration_ms=page.elapsed_ms,
            outcome=Outcome.OK if target else Outcome.ERROR,
        )
        if target:
            self._hop(visited, (target,), rules)

    def _sitemap(self, visited: Visited, page: Page, rules: Robots) -> None:
        entries = sitemap.read(page.body)
        if entries.is_index:
            self._hop(visited, entries.urls, rules)
        else:
            self._admit(visited, entries.urls, rules, visited.task.depth + 1)

    def _add_sitemaps(self, visited: Visited, rules: Robots) -> None:
        """Those of a host, when a crawl first comes to it."""
        task, plan = visited.task, visited.plan
        key = hash(f"sitemaps of {task.host}") ^ plan.salt
        if not plan.spec.sitemaps or key in self._known or task.depth >= plan.spec.max_depth:
            return
        visited.keys.append(key)
        places = (*rules.sitemaps[:MOST_SITEMAPS], Url.parse(task.url).join(SITEMAP).href)
        self._admit(visited, places, rules, task.depth, in_scope=True)

    def _hop(self, visited: Visited, found: Iterable[str], rules: Robots) -> None:
        """Where a redirect or an index leads to is as deep as that itself."""
        task = visited.task
        hops = self._hops.get((task.crawl_id, task.url_hash), 0) + 1
        if hops > MOST_HOPS:
            return
        before = len(visited.urls)
        self._admit(visited, found, rules, task.depth)
        for new in visited.urls[before:]:
            self._hops[task.crawl_id, new.url_hash] = hops
        while len(self._hops) > REMEMBERED_HOPS:
            self._hops.popitem(last=False)

    def _admit(
        self,
        visited: Visited,
        found: Iterable[str],
        rules: Robots,
        depth: int,
        *,
        in_scope: bool = False,
    ) -> None:
        """Those that belong to the crawl and are not known yet."""
        plan, keys, salt = visited.plan, visited.keys, visited.plan.salt
        keyed = {hash(text) ^ salt: text for text in found}
        unknown = self._known.unknown(keyed.keys() - keys)
        for key, text in keyed.items() if unknown else ():
            if key not in unknown:
                continue
            try:
                url = Url.parse(text)
            except Problem:
                continue
            reason = "" if in_scope else plan.scope.admits(url, depth)
            if reason == TOO_DEEP:  # there may be a shorter way to it
                continue
            keys.append(key)
            if not reason and self._is_worth_a_row(url, visited, rules):
                visited.urls.append(new_url(url, plan.spec, depth=depth))

    def _is_worth_a_row(self, url: Url, visited: Visited, rules: Robots) -> bool:
        """What robots.txt forbids is listed as forbidden, but not without end."""
        if url.site != visited.task.host or rules.allows(url.target):
            return True
        visited.plan.denied += 1
        return visited.plan.denied <= MOST_DENIED


def _row(page: Page, seen: Glance, judgement: Judgement, original: str | None) -> CrawledPage:
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
        outcome=judgement.outcome,
    )


def _original(plan: Plan, task: Task, seen: Glance) -> str | None:
    """The page of this crawl that said nearly the same before."""
    found = plan.alike.find(seen.simhash)
    if found is None:
        plan.alike.add(seen.simhash, task.url_hash)
    return found if found != task.url_hash else None


def _judged(plan: Plan, page: Page, seen: Glance, original: str | None) -> Judgement:
    """A stand-in for many pages is like the others, so what is unlike all before it is not looked into, nor
    what is like many that were what they seem to be."""
    if original is None or plan.genuine[original] >= GENUINE:
        return judge(page, title=seen.title, text=seen.text, enough=NOTE)
    judgement = judge(page, title=seen.title, text=seen.text, enough=PLENTY)
    if judgement.outcome is Outcome.OK:
        plan.genuine[original] += 1
    return judgement


def _target(page: Page) -> str:
    location = page.header("location")
    if not location:
        return ""
    try:
        joined = Url.parse(page.final_url).join(location.encode("latin-1").decode("utf-8", "replace"))
    except Problem:
        return ""
    return joined.href.partition("#")[0]


def _is_sitemap(page: Page) -> bool:
    if page.status >= ERROR:
        return False
    if page.body.startswith(_GZIP):
        return "sitemap" in page.url
    return page.media_type.endswith("xml") and any(sign in page.body[:2048] for sign in _SIGNS)


def _is_place_of_sitemap(task: Task, rules: Robots) -> bool:
    return task.url.endswith(SITEMAP) or task.url in rules.sitemaps
