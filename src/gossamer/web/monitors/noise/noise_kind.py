"""NoiseKind: why a difference means nothing."""

from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta


class NoiseKind(StrEnum):
    AGE = "age"  # `5 minutes ago`
    COUNTER = "counter"  # views, likes, visitors, people who look at the same
    DATE = "date"  # today's date, or when the page was last touched
    COUNTDOWN = "countdown"  # time that is left, and that passed between the two looks
    ID = "id"  # of a session, a request or a build
    GREETING = "greeting"
    ADVERTISEMENT = "advertisement"
    ELSEWHERE = "elsewhere"  # a block of related or recommended things
    ORDER = "order"  # the same lines or items in another order
    LAYOUT = "layout"  # the same words in other lines, other white space or other punctuation marks
    BESIDE = "beside"  # it was on the page before, or still is, outside of the main content
    IGNORED = "ignored"  # the caller's own phrases


class NoiseOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What is no change. Everything is on, unless it is said otherwise."""

    ages: Annotated[bool, Meta(description="`5 minutes ago`, `yesterday`, in many languages.")] = True
    counters: Annotated[bool, Meta(description="Views, likes, comments, visitors, downloads.")] = True
    dates: Annotated[
        bool, Meta(description="Today's date, when a page was last updated, years of copyright, countdowns.")
    ] = True
    ids: Annotated[bool, Meta(description="Ids of sessions, requests and builds.")] = True
    advertisements: Annotated[bool, Meta(description="What is labelled as paid for.")] = True
    elsewhere: Annotated[bool, Meta(description="Related, recommended, most read: other pages.")] = True
    order: Annotated[bool, Meta(description="The same lines or items in another order.")] = True
    ignore: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...],
        Meta(max_length=50, description="Lines with one of these phrases are no change."),
    ] = ()


ALL_NOISE: Final = NoiseOptions()
