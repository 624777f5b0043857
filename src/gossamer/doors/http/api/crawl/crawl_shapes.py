"""Bodies and answers of the crawl endpoints."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from gossamer.doors.http.api.admin.jobs import Cursor
from gossamer.doors.http.core import timestamps
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.refresh.due_pages import FreshnessCounts
from gossamer.state.crawl.trap_rows import StoredTrap
from gossamer.state.crawl.waiting import Waiting
from gossamer.web.crawl.crawl_answer import LISTED_SEEDS, CrawlLine, ShownCrawl, ShownOptions, ShownWaiting
from gossamer.web.crawl.progress import CrawlCounts, CrawlState
from gossamer.web.crawl.refresh.freshness import ShownFreshness, ShownHints
from gossamer.web.crawl.refresh.sitemap_hints import HintRecord
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.crawl.traps.trap import Trap, TrapKind

MAX_LISTED: Final = 100
MAX_BODY: Final = 3_000_000  # bytes, enough for that many URLs of the greatest length
EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"

CrawlId = Annotated[str, Meta(min_length=1, max_length=26)]


class CrawlQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which crawls to list."""

    status: Annotated[CrawlState | None, Meta(description="Only crawls in this state.")] = None
    cursor: Annotated[Cursor | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Crawls in a page.")] = 50


def to_api(
    crawl: Crawl,
    waiting: Waiting | None = None,
    traps: Iterable[StoredTrap] = (),
    freshness: FreshnessCounts | None = None,
) -> ShownCrawl:
    here = f"/api/crawls/{crawl.id}"
    return ShownCrawl(
        crawl_id=crawl.id,
        name=crawl.name,
        status=crawl.state,
        seeds=list(crawl.spec.seeds),
        options=_options(crawl.spec),
        counts=crawl.counts,
        created_at=timestamps.from_ms(crawl.created_at),
        started_at=timestamps.from_ms(crawl.started_at),
        finished_at=timestamps.from_ms(crawl.finished_at),
        status_url=here,
        pages_url=f"{here}/pages",
        waiting=None
        if waiting is None
        else ShownWaiting(waiting.reason, timestamps.from_ms(waiting.until), waiting.hosts),
        traps=[_trap(each) for each in traps],
        freshness=None if freshness is None else _freshness(freshness),
    )


def _freshness(counts: FreshnessCounts) -> ShownFreshness:
    return ShownFreshness(
        pages=counts.pages,
        due=counts.due,
        gone=counts.gone,
        next_at=timestamps.from_ms(counts.next_at),
        today=counts.today,
        month=counts.month,
        unmodified_share=round(counts.month.unmodified / max(1, counts.month.visits), 3),
        expected=None if counts.expected is None else round(counts.expected, 3),
        hints=[_hints(host, record) for host, record in counts.hints.items()],
    )


def _hints(host: str, record: HintRecord) -> ShownHints:
    return ShownHints(
        host=host,
        followed=round(record.followed, 1),
        confirmed=round(record.confirmed, 1),
        expected=round(record.expected, 1),
        changes=round(record.changes, 1),
        announced=round(record.announced, 1),
        believed=record.is_believed,
        patience=round(record.patience, 2),
    )


def _trap(trap: StoredTrap) -> Trap:
    shown = msgspec.structs.asdict(trap) | {"since": timestamps.from_ms(trap.since)}
    return Trap(**shown | {"kind": TrapKind(trap.kind)})


def to_line(crawl: Crawl) -> CrawlLine:
    return CrawlLine(
        crawl_id=crawl.id,
        name=crawl.name,
        status=crawl.state,
        seeds=list(crawl.spec.seeds[:LISTED_SEEDS]),
        counts=crawl.counts,
        created_at=timestamps.from_ms(crawl.created_at),
        finished_at=timestamps.from_ms(crawl.finished_at),
        status_url=f"/api/crawls/{crawl.id}",
    )


def same_fields(shape: type[msgspec.Struct], source: object) -> dict[str, Any]:
    """The values of the fields that an answer has in common with what it shows."""
    return {name: getattr(source, name) for name in shape.__struct_fields__ if hasattr(source, name)}


def _options(spec: CrawlSpec) -> ShownOptions:
    return ShownOptions(**same_fields(ShownOptions, spec) | {"headers": tuple(spec.headers)})


EXAMPLE_COUNTS: Final = CrawlCounts(
    pending=38, in_progress=12, completed=204, failed=3, blocked=7, pages=204, bytes=5_126_400
)
EXAMPLE_CRAWL: Final = ShownCrawl(
    crawl_id=EXAMPLE_ID,
    name="",
    status="running",
    seeds=["https://example.com/"],
    options=_options(CrawlSpec(max_pages=500)),
    counts=EXAMPLE_COUNTS,
    created_at="2026-01-01T12:00:00.000Z",
    started_at="2026-01-01T12:00:00.200Z",
    finished_at=None,
    status_url=f"/api/crawls/{EXAMPLE_ID}",
    pages_url=f"/api/crawls/{EXAMPLE_ID}/pages",
    traps=[
        Trap(
            kind=TrapKind.PARAMETER,
            pattern="/shop/{word}?sid",
            host="example.com:443",
            cut=1_412,
            example="https://example.com/shop/boots?sid=9f86d081884c7d65",
            since="2026-01-01T12:00:09.000Z",
        )
    ],
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
