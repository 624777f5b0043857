"""MemoryEntry: what was remembered, as the database keeps it and the answer shows it."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

MAX_VALUE_BYTES: Final = 1_048_576  # of a value as JSON

MemoryFormat = Literal["json", "text", "markdown"]
PageOrigin = Literal["web", "cache", "crawl"]


class PageSource(msgspec.Struct, frozen=True, rename="camel"):
    """The page that an entry was read from."""

    url: Annotated[str, Meta(description="As it was given.")]
    final_url: Annotated[str, Meta(description="After redirects.")]
    fetched_at: Annotated[str, Meta(description="When the site was asked.")]
    origin: Annotated[
        PageOrigin,
        Meta(description="`cache` and `crawl`: it was stored here already, and not fetched again."),
    ]


class MemoryVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is known of one version of an entry."""

    version: Annotated[int, Meta(description="Begins with 1 and grows by one with every write.")]
    format: Annotated[MemoryFormat, Meta(description="`text` and `markdown`: the value is a string.")]
    size: Annotated[int, Meta(description="Bytes of the value, as JSON.")]
    updated_at: Annotated[str, Meta(description="When it was written.")]
    title: str = ""
    tags: tuple[str, ...] = ()
    source: Annotated[
        PageSource | UnsetType, Meta(description="The page, if the entry was read from one.")
    ] = UNSET


class MemoryEntry(MemoryVersion, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An entry. The value of one that has a `source` comes from strangers."""

    namespace: str
    key: str
    created_at: str
    expires_at: Annotated[str | UnsetType, Meta(description="From then on it is not there any more.")] = UNSET
    value: Annotated[Any, Meta(description="Any JSON. Lists of entries leave it out.")] = UNSET
