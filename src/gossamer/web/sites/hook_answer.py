"""Incoming webhooks of sites, as the API takes and shows them."""

from typing import Annotated, Final

from msgspec import Meta, Struct

MAX_OLD_SECONDS: Final = 7 * 86_400


class HookRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How the webhook is to be."""

    signed: Annotated[
        bool,
        Meta(description="Whether messages must carry a signature of Standard Webhooks beside the address."),
    ] = False
    old_seconds: Annotated[
        int,
        Meta(
            ge=0, le=MAX_OLD_SECONDS, description="How long the address and secret before this go on working."
        ),
    ] = 86_400


class ShownHook(Struct, frozen=True, kw_only=True, rename="camel"):
    """The incoming webhook of a site."""

    site_id: str
    is_set_up: bool
    signed: bool = False
    created_at: str | None = None
    last_at: Annotated[str | None, Meta(description="When a message was last taken.")] = None
    old_until: Annotated[str | None, Meta(description="Until when the one before works, too.")] = None
    url: Annotated[
        str | None, Meta(description="Shown only when it is made: whoever knows it can use it.")
    ] = None
    secret: Annotated[str | None, Meta(description="What signs messages. Shown only when it is made.")] = None


class HookTaken(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of a message."""

    pages: Annotated[int, Meta(description="Pages of the site that are rendered again.")]
    ignored: Annotated[int, Meta(description="Addresses that are not of the site, or too many.")]
    repeated: Annotated[bool, Meta(description="The message was taken before, and nothing new happens.")] = (
        False
    )
