"""Freshness: how fresh a crawl is, and what that takes, as answers show it."""

from typing import Annotated

from msgspec import Meta, Struct


class FreshnessSums(Struct, frozen=True, rename="camel"):
    """What keeping a crawl fresh took, and brought."""

    planned: Annotated[int, Meta(description="Visits that were put into the frontier.")] = 0
    visits: Annotated[int, Meta(description="Pages that were visited again.")] = 0
    changed: Annotated[int, Meta(description="Those that had changed, moved or come back.")] = 0
    gone: Annotated[int, Meta(description="Those that are not there any more.")] = 0
    unmodified: Annotated[int, Meta(description="Answers 304, which have no body.")] = 0
    failed: Annotated[int, Meta(description="Visits without an answer, or with something else.")] = 0
    bytes: Annotated[int, Meta(description="Of the bodies of all answers, as they were sent.")] = 0


class ShownFreshness(Struct, frozen=True, rename="camel"):
    """How fresh a crawl is."""

    due: Annotated[int, Meta(description="Pages that wait for a visit now.")]
    gone: Annotated[int, Meta(description="Pages that answered 404 or 410 twice.")]
    next_at: Annotated[str | None, Meta(description="When the next page is due.")]
    today: Annotated[FreshnessSums, Meta(description="Since midnight, UTC.")]
    month: Annotated[FreshnessSums, Meta(description="In the last 30 days.")]
    unmodified_share: Annotated[
        float, Meta(description="The share of visits in the last 30 days that needed no body, from 0 to 1.")
    ]


class QueuedRefresh(Struct, frozen=True, rename="camel"):
    """Pages that are visited again now."""

    crawl_id: str
    queued: Annotated[
        int, Meta(description="Pages that were put into the frontier. The budget of each host bounds it.")
    ]
