"""Nouns: the kinds of traps, and a trap as it is told."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

MAX_TOLD: Final = 50  # traps of a host; more of a kind are told as one
MANY: Final = "*"  # the pattern of those


class TrapKind(StrEnum):
    SESSION_ID = "session_id"
    PARAMETER = "parameter"
    COPIES = "copies"
    DUPLICATES = "duplicates"
    CALENDAR = "calendar"
    FACETS = "facets"
    REPEATING_PATH = "repeating_path"
    DEEP_PATH = "deep_path"


class Trap(Struct, frozen=True, rename="camel"):
    """A trap that a crawl has found, and what it did not follow because of it."""

    kind: Annotated[
        TrapKind,
        Meta(
            description="`session_id`, `parameter`: URLs that differ only in a session id, or in a parameter "
            "that does not change the content, count as one page. `copies`: links of exact copies of other "
            "pages. `duplicates`: pages of one pattern that lead to more and more pages without anything "
            "new. `calendar`: the same with dates far ahead or behind. `facets`: combinations of filters "
            "that lead to nothing new. `repeating_path`: the same folders over and over. `deep_path`: "
            "more folders than a site has."
        ),
    ]
    pattern: Annotated[
        str,
        Meta(
            description="What the URLs have in common: `{n}` stands for a number, `{date}`, `{token}` and "
            "`{word}` for such parts; then the names of the parameters. `*`: several patterns."
        ),
    ]
    host: str
    cut: Annotated[int, Meta(description="About how many URLs were not followed.")]
    example: Annotated[str, Meta(description="One of them.")]
    since: Annotated[str, Meta(description="When it was first met.")]


class TrapCount(Struct, frozen=True):
    """What was cut since it was last written."""

    kind: TrapKind
    pattern: str
    cut: int
    example: str
