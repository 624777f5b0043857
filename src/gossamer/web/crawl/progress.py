"""How far a crawl is: its state, its counts, and what it waits for."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

CrawlState = Literal["running", "paused", "done", "canceled"]
UrlState = Literal["pending", "in_progress", "completed", "failed", "blocked"]
WaitReason = Literal[
    "robots_unreachable",
    "failing",
    "pace",
    "retry",
    "render_limit",
    "turn",
    "worker",
    "page_quota",
    "byte_quota",
]


class UrlCounts(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many URLs there are in each state."""

    pending: Annotated[int, Meta(description="Not fetched yet; they stay so once `maxPages` are stored.")]
    in_progress: Annotated[int, Meta(description="Taken by a worker.")]
    completed: Annotated[int, Meta(description="Answered, whatever the answer was; sitemaps count too.")]
    failed: Annotated[int, Meta(description="Not answered, after all attempts.")]
    blocked: Annotated[
        int,
        Meta(
            description="Not fetched, because robots.txt does not allow it, or because it turned out to be "
            "the same page as another URL."
        ),
    ]

    @property
    def left(self) -> int:
        return self.pending + self.in_progress


class CrawlCounts(UrlCounts, frozen=True, kw_only=True):
    """How many URLs a crawl has in each state, and how much it has stored."""

    pages: Annotated[int, Meta(description="Pages that are stored.")]
    bytes: Annotated[int, Meta(description="Bytes of their bodies.")]

    @property
    def urls(self) -> int:
        return self.left + self.completed + self.failed + self.blocked


NO_COUNTS: Final = CrawlCounts(**dict.fromkeys(CrawlCounts.__struct_fields__, 0))
