"""Sites for audits: a small one at which nothing is wrong, and ways to spoil it."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from gossamer.web.audit.check import PageAnswer, SiteAnswer
from gossamer.web.audit.checks import SITE_CHECKS
from gossamer.web.audit.site.site import LanguageVersion, Site, SiteLink, SitePage
from gossamer.web.crawl.fingerprint import fingerprint

HOME: Final = "https://notes.example/"
NAMES: Final = ("orb", "funnel", "sheet", "tangle")

Spoil = Callable[[], Site]


def at(path: str) -> str:
    return HOME + path


def page(path: str, *links: str, nofollow: bool = False, **changes: Any) -> SitePage:
    """A page of its own: nothing that it says is said by another."""
    given: dict[str, Any] = {
        "url": at(path),
        "final_url": at(path),
        "title": f"About {path or 'everything'}",
        "description": f"All there is to say about {path or 'everything'}.",
        "heading": f"The {path or 'start'}",
        "words": 400,
        "content_hash": f"hash of {path}",
        "fingerprint": fingerprint(" ".join(f"{path}{number}" for number in range(100))),
        "canonical": at(path),
        "links": tuple(SiteLink(link if "://" in link else at(link), nofollow) for link in links),
    }
    return SitePage(**{**given, **changes})


def gone(path: str, status: int | None = 404, **changes: Any) -> SitePage:
    return SitePage(url=at(path), final_url=at(path), status=status, **changes)


def moved(path: str, to: str, redirects: int = 1) -> SitePage:
    """An address that leads to one of the good pages, with what is found there."""
    there = next(one for one in good().pages if one.url == at(to))
    return replace(there, url=at(path), redirects=redirects)


def good() -> Site:
    pages = [page("", *NAMES)] + [page(name, "", *NAMES) for name in NAMES]
    return Site(
        start=HOME,
        pages=tuple(pages),
        listed=tuple(one.url for one in pages),
        llms_urls=(at("orb"),),
        missing_status=404,
        missing_url=at("no-such-page"),
        tried_links={"https://library.example/": ""},
    )


def site(*more: SitePage, listed: bool = True, linked: bool = True, **changes: Any) -> Site:
    """The good site, with further pages: in its sitemap and linked from all others, unless said otherwise."""
    known = good()
    new = {one.url for one in more}
    pages = [one for one in known.pages if one.url not in new]
    if linked:
        wanted = tuple(SiteLink(one.url) for one in more)
        pages = [replace(one, links=tuple(dict.fromkeys(one.links + wanted))) for one in pages]
    given: dict[str, Any] = {
        "pages": (*pages, *more),
        "listed": (*(known.listed or ()), *(new if listed else ())),
    }
    return replace(known, **{**given, **changes})


def version(path: str, code: str, *others: tuple[str, str], **changes: Any) -> SitePage:
    """A page in one language, which names itself and others."""
    named = ((code, path), *others)
    return page(
        path, "", *NAMES, versions=tuple(LanguageVersion(code, at(other)) for code, other in named), **changes
    )


def answer(identity: str, asked: Site) -> PageAnswer | SiteAnswer:
    return next(check for check in SITE_CHECKS if check.id == identity).ask(asked)
