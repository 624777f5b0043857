"""A check of a site: one question about its pages together, and what to do about a bad answer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.web.checks.rule import Severity, Theme, Unanswered
from gossamer.web.site_checks.site import Site


class Hit(NamedTuple):
    """One thing that is wrong, and the pages where it is; with none of them, it is the whole site's."""

    text: str
    urls: tuple[str, ...] = ()


# What was found; nothing found is a check passed.
SiteAnswer = list[Hit] | Unanswered

NOT_ALL_SEEN: Final = Unanswered("The crawl ended before it had seen the whole site", harmless=False)
NOTHING_READ: Final = Unanswered("No page of the site could be read", harmless=False)
NO_SITEMAP: Final = Unanswered("The site has no sitemap that can be read", harmless=True)


def nothing(what: str) -> Unanswered:
    return Unanswered(f"The site has no {what}", harmless=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteCheck:
    id: str
    theme: Theme
    severity: Severity
    title: str  # what is wrong
    passed: str  # what is right
    why: str
    fix: str
    answer: Callable[[Site], SiteAnswer]


Ask = Callable[[Site], SiteAnswer]


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
    ) -> Callable[[Ask], SiteCheck]:
        def made(ask: Ask) -> SiteCheck:
            return SiteCheck(
                id=id,
                theme=self.theme,
                severity=severity,
                title=title,
                passed=passed,
                why=why,
                fix=fix,
                answer=ask,
            )

        return made


def shared(groups: Mapping[str, Iterable[str]], told: Callable[[str, int], str]) -> list[Hit]:
    """A hit for each group of more than one page, the largest first."""
    known = {name: tuple(dict.fromkeys(urls)) for name, urls in groups.items()}
    several = [(name, urls) for name, urls in known.items() if len(urls) > 1]
    several.sort(key=lambda group: -len(group[1]))
    return [Hit(told(name, len(urls)), urls) for name, urls in several]
