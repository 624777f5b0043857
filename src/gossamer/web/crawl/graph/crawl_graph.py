"""CrawlGraph: the pages of a crawl and the links between them, in a few flat arrays.

    pages       by number, in the order in which they were added
    starts      where in `targets` the links of a page begin
    targets     numbers of the pages that are linked to, each once for a page, and never the page itself

A link to a redirect leads to the redirect, which is a page with one link. Links that leave the crawl are only
counted.
"""

from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

import msgspec
from msgspec import Struct, field

from gossamer.web.crawl.graph.link_section import LinkSection, NotedLink

MAX_PAGES: Final = 300_000
MAX_LINKS: Final = 30_000_000  # in all: 120 MB
OUTSIDE: Final = -1
UNCRAWLED: Final = -2  # on a host of the crawl, but not fetched
ERROR: Final = 400
MAX_HOPS: Final = 50

Resolve = Callable[[str], str]  # a URL to the id that its page would have; empty if it is no URL


class GraphPage(msgspec.Struct, frozen=True):
    """What the graph needs to know of a stored page."""

    url_hash: str
    url: str
    final_url: str
    host: str
    status_code: int | None
    outcome: str
    title: str
    depth: int
    blob: str | None
    blob_offset: int = 0
    blob_size: int = 0

    @property
    def is_broken(self) -> bool:
        return self.status_code is None or self.status_code >= ERROR

    @property
    def is_redirect(self) -> bool:
        return self.final_url != self.url and not self.is_broken and self.blob is None


class RedirectChain(Struct, frozen=True):
    """The pages that a redirect leads through, from the first redirect on."""

    pages: tuple[int, ...]
    leads_to: str  # the URL at its end
    is_loop: bool


class CrawlGraph(Struct, eq=False, dict=True):
    pages: Sequence[GraphPage]
    starts: "array[int]"
    targets: "array[int]"
    outside: "array[int]"  # links of each page that leave the crawl
    outside_hosts: Counter[str]
    uncrawled: int  # links to URLs that were not fetched
    unread: int  # pages whose links are not known
    is_whole: bool = True  # no page and no link was left out
    redirects: dict[int, int] = field(default_factory=dict)  # whose targets are pages

    def out(self, number: int) -> "array[int]":
        """The pages that a page links to."""
        return self.targets[self.starts[number] : self.starts[number + 1]]

    def out_count(self, number: int) -> int:
        return self.starts[number + 1] - self.starts[number]

    @cached_property
    def in_counts(self) -> "array[int]":
        counts = array("I", bytes(4 * len(self.pages)))
        for target in self.targets:
            counts[target] += 1
        return counts

    def linking_to(self, wanted: Iterable[int], most: int) -> dict[int, list[int]]:
        """The first pages that link to each of some pages."""
        found: dict[int, list[int]] = {number: [] for number in wanted}
        if found:
            for number in range(len(self.pages)):
                for target in found.keys() & set(self.out(number)):
                    if len(found[target]) < most:
                        found[target].append(number)
        return found

    @cached_property
    def depths(self) -> "array[int]":
        """How many links a page is away from a seed; -1 if no path leads there. A redirect is no step."""
        depths = array("i", [-1]) * len(self.pages)
        waiting = deque(number for number, page in enumerate(self.pages) if page.depth == 0)
        for number in waiting:
            depths[number] = 0
        while waiting:
            number = waiting.popleft()
            step = 0 if number in self.redirects else 1
            depth = depths[number] + step
            for target in self.out(number):
                if depths[target] < 0 or depths[target] > depth:
                    depths[target] = depth
                    (waiting.append if step else waiting.appendleft)(target)
        return depths

    @cached_property
    def orphans(self) -> list[int]:
        """Pages that no other page links to."""
        return [
            number
            for number, links in enumerate(self.in_counts)
            if not links and not self.pages[number].is_broken
        ]

    @cached_property
    def broken(self) -> list[int]:
        """Pages without an answer or with an error that others link to, those with most links first."""
        counts = self.in_counts
        found = [number for number, page in enumerate(self.pages) if page.is_broken and counts[number]]
        return sorted(found, key=lambda number: -counts[number])

    @cached_property
    def chains(self) -> list[RedirectChain]:
        """Each redirect that no other leads to, with all that follow; loops and long chains first."""
        followed = set(self.redirects.values())
        heads = [
            number
            for number, page in enumerate(self.pages)
            if page.is_redirect and (number not in followed or self._loops(number))
        ]
        seen: set[frozenset[int]] = set()
        chains = []
        for head in heads:
            chain = self._follow(head)
            if (key := frozenset(chain.pages)) not in seen:  # a loop has no first redirect
                seen.add(key)
                chains.append(chain)
        return sorted(chains, key=lambda chain: (not chain.is_loop, -len(chain.pages)))

    def _follow(self, head: int) -> RedirectChain:
        steps, number = [head], head
        while (target := self.redirects.get(number)) is not None and len(steps) <= MAX_HOPS:
            if target in steps:
                return RedirectChain(tuple(steps), self.pages[target].url, is_loop=True)
            if not self.pages[target].is_redirect:
                break
            steps.append(target)
            number = target
        return RedirectChain(tuple(steps), self.pages[number].final_url, is_loop=False)

    def _loops(self, head: int) -> bool:
        number: int | None = head
        for _ in range(MAX_HOPS):
            number = self.redirects.get(number) if number is not None else None
            if number == head:
                return True
        return False


