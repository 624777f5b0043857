"""Watches for traps while pages are processed: weighs pages, and sifts the links that they have."""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.visit import Visited
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.web.crawl.crawl_view import CrawlView
from gossamer.web.crawl.traps.crawl_traps import CrawlTraps, content_of
from gossamer.web.crawl.traps.host_traps import SeenPage, SiftedLink, SourcePage
from gossamer.web.crawl.traps.novelty import Novelty
from gossamer.web.crawl.traps.url_pattern import pattern_of
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page import Page
from gossamer.web.url.url import Url

CUT: Final = 0x7C15D5A4B  # keeps URLs that were cut apart from those that are known
NAMED: Final = 0x1F83D9ABF  # the same for pages that several URLs lead to
OK: Final = 200


class PageWeight(Struct, frozen=True):
    """What a page adds to its crawl, which decides what its links are worth."""

    novelty: Novelty
    page: SourcePage
    retracted: list[str] = field(default_factory=list)  # URLs that should have been followed before


class TrapWatch:
    def __init__(self, known: KnownUrls) -> None:
        self._known = known

    def weigh(self, visited: Visited, page: Page, seen: CrawlView) -> PageWeight | None:
        """None if the crawl follows everything."""
        traps, task, row = visited.plan.traps, visited.task, visited.row
        if traps is None or row is None:
            return None
        url, here = Url.parse(task.url), traps.of(task.host)
        content = content_of(task.host, seen.content_hash)
        near = row.duplicate_of is not None
        novelty = traps.compare(content, task.url_hash, page.body, is_near=near)
        is_evidence = page.status == OK and row.outcome == Outcome.OK
        pattern = pattern_of(url)
        weighed = SeenPage(url, pattern, content, seen.fingerprint, seen.text, page.body, is_evidence)
        novelty = here.weigh(weighed, novelty)
        retracted = here.take_retracted()
        traps.retractions += bool(retracted)
        return PageWeight(novelty, SourcePage(task.url, pattern), retracted)

    def follow(
        self, visited: Visited, traps: CrawlTraps, wanted: dict[int, Url], found_on: PageWeight | None
    ) -> Iterator[SiftedLink]:
        """The links to follow, each with the URL that identifies it. All others are counted."""
        by_host: dict[str, dict[int, Url]] = {}
        for key, url in wanted.items():
            if traps.is_exempt(url):
                visited.keys.append(key)
                yield SiftedLink(url, url, "")
            elif found_on is None:
                visited.keys.append(key)
                yield traps.of(url.site).identify(url)
            else:
                by_host.setdefault(url.site, {})[key] = url
        if found_on is not None:
            for host, links in by_host.items():
                yield from self._sift(visited, traps, host, links, found_on)

    def _sift(
        self, visited: Visited, traps: CrawlTraps, host: str, links: dict[int, Url], found_on: PageWeight
    ) -> Iterator[SiftedLink]:
        here = traps.of(host)
        page = found_on.page if host == visited.task.host else None
        judged = here.sift(links.values(), found_on.novelty, page)
        for key, link in zip(links, judged, strict=True):
            if link.cut is None:
                visited.keys.append(key)
                yield link
            elif (mark := key ^ CUT) not in self._known:
                self._known.add([mark])
                here.count(link)

    def row_of(self, visited: Visited, link: SiftedLink, new: Callable[[Url], NewUrl]) -> NewUrl | None:
        """The row of a link to follow; None if another URL of the same page is there already."""
        row = new(link.named)
        if link.merged is not None and self._is_there(visited, link, row):
            traps = visited.plan.traps
            tried = traps is not None and traps.of(link.url.site).count(link)
            return new(link.url) if tried else None
        return row if link.named is link.url else replace(row, url=link.href)

    def _is_there(self, visited: Visited, link: SiftedLink, row: NewUrl) -> bool:
        key = hash(row.url_hash) ^ visited.plan.salt_of(visited.task) ^ NAMED
        if link.is_seen or key in self._known or key in visited.keys:
            return True
        visited.keys.append(key)
        return False
