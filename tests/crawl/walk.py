"""A crawl without servers: one site that is a function, one queue, and the rules of a crawl."""

import heapq
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from gossamer.flows.crawl.plan import MAX_ALIKE, CrawlPlan
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.page_processor import PageProcessor
from gossamer.flows.crawl.visiting.visit import VisitEnd
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.settling import CrawlTask
from gossamer.web.crawl.fingerprint import Neighbours
from gossamer.web.crawl.progress import NO_COUNTS
from gossamer.web.crawl.scope import Scope
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.crawl.traps.trap import TrapKind
from gossamer.web.pages.page import Page
from gossamer.web.robots.robots import Robots
from gossamer.web.url.url import Url

HOME: Final = "http://127.0.0.1/"
NOVEMBER_2026: Final = 1_795_000_000_000
USEFUL: Final = re.compile(rb"useful-[\w/-]+")
OPEN: Final = Robots.parse("")


@dataclass
class Walked:
    stored: list[str] = field(default_factory=list)  # targets
    useful: set[bytes] = field(default_factory=set)
    cut: dict[tuple[TrapKind, str], tuple[int, str]] = field(default_factory=dict)
    blocked: int = 0

    @property
    def kinds(self) -> set[TrapKind]:
        return {kind for kind, _ in self.cut}


def new_plan(home: str = HOME, **spec: Any) -> CrawlPlan:
    wanted = CrawlSpec(**{"seeds": (home,), "sitemaps": False, "max_depth": 100_000, **spec})
    crawl = Crawl(
        id="crawl",
        tenant_id="tenant",
        name="",
        state="running",
        is_default=False,
        spec=wanted,
        counts=NO_COUNTS,
        created_at=NOVEMBER_2026,
    )
    return CrawlPlan(crawl, Scope.of(wanted), Neighbours(MAX_ALIKE), salt=7, read_at=0.0)


def walk(
    answer: Callable[[str], str | bytes | None], *, home: str = HOME, most: int = 10_000, **spec: Any
) -> Walked:
    """Crawl until nothing is left, or so many pages are stored. Results count at once, as of one worker."""
    plan, known = new_plan(home, **spec), KnownUrls()
    processor, walked = PageProcessor(known, "Gossamer/1"), Walked()
    waiting: list[tuple[int, int, NewUrl]] = []
    order, seen = count(), set[str]()

    def put(new: NewUrl) -> None:
        if new.url_hash not in seen:
            seen.add(new.url_hash)
            heapq.heappush(waiting, (-new.priority, next(order), new))

    for seed in seeds_of(plan.spec):
        put(seed)
    while waiting and len(walked.stored) < most:
        task = _task(heapq.heappop(waiting)[2])
        visited = processor.find_merged(task, plan)
        if visited is None:
            target = Url.parse(task.url).target
            body = answer(target)
            visited = processor.process(task, plan, _page(task.url, body), OPEN, 0.0)
            if body is not None and visited.row is not None:
                walked.stored.append(target)
                walked.useful |= set(USEFUL.findall(body if isinstance(body, bytes) else body.encode()))
        walked.blocked += visited.end is VisitEnd.BLOCKED
        known.add(visited.keys)
        for new in visited.urls:
            put(new)
        _count(plan, task.host, walked.cut)
    return walked


def _count(plan: CrawlPlan, host: str, cut: dict[tuple[TrapKind, str], tuple[int, str]]) -> None:
    changes = plan.traps.take_changes(host) if plan.traps is not None else None
    for each in changes[1] if changes is not None else ():
        before, example = cut.get((each.kind, each.pattern), (0, each.example))
        cut[each.kind, each.pattern] = before + each.cut, example


def _task(new: NewUrl) -> CrawlTask:
    return CrawlTask(
        crawl_id="crawl",
        url_hash=new.url_hash,
        url=new.url,
        host=new.host,
        depth=new.depth,
        priority=new.priority,
        attempt=1,
        hops=new.hops,
    )


def _page(url: str, body: str | bytes | None) -> Page:
    kind = "text/html; charset=utf-8"
    return Page(
        url=url,
        final_url=url,
        status=404 if body is None else 200,
        headers=(("content-type", kind),),
        body=body if isinstance(body, bytes) else (body or "").encode(),
        media_type="text/html",
        charset="utf-8",
    )


def told(cut: Mapping[tuple[TrapKind, str], tuple[int, str]]) -> str:
    return ", ".join(f"{kind} {pattern} {number}" for (kind, pattern), (number, _) in sorted(cut.items()))
