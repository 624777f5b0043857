"""Brief: a page for a language model, within a budget of tokens and marked as untrusted.

How the page begins is kept first, then how each section begins, then the rest. A section that is too long is
cut between its blocks. A query prefers the passages that it is about; everything stands in page order. What
was left out is named. Text that a person would not see on the page is removed.
"""

from typing import Annotated, Final

from msgspec import Meta, Struct

from gossamer.web.content.marked import mark

DEFAULT_TOKENS: Final = 8_000
MIN_TOKENS: Final = 100
MAX_TOKENS: Final = 200_000
MAX_QUERY_CHARS: Final = 400


class LeftOut(Struct, frozen=True):
    """A section of the page that did not fit, or not all of it."""

    heading: Annotated[str, Meta(description="Empty for the text before the first heading.")]
    level: Annotated[int, Meta(description="1 to 6; 0 if there is no heading.")]
    tokens: int


class Brief(Struct, frozen=True, kw_only=True):
    text: str
    tokens: int  # of everything, including the boundaries and the notice
    left_out: tuple[LeftOut, ...] = ()
    sections_left_out: int = 0
    tokens_left_out: int = 0
    names: str = ""  # of sections that were left out, as many as there is room for


def envelop(brief: Brief, boundary: str) -> str:
    """Put the text between lines that no page can forge: the boundary is random for every answer."""
    # Headings are the page's own words, so they stand within the lines too.
    marked = mark("\n\n".join(filter(None, (brief.text, brief.names))), boundary)
    if not brief.sections_left_out:
        return marked
    tokens, sections = brief.tokens_left_out, brief.sections_left_out
    return f"{marked}\nLeft out for length: {tokens} tokens in {sections} sections."
