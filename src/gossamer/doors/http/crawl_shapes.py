"""Crawls as they are asked for and shown."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from gossamer.doors.http import moments
from gossamer.doors.http.jobs import Cursor
from gossamer.doors.http.read_options import HEADERS, sendable
from gossamer.state.crawls import Counts, Crawl, Spec
from gossamer.state.tenants import Tier
from gossamer.state.waiting import Reason, Waiting

MOST_LISTED: Final = 100
MOST_SEEDS: Final = 1_000
LARGEST_BODY: Final = 3_000_000  # bytes, so that as many URLs of the greatest length fit
FEW: Final = 3  # seeds that a list shows of each crawl
MOST_PAGES: Final = 100_000_000
DEEPEST: Final = 100
MOST_LINKS: Final = 1_000  # of a page that are followed
LONGEST_DELAY: Final = 3_600.0
EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"

CrawlId = Annotated[str, Meta(min_length=1, max_length=26)]
CrawlState = Literal["running", "paused", "done", "canceled"]
Patterns = Annotated[list[Annotated[str, Meta(min_length=1, max_length=500)]], Meta(max_length=50)]


class NewCrawl(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Where to begin, and how far to go."""

    seeds: Annotated[list[str], Meta(min_length=1, max_length=MOST_SEEDS, description="Pages to begin with.")]
    name: Annotated[str, Meta(max_length=200, description="A note for people.")] = ""
    scope: Annotated[
        Literal["host", "domain", "prefix", "any"],
        Meta(
            description="Which links are followed: to the seeds' hosts, to their domains with all of their "
            "subdomains, to what is below the seeds' folders, or to anywhere."
        ),
    ] = "host"
    include: Annotated[
        Patterns,
        Meta(
            description="Only URLs that match one of these; `*` stands for anything. A pattern that begins "
            "with a slash is compared with path and query, another with the whole URL."
        ),
    ] = []
    exclude: Annotated[Patterns, Meta(description="No URL that matches one of these.")] = []
    max_pages: Annotated[int, Meta(ge=1, le=MOST_PAGES, description="Store no more pages than this.")] = 1_000
    max_depth: Annotated[
        int, Meta(ge=0, le=DEEPEST, description="Follow links at most so far from a seed.")
    ] = 10
    max_urls_per_page: Annotated[
        int, Meta(ge=0, le=MOST_LINKS, description="Links of one page that are followed.")
    ] = MOST_LINKS
    delay: Annotated[
        Annotated[float, Meta(ge=0, le=LONGEST_DELAY)] | None,
        Meta(
            description="Seconds between two requests to a host. Less than the server's own is for admins; a "
            "longer crawl-delay in robots.txt always wins."
        ),
    ] = None
    render: Annotated[
        Literal["never", "auto", "always"],
        Meta(description="By a browser: `never`, `auto` (where a page is an empty shell) or `always`."),
    ] = "never"
    sitemaps: Annotated[bool, Meta(description="Begin with the pages of the hosts' sitemaps too.")] = True
    ignore_parameters: Annotated[
        Annotated[list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(max_length=50)],
        Meta(
            description="URLs that differ only in these parameters of their query are one page, as with "
            "those that only track visitors, like `utm_*`. `*` at the end stands for anything."
        ),
    ] = []
    ignore_trailing_slash: Annotated[bool, Meta(description="`/a` and `/a/` are one page.")] = False
    headers: Annotated[
        dict[str, Annotated[str, Meta(max_length=8000)]],
        Meta(
            max_length=20,
            description="Sent to the seeds' own hosts only, and never shown. Of these: "
            f"{', '.join(sorted(HEADERS))}.",
        ),
    ] = {}

    def spec(self, tier: Tier) -> Spec:
        """Raises `Problem` for headers that cannot be sent along."""
        return Spec(
            tier=tier.value,
            seeds=tuple(self.seeds),
            scope=self.scope,
            include=tuple(self.include),
            exclude=tuple(self.exclude),
            max_pages=self.max_pages,
            max_depth=self.max_depth,
            max_urls_per_page=self.max_urls_per_page,
            delay=self.delay,
            render=self.render,
            headers=sendable(self.headers),
            sitemaps=self.sitemaps,
            ignore_parameters=tuple(self.ignore_parameters),
            ignore_trailing_slash=self.ignore_trailing_slash,
        )


class CrawlOptions(msgspec.Struct, rename="camel"):
    """How far it goes, and how fast."""

    scope: Literal["host", "domain", "prefix", "any"]
    include: list[str]
    exclude: list[str]
    max_pages: int
    max_depth: int
    max_urls_per_page: int
    delay: Annotated[float | None, Meta(description="`null`: the server's own.")]
    render: Literal["never", "auto", "always"]
    sitemaps: bool
    ignore_parameters: list[str]
    ignore_trailing_slash: bool
    headers: Annotated[list[str], Meta(description="The names of those that are sent along.")]


class ShownCounts(msgspec.Struct, rename="camel"):
    """How many URLs there are, by what became of them."""

    pending: Annotated[int, Meta(description="Not fetched yet; left so when `maxPages` are stored.")]
    in_progress: Annotated[int, Meta(description="Taken by a worker.")]
    completed: Annotated[int, Meta(description="Answered, whatever the answer was; sitemaps count too.")]
    failed: Annotated[int, Meta(description="Without an answer, after all attempts.")]
    blocked: Annotated[int, Meta(description="Not fetched: robots.txt does not allow it.")]
    pages: Annotated[int, Meta(description="Pages that are stored.")]
    bytes: Annotated[int, Meta(description="Of their bodies.")]


