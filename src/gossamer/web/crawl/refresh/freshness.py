"""Freshness: how fresh a crawl is, and what that takes, as answers show it."""

from typing import Annotated

from msgspec import Meta, Struct


class FreshnessSums(Struct, frozen=True, rename="camel"):
    """What keeping a crawl fresh took, and brought."""

    planned: Annotated[
        int, Meta(description="Visits that were put into the frontier; those to sitemaps count too.")
    ] = 0
    visits: Annotated[int, Meta(description="Pages that were visited again.")] = 0
    changed: Annotated[int, Meta(description="Those that had changed, moved or come back.")] = 0
    gone: Annotated[int, Meta(description="Those that are not there any more.")] = 0
    unmodified: Annotated[int, Meta(description="Answers 304, which have no body.")] = 0
    failed: Annotated[int, Meta(description="Visits without an answer, or with something else.")] = 0
    bytes: Annotated[int, Meta(description="Of the bodies of all answers, as they were sent.")] = 0
    moved: Annotated[int, Meta(description="Of the changed ones, those that redirect now.")] = 0
    sitemaps: Annotated[int, Meta(description="Sitemaps that were read again.")] = 0


class ShownHints(Struct, frozen=True, rename="camel"):
    """How good the sitemaps of a host are at telling of changes. Old cases fade, so counts are no whole
    numbers."""

    host: str
    followed: Annotated[float, Meta(description="Hints (a newer `lastmod`) after which a page was visited.")]
    confirmed: Annotated[float, Meta(description="Those of them that were changes.")]
    expected: Annotated[
        float, Meta(description="Those that were to be expected anyway, by how often the pages change.")
    ]
    changes: Annotated[float, Meta(description="Changes of pages that a sitemap lists with a `lastmod`.")]
    announced: Annotated[float, Meta(description="Those of them of which it told.")]
    believed: Annotated[bool, Meta(description="Whether hints make pages due.")]
    patience: Annotated[
        float, Meta(description="How many times longer pages wait, since the sitemap would tell.")
    ]


class ShownFreshness(Struct, frozen=True, rename="camel"):
    """How fresh a crawl is."""

    pages: Annotated[int, Meta(description="Pages that are kept fresh.")]
    due: Annotated[int, Meta(description="Pages that wait for a visit now.")]
    gone: Annotated[int, Meta(description="Pages that answered 404 or 410 twice.")]
    next_at: Annotated[str | None, Meta(description="When the next page is due.")]
    today: Annotated[FreshnessSums, Meta(description="Since midnight, UTC.")]
    month: Annotated[FreshnessSums, Meta(description="In the last 30 days.")]
    unmodified_share: Annotated[
        float, Meta(description="The share of visits in the last 30 days that needed no body, from 0 to 1.")
    ]
    expected: Annotated[
        float | None,
        Meta(
            description="The share of the pages that are probably what the site shows now, from 0 to 1, by "
            "the rates at which they change; of up to 1,000 pages. `null`: there is none."
        ),
    ]
    hints: Annotated[list[ShownHints], Meta(description="By host, of up to 20 of them.")]


class QueuedRefresh(Struct, frozen=True, rename="camel"):
    """Pages that are visited again now."""

    crawl_id: str
    queued: Annotated[
        int, Meta(description="Pages that were put into the frontier. The budget of each host bounds it.")
    ]
