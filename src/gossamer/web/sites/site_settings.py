"""SiteSettings: what the owner of a site wants for its pages, and how a request for one follows it."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer import problems
from gossamer.problems import Problem, validation_error
from gossamer.web.html.tree import check_selector
from gossamer.web.render.prerender import HEADERS
from gossamer.web.render.request import RenderRequest, Seconds
from gossamer.web.render.visitor import Device
from gossamer.web.schedules.timing import Timing
from gossamer.web.sites.site_words import ExclusionReason
from gossamer.web.url.url import Url

MAX_EXCLUDED: Final = 100
MAX_BOTS: Final = 200
MAX_SITEMAPS: Final = 20
MAX_WARM_PAGES_A_DAY: Final = 50_000

PathPattern = Annotated[str, Meta(min_length=1, max_length=500, pattern="^/")]
BotToken = Annotated[str, Meta(min_length=1, max_length=100, pattern="^[A-Za-z0-9_.-]+$")]


class SiteWarmUp(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Pages that are rendered before anybody asks for them."""

    timing: Annotated[Timing, Meta(description="When: as of a schedule.")]
    sitemaps: Annotated[
        tuple[Annotated[str, Meta(max_length=2_048)], ...],
        Meta(max_length=MAX_SITEMAPS, description="Sitemaps of the site. Empty: `/sitemap.xml`."),
    ] = ()
    pages_per_day: Annotated[
        int, Meta(ge=1, le=MAX_WARM_PAGES_A_DAY, description="Render at most this many pages in a day (UTC).")
    ] = 1_000
    per_minute: Annotated[int, Meta(ge=1, le=600, description="Begin at most this many in a minute.")] = 30


class SiteSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What the owner of a site wants for its pages."""

    max_age: Annotated[
        Seconds | None, Meta(description="Seconds after which a page is stale. `null`: never.")
    ] = None
    stale_while_revalidate: Annotated[
        Seconds,
        Meta(description="Further seconds in which a stale page is served while it is rendered again."),
    ] = 0
    stale_if_error: Annotated[
        Seconds, Meta(description="Further seconds in which it is served when the new render fails.")
    ] = 0
    wait_for_selector: Annotated[
        Annotated[str, Meta(min_length=1, max_length=500)] | None,
        Meta(description="A CSS selector: a page is done when an element matches it."),
    ] = None
    excluded_paths: Annotated[
        tuple[PathPattern, ...],
        Meta(
            max_length=MAX_EXCLUDED,
            description="Paths that are never rendered: prefixes, or patterns with `*` for any characters.",
        ),
    ] = ()
    bots: Annotated[
        tuple[BotToken, ...],
        Meta(
            max_length=MAX_BOTS,
            description="Tokens of the robots that get rendered pages, for the middleware of the site. "
            "Empty: all that are known.",
        ),
    ] = ()
    headers: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Names of the pages' own response headers that go along, of "
            f"{', '.join(f'`{name}`' for name in sorted(HEADERS))}. `null`: all of them."
        ),
    ] = None
    devices: Annotated[
        tuple[Device, ...], Meta(min_length=1, max_length=2, description="The variants that are kept warm.")
    ] = ("desktop",)
    warm_up: Annotated[SiteWarmUp | None, Meta(description="`null`: nothing is rendered in advance.")] = None

    def check(self) -> None:
        """Raises `Problem` for what has the right shape and no meaning."""
        if self.wait_for_selector is not None:
            check_selector(self.wait_for_selector)
        unknown = sorted({name.lower() for name in self.headers or ()} - HEADERS)
        if unknown:
            raise validation_error(
                f"The header {unknown[0][:100]!r} does not go along with pages.",
                hint=f"Known are {', '.join(sorted(HEADERS))}.",
                details={"field": "headers"},
            )

    def excludes(self, path: str) -> bool:
        return any(_matches(pattern, path) for pattern in self.excluded_paths)

    def keeps_header(self, name: str) -> bool:
        return self.headers is None or name.lower() in {kept.lower() for kept in self.headers}

    def apply(self, request: RenderRequest) -> RenderRequest:
        """The request as the site wants it. Its own freshness wins, unless it leaves that to the site."""
        changed: dict[str, object] = {"site_freshness": False} if request.site_freshness else {}
        if request.wait_for_selector is None and self.wait_for_selector is not None:
            changed["wait_for_selector"] = self.wait_for_selector
        if (request.max_age is None or request.site_freshness) and self.max_age is not None:
            changed |= {
                "max_age": self.max_age,
                "stale_while_revalidate": self.stale_while_revalidate,
                "stale_if_error": self.stale_if_error,
            }
        return msgspec.structs.replace(request, **changed) if changed else request

    def refuse_excluded(self, url: Url, robot: str = "") -> None:
        """Raises `Problem` for a path that is never rendered, or for a robot that gets no rendered pages."""
        if self.excludes(url.path):
            raise _excluded(url, url.path[:200], ExclusionReason.PATH)
        if robot and self.bots and not any(token.lower() in robot.lower() for token in self.bots):
            raise _excluded(url, "this robot", ExclusionReason.BOT)


def _excluded(url: Url, what: str, reason: ExclusionReason) -> Problem:
    return Problem(
        problems.RENDER_EXCLUDED,
        f"The owner of {url.origin} has excluded {what} from rendering.",
        details={"reason": reason.value, "origin": url.origin},
    )


def _matches(pattern: str, path: str) -> bool:
    """Whether the path begins with the pattern; with `*` in it, whether it matches as a whole."""
    first, *rest = pattern.split("*")
    if not path.startswith(first) or not rest:
        return path.startswith(first)
    *middle, last = rest
    at = len(first)
    for part in middle:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(path) - len(last) >= at and path.endswith(last)
