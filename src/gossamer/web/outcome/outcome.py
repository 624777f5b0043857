"""Outcome: judge whether a page is the requested one, or something else in its place.

The rules look at the status, the headers, the final URL, the markup and the words. How much a sign counts
depends on how much text there is: a page with plenty of prose is never refused for its words. A page that no
rule recognises is `ok`. Choices of our own:

- A login form is a `login_wall` even if its URL was requested, because there is nothing else to read.
- 401, 402 and 407 are a `login_wall`; 403, 429, 451 and 999 are `blocked`; 404 and every other status from
  300 are an `error`, unless the page is recognised as a wall.
- The default page of a server, a registrar or a host is `parked`, because there is no site yet. "Coming soon"
  is `ok`.
- An article with a teaser of a sentence or two above a paywall is a `login_wall`; with more it is `ok`.
- A page without text is `empty`, unless it shows images. The reason `script_needed` means that a browser
  would show more.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from gossamer.web.documents.kind import is_html
from gossamer.web.html.markup_scan import MarkupScan, scan_markup, weight
from gossamer.web.outcome import signs
from gossamer.web.pages.page import Page


class Outcome(StrEnum):
    OK = "ok"
    BLOCKED = "blocked"  # challenge, captcha, access denied, rate limited
    SOFT_404 = "soft_404"  # says that it does not exist, but has a status of success
    LOGIN_WALL = "login_wall"
    PARKED = "parked"
    EMPTY = "empty"  # nothing to read, most often because it needs JavaScript
    ERROR = "error"  # a status from 400 that is none of the above


@dataclass(frozen=True, slots=True)
class Judgement:
    outcome: Outcome
    reason: str = ""  # which rule: `challenge`, `not_found`, `script_needed`, …
    sign: str = ""  # the evidence: the name of a vendor, the words, the status


OK: Final = Judgement(Outcome.OK)

# Amounts of text, in letters.
PLENTY: Final = 3000  # accepted whatever its words are
ARTICLE: Final = 1500
NOTE: Final = 800
LINE: Final = 400
FRAGMENT: Final = 200
UNFILLED: Final = 40  # in the element that an application fills


def judge(page: Page, *, title: str = "", text: str = "", enough: int = PLENTY) -> Judgement:
    """Judge a page. With its title and main text, most pages need no scan. A caller with many pages may set
    how much text is `enough` to accept a page without one."""
    wall = _judge_headers(page)
    if wall:
        return wall
    if not is_html(page.media_type, page.body, page.final_url):
        return _by_status(page) or _by_body(page)
    if page.status < 300 and _is_long(text, enough) and not _is_suspicious(title):
        return OK
    view = _PageView.of(page, title)
    if not view.is_shorter_than(PLENTY):
        return _by_status(page) or OK
    return next(filter(None, (rule(view) for rule in _RULES)), OK)


def _is_long(text: str, enough: int) -> bool:
    """Whether a text has enough weight, which is never less than its length."""
    return len(text) >= enough or weight(text) >= enough


# The page.


@dataclass(frozen=True, slots=True)
class _PageView:
    page: Page
    scan: MarkupScan
    titles: tuple[str, ...]  # title and headings, whole and in parts
    text: str

    @classmethod
    def of(cls, page: Page, title: str) -> "_PageView":
        scan = scan_markup(page.text, enough=PLENTY)
        titles = dict.fromkeys(part for line in (scan.title, title, *scan.headings) for part in _parts(line))
        return cls(page, scan, tuple(titles), _plain(scan.text))

    def match_title(self, pattern: re.Pattern[str]) -> str:
        return next((part for part in self.titles if pattern.fullmatch(part)), "")

    def find_phrase(self, pattern: re.Pattern[str], *, below: int) -> str:
        """Return the phrase in the text, if there is less text than `below`."""
        found = pattern.search(self.text) if self.is_shorter_than(below) else None
        return found[0][:100] if found else ""

    def find_mark(self, known: signs.Marks) -> str:
        markup = self.scan.markup
        return next((name for name, parts in known.items() if any(part in markup for part in parts)), "")

    def is_shorter_than(self, amount: int) -> bool:
        return self.scan.prose < amount

    @property
    def is_bare(self) -> bool:
        """Whether there is neither a site around the text nor a document in it, as on a wall."""
        return self.scan.links <= 8 and not self.scan.furniture

    @property
    def is_redirected(self) -> bool:
        return self.page.url != self.page.final_url


_QUOTES: Final = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u00a0": " ", "\u2011": "-"})
_SEPARATOR: Final = re.compile(
    r"\s+[|\-\u2013\u2014\u00b7\u2022\u00bb\u203a:\u2212/]+\s+|[:|\uff5c]\s+|\s*[|\uff5c_]\s*"
)
_EDGES: Final = " .\u2026!?\u3002\uff01\uff1f\u00a1\u00bf:;,-\u2013\u2014\u00bb\u00ab\"'"


def _plain(text: str) -> str:
    return text.lower().translate(_QUOTES)


def _parts(line: str) -> list[str]:
    """Return a title and its parts: `Page not found | Acme` is also `Page not found`."""
    plain = _plain(line)[:300]
    parts = (part.strip(_EDGES) for part in (plain, *_SEPARATOR.split(plain)))
    return [part for part in parts if part]


def _is_suspicious(title: str) -> bool:
    return any(map(_is_suspicion, _parts(title)))


@lru_cache(maxsize=1024)  # the name of the site is in the title of each of its pages
def _is_suspicion(part: str) -> bool:
    patterns = (signs.WALL_TITLES, signs.NOT_FOUND_TITLES, signs.MAYBE_NOT_FOUND_TITLES)
    return any(pattern.fullmatch(part) for pattern in patterns)


# Walls.


def _judge_headers(page: Page) -> Judgement | None:
    for name, value in page.headers:
        if name in signs.WALL_HEADERS and signs.WALL_HEADERS[name].match(value.lower()):
            return Judgement(Outcome.BLOCKED, "challenge", name)
    return None


_NO_WALL: Final = frozenset({404, 410})


def _judge_markup(view: _PageView) -> Judgement | None:
    if guard := view.find_mark(signs.WALL_MARKUP):
        return Judgement(Outcome.BLOCKED, "challenge", guard)
    nothing_else = view.scan.visible < 60 and view.scan.mounted is None
    if nothing_else and view.page.status not in _NO_WALL and (guard := view.find_mark(signs.SENSORS)):
        return Judgement(Outcome.BLOCKED, "challenge", guard)
    return None


def _judge_wall_words(view: _PageView) -> Judgement | None:
    fields = view.scan.fields
    if view.page.status in _NO_WALL or fields["password"] or not view.is_shorter_than(ARTICLE):
        return None
    titles, phrase = view.match_title(signs.WALL_TITLES), view.find_phrase(signs.WALL_PHRASES, below=ARTICLE)
    is_form = fields["textarea"] + fields["email"] > 0
    captcha = not is_form and bool(view.find_mark(signs.CAPTCHAS))
    reason = _wall_reason(view.page, captcha)
    if titles and _is_alone(view, bool(phrase or captcha)) and not _is_loading(view):
        return Judgement(Outcome.BLOCKED, reason, titles)
    if phrase and view.is_bare and (captcha or not fields.total()) and view.is_shorter_than(NOTE):
        return Judgement(Outcome.BLOCKED, reason, phrase)
    if captcha and not fields.total() and view.scan.visible < FRAGMENT:
        return Judgement(Outcome.BLOCKED, reason, "nothing but a captcha")
    return None


def _is_alone(view: _PageView, confirmed: bool) -> bool:
    """Whether a page with the title of a wall has nothing else. If confirmed, one sign of it is enough."""
    short = view.is_shorter_than(LINE)
    return (view.is_bare and short) or (confirmed and (view.is_bare or short))


def _wall_reason(page: Page, captcha: bool) -> str:
    if captcha:
        return "captcha"
    return "rate_limited" if page.status == 429 else "access_denied"


def _is_loading(view: _PageView) -> bool:
    """Whether `Please wait` is the message of an application that has not loaded, and not of a wall."""
    return view.scan.mounted is not None and view.match_title(signs.LOADING_TITLES) != ""


def _judge_redirect(view: _PageView) -> Judgement | None:
    if not view.is_redirected or not view.is_shorter_than(NOTE):
        return None
    asked, final = urlsplit(view.page.url), urlsplit(view.page.final_url)
    if signs.WALL_PATH.search(final.path.lower()) and not signs.WALL_PATH.search(asked.path.lower()):
        return Judgement(Outcome.BLOCKED, "captcha", final.path[:100])
    if final.netloc.startswith("consent.") and asked.netloc != final.netloc:
        return Judgement(Outcome.BLOCKED, "consent", final.netloc[:100])
    return None


# Statuses.

_STATUSES: Final = {
    401: (Outcome.LOGIN_WALL, "authentication_required"),
    402: (Outcome.LOGIN_WALL, "payment_required"),
    403: (Outcome.BLOCKED, "access_denied"),
    404: (Outcome.ERROR, "not_found"),
    407: (Outcome.LOGIN_WALL, "authentication_required"),
    410: (Outcome.ERROR, "gone"),
    429: (Outcome.BLOCKED, "rate_limited"),
    451: (Outcome.BLOCKED, "legal_reasons"),
    503: (Outcome.ERROR, "unavailable"),
    999: (Outcome.BLOCKED, "access_denied"),
}


def _by_status(page: Page) -> Judgement | None:
    if page.status < 300:
        return None
    general = (Outcome.ERROR, "server_error" if page.status >= 500 else "http_error")
    outcome, reason = _STATUSES.get(page.status, general)
    return Judgement(outcome, reason, str(page.status))


def _judge_status(view: _PageView) -> Judgement | None:
    if view.page.status == 403 and (login := _judge_login(view)):
        return login
    return _by_status(view.page)


def _by_body(page: Page) -> Judgement:
    return OK if page.body.strip() else Judgement(Outcome.EMPTY, "no_body")


# Pages that say what they are: parked, missing, or behind a login.


def _judge_parked(view: _PageView) -> Judgement | None:
    if not view.is_shorter_than(ARTICLE) or signs.MARKETPLACE_HOSTS.fullmatch(urlsplit(view.page.url).netloc):
        return None
    if company := view.find_mark(signs.PARKING_MARKUP):
        return Judgement(Outcome.PARKED, "domain_parked", company)
    if view.is_redirected and signs.MARKETPLACE_HOSTS.fullmatch(urlsplit(view.page.final_url).netloc):
        return Judgement(Outcome.PARKED, "domain_for_sale", urlsplit(view.page.final_url).netloc)
    if default := view.match_title(signs.DEFAULT_PAGE_TITLES):
        return Judgement(Outcome.PARKED, "default_page", default)
    if view.scan.links <= 20 and (phrase := view.find_phrase(signs.PARKED_PHRASES, below=NOTE)):
        return Judgement(Outcome.PARKED, "domain_parked", phrase)
    return None


def _judge_missing(view: _PageView) -> Judgement | None:
    if not view.is_shorter_than(ARTICLE):
        return None
    asked, final = urlsplit(view.page.url).path.lower(), urlsplit(view.page.final_url).path.lower()
    titles = view.match_title(signs.NOT_FOUND_TITLES)
    if titles:
        return Judgement(Outcome.SOFT_404, "not_found", titles)
    if signs.NOT_FOUND_PATH.fullmatch(final) and not signs.NOT_FOUND_PATH.fullmatch(asked):
        return Judgement(Outcome.SOFT_404, "not_found", final[:100])
    phrase = view.find_phrase(signs.NOT_FOUND_PHRASES, below=NOTE)
    perhaps = view.match_title(signs.MAYBE_NOT_FOUND_TITLES)
    if perhaps and (phrase or view.is_shorter_than(FRAGMENT)):
        return Judgement(Outcome.SOFT_404, "not_found", phrase or perhaps)
    sent_home = (
        final in ("", "/") and asked.count("/") > 1
    )  # only a hint, because many sites move their pages
    if phrase and view.is_shorter_than(NOTE if sent_home else LINE):
        return Judgement(Outcome.SOFT_404, "not_found", phrase)
    return None


def _judge_login(view: _PageView) -> Judgement | None:
    if not view.is_shorter_than(NOTE):
        return None
    fields, titles = view.scan.fields, view.match_title(signs.LOGIN_TITLES)
    named = fields["email"] + fields["text"] + fields["tel"] > 0
    if fields["password"] and (titles or (named and view.scan.visible < LINE + FRAGMENT)):
        return Judgement(Outcome.LOGIN_WALL, "login_form", titles)
    if titles and named and view.scan.visible < ARTICLE and view.is_shorter_than(LINE):
        return Judgement(Outcome.LOGIN_WALL, "login_form", titles)
    if _is_sent_to_login(view):
        return Judgement(Outcome.LOGIN_WALL, "login_redirect", view.page.final_url[:100])
    return _judge_login_words(view)


def _is_sent_to_login(view: _PageView) -> bool:
    place = signs.LOGIN_URL
    return bool(
        view.is_redirected
        and place.match(view.page.final_url.lower())
        and not place.match(view.page.url.lower())
    )


def _judge_login_words(view: _PageView) -> Judgement | None:
    if phrase := view.find_phrase(signs.PAYWALL_PHRASES, below=LINE + FRAGMENT):
        return Judgement(Outcome.LOGIN_WALL, "paywall", phrase)
    if phrase := view.find_phrase(signs.LOGIN_PHRASES, below=LINE + FRAGMENT):
        return Judgement(Outcome.LOGIN_WALL, "login_needed", phrase)
    return None


# Pages with nothing on them.


def _judge_empty(view: _PageView) -> Judgement | None:
    scan = view.scan
    if scan.visible >= FRAGMENT + FRAGMENT:
        return None
    unfilled = scan.mounted is not None and scan.mounted < UNFILLED
    loading = signs.LOADING_TITLES.fullmatch(view.text[:100].strip(_EDGES)) is not None
    if scan.scripts and (unfilled or loading or (scan.visible < FRAGMENT and _asks_for_script(view))):
        return Judgement(Outcome.EMPTY, "script_needed", scan.noscript[:100])
    if scan.visible:
        return None
    return _judge_blank(scan)


def _asks_for_script(view: _PageView) -> bool:
    titles = _plain(view.scan.noscript)
    if signs.SCRIPT_PHRASES.search(titles):
        return view.scan.visible < 60
    return signs.SCRIPT_PHRASES.search(view.text) is not None


def _judge_blank(scan: MarkupScan) -> Judgement | None:
    if scan.refresh:
        return Judgement(Outcome.EMPTY, "meta_refresh")
    if scan.scripts:
        return Judgement(Outcome.EMPTY, "script_needed")
    if scan.frames:
        return Judgement(Outcome.EMPTY, "frames")
    return None if scan.images else Judgement(Outcome.EMPTY, "no_text")


_RULES: Final[tuple[Callable[[_PageView], Judgement | None], ...]] = (
    _judge_markup,
    _judge_wall_words,
    _judge_redirect,
    _judge_status,
    _judge_parked,
    _judge_missing,
    _judge_login,
    _judge_empty,
)
