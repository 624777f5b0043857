"""VisitFigures: what the visit of a browser took, and what it saw."""

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType


class Awaited(StrEnum):
    """What the visit was still waiting for when its time was up."""

    DOCUMENT = "document"  # its rest
    SELECTOR = "selector"
    PRERENDER_READY = "prerender_ready"  # the page's own signal
    NETWORK = "network"  # a response
    CONTENT = "content"  # any text
    STILLNESS = "stillness"  # no more changes


class VisitFigures(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the visit of a browser took. Times are in milliseconds."""

    queue_time: Annotated[int, Meta(description="Until a browser had room.")]
    navigate_time: Annotated[int, Meta(description="Until the document was there.")]
    wait_time: Annotated[int, Meta(description="Until the page was complete.")]
    capture_time: Annotated[int, Meta(description="To read the page.")]
    requests: int
    refused: Annotated[int, Meta(description="Of these, to addresses that are not allowed.")] = 0
    received: Annotated[int, Meta(description="Bytes.")]
    awaited: Annotated[
        Awaited | UnsetType, Meta(description="What the page was still waited for when time was up.")
    ] = UNSET
    console: Annotated[tuple[str, ...], Meta(description="The page's own errors.")] = ()