class ShownWaiting(msgspec.Struct, rename="camel"):
    """What a crawl waits for while none of its hosts is asked."""

    reason: Annotated[
        Reason,
        Meta(
            description="Of the host that is ready first. `robots_unreachable`: it does not say what its "
            "robots.txt is, and is asked again after an hour. `failing`: it failed too often in a row. "
            "`pace`: it wants to be asked later. `retry`: what is left failed before and is tried again. "
            "`render_limit`: what is left is to be rendered, and the tenant may not render more now. "
            "`turn`: those who crawl are busy with others, and come to it. "
            "`worker`: nobody is there who crawls; start `gossamer worker`."
        ),
    ]
    until: Annotated[str | None, Meta(description="When it goes on; `null`: that is not known.")]
    hosts: Annotated[int, Meta(description="Hosts on which something is left to do.")]


class ShownCrawl(msgspec.Struct, rename="camel"):
    """A crawl, and how far it is."""

    crawl_id: str
    name: str
    status: Annotated[
        CrawlState, Meta(description="`done` when nothing is left to fetch, or `maxPages` are stored.")
    ]
    seeds: list[str]
    options: CrawlOptions
    counts: ShownCounts
    created_at: str
    started_at: Annotated[str | None, Meta(description="When a worker took the first URL.")]
    finished_at: str | None
    status_url: str
    pages_url: str
    waiting: Annotated[
        ShownWaiting | None,
        Meta(description="Why nothing happens though it is `running`; `null` while hosts are asked."),
    ] = None


class CrawlLine(msgspec.Struct, rename="camel"):
    """A crawl in a list."""

    crawl_id: str
    name: str
    status: CrawlState
    seeds: Annotated[list[str], Meta(description="The first few.")]
    counts: ShownCounts
    created_at: str
    finished_at: str | None
    status_url: str


class CrawlList(msgspec.Struct, rename="camel"):
    """Crawls, newest first."""

    crawls: list[CrawlLine]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class CrawlQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which crawls to list."""

    status: Annotated[CrawlState | None, Meta(description="Only in this state.")] = None
    cursor: Annotated[Cursor | None, Meta(description="Where the page before ended.")] = None
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED, description="Crawls a page.")] = 50


def shown(crawl: Crawl, waiting: Waiting | None = None) -> ShownCrawl:
    here = f"/api/crawls/{crawl.id}"
    return ShownCrawl(
        crawl_id=crawl.id,
        name=crawl.name,
        status=crawl.state,
        seeds=list(crawl.spec.seeds),
        options=_options(crawl.spec),
        counts=counts(crawl.counts),
        created_at=moments.stored(crawl.created_at),
        started_at=moments.stored(crawl.started_at),
        finished_at=moments.stored(crawl.finished_at),
        status_url=here,
        pages_url=f"{here}/pages",
        waiting=None
        if waiting is None
        else ShownWaiting(waiting.reason, moments.stored(waiting.until), waiting.hosts),
    )


def line(crawl: Crawl) -> CrawlLine:
    return CrawlLine(
        crawl_id=crawl.id,
        name=crawl.name,
        status=crawl.state,
        seeds=list(crawl.spec.seeds[:FEW]),
        counts=counts(crawl.counts),
        created_at=moments.stored(crawl.created_at),
        finished_at=moments.stored(crawl.finished_at),
        status_url=f"/api/crawls/{crawl.id}",
    )


def counts(known: Counts) -> ShownCounts:
    return ShownCounts(
        pending=known.pending,
        in_progress=known.in_progress,
        completed=known.completed,
        failed=known.failed,
        blocked=known.blocked,
        pages=known.pages,
        bytes=known.bytes,
    )


def _options(spec: Spec) -> CrawlOptions:
    return CrawlOptions(
        scope=spec.scope,
        include=list(spec.include),
        exclude=list(spec.exclude),
        max_pages=spec.max_pages,
        max_depth=spec.max_depth,
        max_urls_per_page=spec.max_urls_per_page,
        delay=spec.delay,
        render=spec.render,
        sitemaps=spec.sitemaps,
        ignore_parameters=list(spec.ignore_parameters),
        ignore_trailing_slash=spec.ignore_trailing_slash,
        headers=[name for name, _ in spec.headers],
    )


EXAMPLE_COUNTS: Final = ShownCounts(38, 12, 204, 3, 7, 204, 5_126_400)
EXAMPLE_CRAWL: Final = ShownCrawl(
    crawl_id=EXAMPLE_ID,
    name="",
    status="running",
    seeds=["https://example.com/"],
    options=_options(Spec(seeds=(), max_pages=500)),
    counts=EXAMPLE_COUNTS,
    created_at="2026-01-01T12:00:00.000Z",
    started_at="2026-01-01T12:00:00.200Z",
    finished_at=None,
    status_url=f"/api/crawls/{EXAMPLE_ID}",
    pages_url=f"/api/crawls/{EXAMPLE_ID}/pages",
)
EXAMPLE_LINE: Final = CrawlLine(
    crawl_id=EXAMPLE_ID,
    name="",
    status="running",
    seeds=["https://example.com/"],
    counts=EXAMPLE_COUNTS,
    created_at="2026-01-01T12:00:00.000Z",
    finished_at=None,
    status_url=f"/api/crawls/{EXAMPLE_ID}",
)
