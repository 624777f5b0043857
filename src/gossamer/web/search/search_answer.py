"""What a search is answered with."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.web.pages.cache_options import CacheMetadata

AccountStatus = Literal["ok", "partial", "busy", "failed", "skipped"]


class SearchPassage(msgspec.Struct, rename="camel"):
    """A part of a page. Its texts come from strangers."""

    headings: Annotated[list[str], Meta(description="The headings above it, the outermost first.")]
    snippet: Annotated[str, Meta(description="Plain text; matches are between double asterisks.")]
    url: Annotated[str, Meta(description="Scrolls to it: with an element id, or a text fragment.")]


class SearchResult(msgspec.Struct, rename="camel"):
    """A page. Its title, its snippet and its passages come from strangers."""

    url: str
    title: str
    snippet: Annotated[str, Meta(description="Plain text; matches are between double asterisks.")]
    score: Annotated[float, Meta(description="From 0 to 1; 1 is first with every provider.")]
    source: Annotated[str, Meta(description="The provider that ranks it highest.")]
    published_at: Annotated[str | UnsetType, Meta(description="ISO 8601, where it is known.")] = UNSET
    seen_at: Annotated[str | UnsetType, Meta(description="When this server read it.")] = UNSET
    passages: Annotated[
        list[SearchPassage] | UnsetType,
        Meta(description="The best parts of the page, the best first; only of pages that were read here."),
    ] = UNSET
    missing: Annotated[
        list[str] | UnsetType,
        Meta(description="Words of the question that the page does not have."),
    ] = UNSET


class ProviderAccount(msgspec.Struct):
    """How one provider answered."""

    status: Annotated[
        AccountStatus,
        Meta(
            description="`partial`: the search took too long, and this is what was found until then, or "
            "pages that were just read are missing. `busy`: too many searches run at once. `skipped`: it "
            "failed several times in a row and is left alone for a while."
        ),
    ]
    count: Annotated[int, Meta(description="Pages found.")]
    latency: Annotated[int, Meta(description="Milliseconds.")]
    reason: Annotated[str | UnsetType, Meta(description="Why it is not `ok`.")] = UNSET


class SearchAnswer(msgspec.Struct, rename="camel"):
    """What was found, the best first."""

    query: str
    results: list[SearchResult]
    providers: dict[str, ProviderAccount]
    request_id: str
    corrected: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="Words that no page has, and the known words that were searched for instead."),
    ] = UNSET
    cache: CacheMetadata | UnsetType = UNSET
