"""Subjects of audits: one page at which nothing is wrong, and ways to spoil it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from gossamer.web.audit.check import NOT_HTML, PageAnswer, SiteAnswer
from gossamer.web.audit.checks import PAGE_CHECKS
from gossamer.web.audit.page.subject import File, LinkCheck, Sitemap, Subject
from gossamer.web.pages.page import Hop, Page
from gossamer.web.pages.reading import read
from gossamer.web.pages.reading_options import ReadingOptions

GOOD: Final = (Path(__file__).parent / "audits" / "good.html").read_text()
URL: Final = "https://notes.example/spiders/mending"
NOW: Final = 1_777_000_000.0  # in April 2026
HEADERS: Final = {
    "content-type": "text/html; charset=utf-8",
    "content-encoding": "br",
    "cache-control": "max-age=300",
    "etag": '"spider"',
    "strict-transport-security": "max-age=31536000; includeSubDomains",
    "content-security-policy": "default-src 'self'; frame-ancestors 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "strict-origin-when-cross-origin",
    "server": "nginx",
    "set-cookie": "visit=1; Secure; HttpOnly; SameSite=Lax",
}
ROBOTS: Final = "User-agent: *\nAllow: /\n\nSitemap: https://notes.example/sitemap.xml\n"
LLMS: Final = (
    "# Field Notes\n\n> Notes on spiders.\n\n- [Mending](https://notes.example/spiders/mending): webs\n"
)
ADDRESSES: Final = {"robots": "https://notes.example/robots.txt", "llms": "https://notes.example/llms.txt"}

Spoil = Callable[[], Subject]


def page(html: str = GOOD, *, headers: Mapping[str, str | None] | None = None, **changes: Any) -> Page:
    """The good page, or another; a header of None is left out."""
    sent = {**HEADERS, **(headers or {})}
    body = changes.pop("body", html.encode())
    given: dict[str, Any] = {
        "url": "https://notes.example/mending",
        "final_url": URL,
        "status": 200,
        "headers": tuple((name, value) for name, value in sent.items() if value is not None),
        "body": body,
        "media_type": "text/html",
        "charset": "utf-8",
        "redirects": (Hop("https://notes.example/mending", 301),),
        "wire_bytes": len(body) // 3,
        "connect_ms": 12,
        "first_byte_ms": 90,
        "elapsed_ms": 120,
    }
    return Page(**{**given, **changes})


def subject(html: str = GOOD, *, of: Mapping[str, Any] | None = None, **page_changes: Any) -> Subject:
    """What was learnt about a page; `of` changes what was learnt besides."""
    changed = page(html, **page_changes)
    known: dict[str, Any] = {
        "robots": robots(),
        "sitemap": Sitemap(True, "https://notes.example/sitemap.xml", 12, lists_page=True),
        "llms": File(ADDRESSES["llms"], 200, LLMS, "text/plain"),
        "links": (
            LinkCheck("https://notes.example/spiders/method", 200, internal=True),
            LinkCheck("https://library.example/peakall", 200),
        ),
        "http_redirects_to_https": True,
    }
    return Subject(page=changed, reading=read(changed, ReadingOptions()), now=NOW, **{**known, **(of or {})})


def robots(text: str = ROBOTS, status: int | None = 200, media_type: str = "text/plain") -> File:
    return File(ADDRESSES["robots"], status, text, media_type)


def instead(old: str, new: str = "", **changes: Any) -> Spoil:
    """The good page with one thing replaced, or taken out."""
    assert old in GOOD, old
    return lambda: subject(GOOD.replace(old, new), **changes)


def added(html: str, before: str = "</article>") -> Spoil:
    return instead(before, html + before)


def header(**values: str | None) -> Spoil:
    return lambda: subject(headers={name.replace("_", "-"): value for name, value in values.items()})


def known(**facts: Any) -> Spoil:
    return lambda: subject(of=facts)


def read_as(**changes: Any) -> Spoil:
    """The good page, read otherwise."""

    def made() -> Subject:
        good = subject()
        return replace(good, reading=replace(good.reading, **changes))

    return made


def answer(identity: str, asked: Subject) -> PageAnswer | SiteAnswer:
    check = next(check for check in PAGE_CHECKS if check.id == identity)
    return NOT_HTML if check.html and not asked.is_html else check.ask(asked)