class GraphBuilder:
    """Takes all pages first, then the links. Each call takes milliseconds, so that a caller can do something
    else between them."""

    def __init__(self, resolve: Resolve, *, max_pages: int = MAX_PAGES, max_links: int = MAX_LINKS) -> None:
        self._resolve = resolve
        self._max_pages, self._max_links = max_pages, max_links
        self._pages: list[GraphPage] = []
        self._by_url: dict[str, int] = {}
        self._by_hash: dict[str, int] = {}
        self._hosts: set[str] = set()
        self._out: dict[int, array[int]] = {}
        self._outside: dict[int, int] = {}
        self._outside_hosts: Counter[str] = Counter()
        self._uncrawled = self._links = 0
        self._is_whole = True

    def add_pages(self, pages: Iterable[GraphPage]) -> None:
        for page in pages:
            if len(self._pages) >= self._max_pages:
                self._is_whole = False
                return
            number = len(self._pages)
            self._pages.append(page)
            self._by_url.setdefault(page.url, number)
            self._by_hash[page.url_hash] = number
            self._hosts.add(page.host)

    @property
    def is_full(self) -> bool:
        """Whether pages or links were left out."""
        return not self._is_whole

    def number_of(self, url: str) -> int:
        """The page behind a URL, or why there is none."""
        number = self._by_url.get(url)
        if number is not None:
            return number
        if host_of(url) not in self._hosts:
            return OUTSIDE
        return self._by_hash.get(self._resolve(url), UNCRAWLED)

    def add_section(self, section: LinkSection, blob: str) -> None:
        """The links of pages that are stored in this blob; those of others are outdated."""
        numbers = array("i", map(self.number_of, section.urls))
        leaving: Counter[int] = Counter()
        for stored in section.pages:
            number = self._by_hash.get(stored.url_hash.hex())
            if number is None or self._pages[number].blob != blob:
                continue
            links = [link for link in stored.links if link < len(numbers)]
            self._link(number, {numbers[link] for link in links})
            gone = [link for link in links if numbers[link] < 0]
            self._outside[number] = sum(numbers[link] == OUTSIDE for link in gone)
            self._uncrawled += len(gone) - self._outside[number]
            leaving.update(gone)
        for link, count in leaving.items():
            if numbers[link] == OUTSIDE:
                self._outside_hosts[host_of(section.urls[link])] += count

    def add_links(self, url_hash: str, urls: Iterable[str]) -> None:
        """The links of one page, which were read from its body."""
        number = self._by_hash[url_hash]
        found = [(self.number_of(url), url) for url in urls]
        self._link(number, {target for target, _ in found})
        self._outside[number] = sum(target == OUTSIDE for target, _ in found)
        self._uncrawled += sum(target == UNCRAWLED for target, _ in found)
        self._outside_hosts.update(host_of(url) for target, url in found if target == OUTSIDE)

    def unread(self) -> list[GraphPage]:
        """Pages with a body whose links are not known yet."""
        return [
            page
            for number, page in enumerate(self._pages)
            if page.blob is not None and number not in self._out and number not in self._outside
        ]

    def _link(self, number: int, targets: set[int]) -> None:
        targets -= {number, OUTSIDE, UNCRAWLED}
        if self._links + len(targets) > self._max_links:
            self._is_whole = False
            return
        self._links += len(targets)
        self._out[number] = array("I", sorted(targets))

    def finish(self) -> CrawlGraph:
        unread = len(self.unread())
        redirects = {}
        for number, page in enumerate(self._pages):
            if page.is_redirect and (target := self.number_of(page.final_url)) >= 0 and target != number:
                redirects[number] = target
                self._out[number] = array("I", [target])
        starts, targets = array("I", [0]), array("I")
        for number in range(len(self._pages)):
            targets += self._out.pop(number, _NO_LINKS)
            starts.append(len(targets))
        outside = array("I", [self._outside.get(number, 0) for number in range(len(self._pages))])
        return CrawlGraph(
            self._pages,
            starts,
            targets,
            outside,
            self._outside_hosts,
            self._uncrawled,
            unread,
            self._is_whole,
            redirects,
        )


_NO_LINKS: Final = array("I")


def host_of(url: str) -> str:
    """The host of a URL with its port, as pages have it."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0].partition("?")[0].rpartition("@")[2]
    if host.rpartition(":")[2].isdecimal() and ":" in host:
        return host
    return f"{host}:{443 if scheme == 'https' else 80}"


class GraphLink(Struct, frozen=True):
    """A link from one page of a crawl to any URL."""

    source: GraphPage
    link: NotedLink


def links_of_section(section: LinkSection, pages: "dict[str, GraphPage]", blob: str) -> Iterator[GraphLink]:
    """All links of the pages in this blob, as they were noted."""
    most = len(section.urls)
    for stored in section.pages:
        page = pages.get(stored.url_hash.hex())
        if page is None or page.blob != blob:
            continue
        for number in stored.links:
            if number < most:
                yield GraphLink(page, section.link(number))
