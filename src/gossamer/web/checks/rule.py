"""A check: one question about a page, why it is asked, and what to do about a bad answer."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gossamer.web.checks.subject import Subject


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


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Why a check has no answer."""

    reason: str
    harmless: bool  # there is nothing that could be wrong; else nothing is known


# What was found, in evidence; nothing found is a check passed.
Answer = list[str] | Unanswered

NOT_HTML: Final = Unanswered("The page is not HTML", harmless=False)


def unknown(what: str) -> Unanswered:
    return Unanswered(f"{what} was not fetched", harmless=False)


def nothing(what: str) -> Unanswered:
    return Unanswered(f"The page has no {what}", harmless=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    id: str
    theme: Theme
    severity: Severity
    title: str  # what is wrong
    passed: str  # what is right
    why: str
    fix: str
    ask: Callable[[Subject], Answer]
    html: bool = True  # asks about HTML, and about nothing else

    def answer(self, subject: Subject) -> Answer:
        return self.ask(subject) if subject.is_html or not self.html else NOT_HTML


Ask = Callable[[Subject], Answer]


@dataclass(frozen=True, slots=True)
class Asking:
    """Makes the checks of one theme."""

    theme: Theme

    def __call__(
        self,
        id: str,  # noqa: A002  (it is called what the report calls it)
        severity: Severity,
        *,
        title: str,
        passed: str,
        why: str,
        fix: str,
        html: bool = True,
    ) -> Callable[[Ask], Check]:
        def made(ask: Ask) -> Check:
            return Check(
                id=id,
                theme=self.theme,
                severity=severity,
                title=title,
                passed=passed,
                why=why,
                fix=fix,
                ask=ask,
                html=html,
            )

        return made
