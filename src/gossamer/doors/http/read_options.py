"""What may be asked of a page that is read, and by which tier it may be got."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.doors.http.caching import CacheOptions
from gossamer.flows.obtain import Rendering
from gossamer.flows.read import Wish
from gossamer.problems import Problem, validation_error
from gossamer.reach.fetch import VALUE
from gossamer.web.brief import DEFAULT, FEWEST, MOST
from gossamer.web.reading import How
from gossamer.web.url import Url

LONGEST_TIMEOUT: Final = 60_000
SHORTEST_RENDER: Final = 5_000  # milliseconds; no browser gets a page done in less than it may take to start
HEADERS: Final = frozenset(
    {
        "accept",
        "accept-language",
        "authorization",
        "cookie",
        "dnt",
        "referer",
        "x-api-key",
        "x-requested-with",
    }
)

SentHeaders = Annotated[
    dict[str, Annotated[str, Meta(max_length=8000)]],
    Meta(
        max_length=20,
        description=f"Sent to the page's own origin only. Of these: {', '.join(sorted(HEADERS))}.",
    ),
]
Format = Literal["markdown", "llm", "html", "rawHtml", "text", "links", "metadata"]
Tier = Literal["basic", "pro"]
Selector = Annotated[str, Meta(min_length=1, max_length=500)]
Selectors = Annotated[list[Annotated[str, Meta(max_length=500)]], Meta(max_length=50)]


class Allowed(NamedTuple):
    """How a tier may get a page; the first is what it does unless it is told otherwise."""

    path: str
    renders: tuple[Rendering, ...]


_ALLOWED: Final[Mapping[Tier | None, Allowed]] = {
    None: Allowed("/fetch", ("never", "auto", "always")),
    "basic": Allowed("The basic tier", ("never",)),
    "pro": Allowed("The pro tier", ("always",)),
}
_TIMEOUTS: Final[Mapping[Rendering, int]] = {"never": 10_000, "auto": 30_000, "always": 30_000}


class ReadOptions(CacheOptions, kw_only=True):
    """What is wanted of a page, whichever way it is asked for."""

    formats: Annotated[list[Format], Meta(min_length=1, max_length=7, description="What to answer with.")] = (
        msgspec.field(default_factory=lambda: ["markdown", "metadata"])
    )
    main_content: Annotated[
        bool, Meta(description="Only the main content, without navigation and the like; else the full page.")
    ] = True
    include: Annotated[Selectors, Meta(description="CSS selectors: only what matches.")] = msgspec.field(
        default_factory=list
    )
    exclude: Annotated[Selectors, Meta(description="CSS selectors: not what matches.")] = msgspec.field(
        default_factory=list
    )
    max_tokens: Annotated[
        int, Meta(ge=FEWEST, le=MOST, description="The most that the format `llm` may have.")
    ] = DEFAULT
    headers: SentHeaders = msgspec.field(default_factory=dict)
    timeout: Annotated[
        Annotated[int, Meta(ge=1, le=LONGEST_TIMEOUT)] | UnsetType,
        Meta(
            description="Milliseconds for everything, retries included: 10,000, or 30,000 where a browser "
            f"may be used. Where one must be, at least {SHORTEST_RENDER:,}."
        ),
    ] = UNSET
    render: Annotated[
        Rendering | UnsetType,
        Meta(
            description="By a browser: `never`, `auto` (where the page is an empty shell without one) or "
            "`always`. The basic tier never uses one, the pro tier always does."
        ),
    ] = UNSET
    wait_for_selector: Annotated[
        Selector | UnsetType, Meta(description="For the browser: the page is done when something matches.")
    ] = UNSET


def wish_of(url: str, options: ReadOptions, tier: Tier | None) -> Wish:
    """Raises `Problem` for what the tier cannot do; no tier is `/fetch`, which can do either."""
    render = _render(options, tier)
    return Wish(
        url=Url.parse(url),
        how=How(options.main_content, tuple(options.include), tuple(options.exclude)),
        formats=tuple(options.formats),
        headers=sendable(options.headers),
        timeout=_timeout(options, render) / 1000,
        render=render,
        wait_for=_wait_for(options, render),
        max_tokens=options.max_tokens,
    )


def _render(options: ReadOptions, tier: Tier | None) -> Rendering:
    allowed = _ALLOWED[tier]
    if options.render is UNSET:
        return allowed.renders[0]
    if options.render not in allowed.renders:
        raise _refused(
            "render",
            f"{allowed.path} takes {allowed.renders[0]!r}, not {options.render!r}",
            "Leave it out, or ask /fetch, which takes never, auto and always.",
        )
    return options.render


def _timeout(options: ReadOptions, render: Rendering) -> int:
    if options.timeout is UNSET:
        return _TIMEOUTS[render]
    if render == "always" and options.timeout < SHORTEST_RENDER:
        raise _refused(
            "timeout",
            f"A page that must be rendered takes at least {SHORTEST_RENDER:,} milliseconds",
            f"Give {SHORTEST_RENDER:,} to {LONGEST_TIMEOUT:,}.",
        )
    return options.timeout


def _wait_for(options: ReadOptions, render: Rendering) -> str | None:
    if options.wait_for_selector is UNSET:
        return None
    if render == "never":
        raise _refused(
            "waitForSelector",
            "Only a browser can wait for something to appear",
            "Ask /fetch/pro, or /fetch with `render`.",
        )
    return options.wait_for_selector


def _refused(field: str, detail: str, hint: str) -> Problem:
    return validation_error(f"{detail} - at `$.{field}`.", hint=hint)


def sendable(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Headers that a caller may have sent along; raises `Problem` for others."""
    refused = [name for name in headers if name.lower() not in HEADERS]
    if refused:
        raise validation_error(
            f"The header {refused[0][:100]!r} cannot be sent along.",
            hint=f"These can: {', '.join(sorted(HEADERS))}.",
        )
    unsayable = [name for name, value in headers.items() if not VALUE.fullmatch(value)]
    if unsayable:
        raise validation_error(
            f"The header {unsayable[0]!r} has a value that cannot be sent.",
            hint="A value is one line without control characters.",
            details={"header": unsayable[0]},
        )
    return tuple(headers.items())
