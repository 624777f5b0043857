"""A check: one question about a page or a site, why it is asked, and what to do about a bad answer."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, Literal, NamedTuple, NotRequired, TypedDict, TypeVar, Unpack

from msgspec import Struct


class Severity(StrEnum):
    CRITICAL = "critical"  # the page cannot be found or read
    SERIOUS = "serious"  # it is found or read wrongly, or not safely
    MODERATE = "moderate"  # it does worse than it could
    MINOR = "minor"  # polish
    INFO = "info"  # worth knowing; costs nothing


class Theme(StrEnum):
    STATUS = "status"
    TITLES = "titles"
    HEADINGS = "headings"
    CONTENT = "content"
    CANONICAL = "canonical"
    ROBOTS = "robots"
    LANGUAGES = "languages"
    LINKS = "links"
    IMAGES = "images"
    STRUCTURED = "structured"
    SHARING = "sharing"
    DOCUMENT = "document"
    ADDRESS = "address"
    SPEED = "speed"
    SECURITY = "security"
    AGENTS = "agents"


SEVERITIES: Final = tuple(Severity)  # the worst first

Scope = Literal["page", "site"]  # whether a check looks at each page alone, or at all pages together


class Unanswered(Struct, frozen=True):
    """Why a check has no answer."""

    reason: str
    harmless: bool  # there is nothing that could be wrong; otherwise nothing is known


class Hit(NamedTuple):
    """One thing that is wrong, and the pages that have it. Without pages, it concerns everything audited."""

    text: str
    urls: tuple[str, ...] = ()


# What a check found. An empty list means that the check passed.
PageAnswer = list[str] | Unanswered
SiteAnswer = list[Hit] | Unanswered

NOT_HTML: Final = Unanswered("The page is not HTML", harmless=False)
NOT_ALL_SEEN: Final = Unanswered("The crawl ended before it had seen the whole site", harmless=False)
NOTHING_READ: Final = Unanswered("No page of the site could be read", harmless=False)
NO_SITEMAP: Final = Unanswered("The site has no sitemap that can be read", harmless=True)


def not_fetched(what: str) -> Unanswered:
    return Unanswered(f"{what} was not fetched", harmless=False)


def page_has_no(what: str) -> Unanswered:
    return Unanswered(f"The page has no {what}", harmless=True)


def site_has_no(what: str) -> Unanswered:
    return Unanswered(f"The site has no {what}", harmless=True)


S = TypeVar("S")  # what the check looks at: a Subject or a Site


class Check(Struct, Generic[S], frozen=True, kw_only=True):
    id: str
    theme: Theme
    severity: Severity
    scope: Scope
    title: str  # what is wrong
    passed: str  # what is right
    why: str
    fix: str
    ask: Callable[[S], PageAnswer | SiteAnswer]
    html: bool = True  # of a page check: it looks at HTML only


class CheckText(TypedDict):
    """What a check says to people, and whether it looks at HTML only."""

    title: str
    passed: str
    why: str
    fix: str
    html: NotRequired[bool]


@dataclass(frozen=True)  # without slots: `CheckMaker[…]` sets an attribute
class CheckMaker(Generic[S]):
    """Declares the checks of one theme: a decorator that puts the text of a check beside its rule."""

    theme: Theme
    scope: Scope

    def __call__(
        self,
        id: str,  # noqa: A002  (the report calls it that)
        severity: Severity,
        **text: Unpack[CheckText],
    ) -> Callable[[Callable[[S], PageAnswer | SiteAnswer]], Check[S]]:
        def make(ask: Callable[[S], PageAnswer | SiteAnswer]) -> Check[S]:
            return Check(id=id, theme=self.theme, severity=severity, scope=self.scope, ask=ask, **text)

        return make
