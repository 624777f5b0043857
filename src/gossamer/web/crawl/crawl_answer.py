"""What calls about crawls are answered with."""

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.web.crawl.progress import CrawlCounts, CrawlState, WaitReason
from gossamer.web.crawl.refresh.freshness import ShownFreshness
from gossamer.web.crawl.spec import CrawlOptions
from gossamer.web.crawl.traps.trap import Trap
from gossamer.web.documents.warc.bad_archive import BadArchive
from gossamer.web.webhooks.webhook import AcceptedWebhook


class ShownOptions(CrawlOptions, frozen=True, kw_only=True):
    """How far it goes, and how fast."""

    max_pages: Annotated[int, Meta(description="It stores at most this many pages.")]
    headers: Annotated[tuple[str, ...], Meta(description="The names of the headers that are sent.")]


_OPTION_NAMES: Final = list(ShownOptions.__struct_encode_fields__)  # an answer always has them all


class ShownWaiting(msgspec.Struct, rename="camel"):
    """What a crawl waits for while it sends no requests."""

    reason: Annotated[
        WaitReason,
        Meta(
            description="The reason of the host that is ready first. `robots_unreachable`: its robots.txt "
            "cannot be fetched, and is tried again after an hour. `failing`: it failed too often in a row. "
            "`pace`: it asks for a longer pause. `retry`: the URLs left failed before and are tried again. "
            "`render_limit`: the pages left need a browser, and the tenant may not render more now. "
            "`turn`: the workers are busy with other hosts and will come to it. "
            "`worker`: no worker crawls; start `gossamer worker`. "
            "`page_quota`, `byte_quota`: the crawl is paused because its tenant has used up a quota."
        ),
    ]
    until: Annotated[str | None, Meta(description="When it goes on; `null` if that is not known.")]
    hosts: Annotated[int, Meta(description="Hosts with URLs left to fetch.")]


LISTED_SEEDS: Final = 3  # that a list shows of each crawl


class CrawlLine(msgspec.Struct, rename="camel"):
    """A crawl in a list."""

    crawl_id: str
    name: str
    status: CrawlState
    seeds: Annotated[list[str], Meta(description="The first few.")]
    counts: CrawlCounts
    created_at: str
    finished_at: str | None
    status_url: str


class ShownCrawl(msgspec.Struct, rename="camel"):
    """A crawl, and how far it is."""

    crawl_id: str
    name: str
    status: Annotated[
        CrawlState, Meta(description="`done` when no URL is left to fetch, or `maxPages` are stored.")
    ]
    seeds: list[str]
    options: Annotated[ShownOptions, Meta(extra_json_schema={"required": _OPTION_NAMES})]
    counts: CrawlCounts
    created_at: str
    started_at: Annotated[str | None, Meta(description="When a worker took the first URL.")]
    finished_at: str | None
    status_url: str
    pages_url: str
    waiting: Annotated[
        ShownWaiting | None,
        Meta(description="Why a `running` crawl sends no requests, or which quota has paused it."),
    ] = None
    traps: Annotated[
        list[Trap],
        Meta(description="What was not followed because it would never end; the greatest first, up to 100."),
    ] = []
    freshness: Annotated[
        ShownFreshness | None, Meta(description="How fresh a crawl with `refresh` is, and what that takes.")
    ] = None
    webhook: Annotated[
        AcceptedWebhook | UnsetType, Meta(description="Only in the answer to the request that gave it.")
    ] = UNSET

    @property
    def line(self) -> CrawlLine:
        """As a list shows it."""
        known = {name: getattr(self, name) for name in CrawlLine.__struct_fields__}
        return CrawlLine(**known | {"seeds": self.seeds[:LISTED_SEEDS]})


class CrawlList(msgspec.Struct, rename="camel"):
    """Crawls, newest first."""

    crawls: list[CrawlLine]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class ImportAccepted(msgspec.Struct, frozen=True, rename="camel"):
    """A file that was received, and will be a crawl."""

    crawl_id: Annotated[str, Meta(description="Its pages are there as they are read.")]
    job_id: Annotated[str, Meta(description="The job that reads the file.")]
    crawl_url: str
    status_url: Annotated[
        str, Meta(description="Ask here until the job is done; its result tells what was in the file.")
    ]
    events_url: Annotated[str, Meta(description="Or follow it here.")]


class ImportResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of a file: the result of the job that has read it."""

    crawl_id: str
    pages: Annotated[int, Meta(description="Pages that were stored.")]
    known: Annotated[int, Meta(description="Captures of a URL that was there before.")]
    refused: Annotated[int, Meta(description="Captures with a bad URL, or that cannot be parsed.")]
    skipped: Annotated[
        dict[str, int],
        Meta(
            description="Captures that were passed over, by why: `kind` (not a page), `too_large`, `revisit` "
            "(of a body that is not in the file), `url`, `head`."
        ),
    ]
    reason: Annotated[
        BadArchive | None, Meta(description="Why the file was not read to its end; `null` if it was.")
    ] = None
