"""GetFetchQuery: a page that is asked for by GET, all of it in the address."""

from typing import Annotated, Literal, Self

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict

from gossamer.problems import validation_error
from gossamer.web.content.brief import DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS
from gossamer.web.pages.page_request import (
    FORMATS,
    MAX_TIMEOUT,
    LlmQuery,
    PageRequest,
    PageUrl,
    Rendering,
    Selector,
    WantsSummary,
)


class GetFetchQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The options of `POST /fetch` that a query can name. Headers are none of them: addresses are logged."""

    url: PageUrl
    format: Annotated[
        Literal["markdown", "llm"] | None, Meta(description="The format of `content`; `markdown` by default.")
    ] = None
    formats: Annotated[
        str | None,
        Meta(description=f"What to answer with, separated by commas: {', '.join(FORMATS)}."),
    ] = None
    main_content: Annotated[bool, Meta(description="Only the main content; else the full page.")] = True
    include: Annotated[Selector | None, Meta(description="A CSS selector: keep only what matches.")] = None
    exclude: Annotated[Selector | None, Meta(description="A CSS selector: drop what matches.")] = None
    max_tokens: Annotated[
        int, Meta(ge=MIN_TOKENS, le=MAX_TOKENS, description="The most tokens that the format `llm` may have.")
    ] = DEFAULT_TOKENS
    query: LlmQuery = ""
    summary: WantsSummary = False
    render: Annotated[
        Rendering | UnsetType, Meta(description="Whether to use a browser: `never`, `auto` or `always`.")
    ] = UNSET
    wait_for_selector: Annotated[
        Selector | UnsetType, Meta(description="For the browser: wait until an element matches.")
    ] = UNSET
    timeout: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_TIMEOUT)] | UnsetType,
        Meta(description="Milliseconds for everything, retries included."),
    ] = UNSET
    cache: Annotated[
        bool | None,
        Meta(description="Answer from the cache if possible, and keep the answer there. Off by default."),
    ] = None
    cache_ttl: Annotated[int, Meta(description="Seconds to keep the answer: 60 to 86,400.")] = 3600
    max_age: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Take no answer from the cache that is older than this many seconds."),
    ] = None

    def to_request(self) -> PageRequest:
        """Raises `Problem` for formats that there are not."""
        options = asdict(self)
        formats, chosen = options.pop("formats"), options.pop("format")
        if formats is not None:
            options["formats"] = _parse_formats(formats)
        for name in ("include", "exclude"):
            options[name] = () if options[name] is None else (options[name],)
        return PageRequest(**options).with_format(chosen)

    @classmethod
    def example(cls) -> Self:
        return cls(url="https://example.com/", cache=True)


def _parse_formats(text: str) -> tuple[str, ...]:
    named = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = [name for name in named if name not in FORMATS]
    if unknown:
        raise validation_error(
            f"There is no format {unknown[0][:50]!r} - at `$.formats`.",
            hint=f"Name some of {', '.join(FORMATS)}, separated by commas.",
        )
    return named
