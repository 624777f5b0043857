"""Judges whether a page is the requested one, or something else in its place.

The rules look at the status, the headers, the final URL, the markup and the words. How much a sign counts
depends on how much text there is: a page with plenty of prose is never refused for its words. A page that no
rule recognises is `ok`. Choices of our own:

- A login form is a `login_wall` even if its URL was requested, because there is nothing else to read.
- 401, 402 and 407 are a `login_wall`; 403, 429, 451 and 999 are `blocked`; 404 and every other status from
  300 are an `error`, unless the page is recognised as a wall.
- A page that is nothing but the report of a failure is an `error`, whatever its status. A failure of the
  site behind a guard is not a wall, although the guard reports it.
- The default page of a server, a registrar or a host is `parked`, because there is no site yet. So is the
  page of a host that knows no site of this name, whatever its status. "Coming soon" is `ok`.
- An article with a teaser of a sentence or two above a paywall is a `login_wall`; with more it is `ok`.
- A page without text is `empty`, unless it shows images. The reason `script_needed` means that a browser
  would show more.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from gossamer.web.documents.kind import is_html
from gossamer.web.html.markup_scan import MarkupScan, weight
from gossamer.web.outcome import signs
from gossamer.web.outcome.failure import is_crash, is_failure_title, judge_crash, judge_failure
from gossamer.web.outcome.login import judge_login
from gossamer.web.outcome.outcome import Judgement, Outcome
from gossamer.web.outcome.page_view import (
    ARTICLE,
    EDGES,
    FRAGMENT,
    LINE,
    NOTE,
    PLENTY,
    UNFILLED,
    PageView,
    parts_of,
    plain,
)
from gossamer.web.outcome.parked import judge_bucket, judge_no_site, judge_parked
from gossamer.web.pages.page import Page

OK: Final = Judgement(Outcome.OK)


def judge(page: Page, *, title: str = "", text: str = "", enough: int = PLENTY) -> Judgement:
    """Judge a page. With its title and main text, most pages need no scan. A caller with many pages may set
    how much text is `enough` to accept a page without one."""
    wall = _judge_headers(page)
    if wall:
        return wall
    if not is_html(page.media_type, page.body, page.final_url):
        return judge_bucket(page) or _by_status(page) or _by_body(page)
    if page.status < 300 and _is_long(text, enough) and not (_is_suspicious(title) or is_crash(text)):
        return OK
    view = PageView.of(page, title)
    if not view.is_shorter_than(PLENTY):
        return judge_crash(view) or _by_status(page) or OK
    return next(filter(None, (rule(view) for rule in _RULES)), OK)


def _is_long(text: str, enough: int) -> bool:
    """Whether a text has enough weight, which is never less than its length."""
    return len(text) >= enough or weight(text) >= enough


def _is_suspicious(title: str) -> bool:
    return any(map(_is_suspicion, parts_of(title)))


@lru_cache(maxsize=1024)  # the name of the site is in the title of each of its pages
def _is_suspicion(part: str) -> bool:
    known = (signs.WALL_TITLES, signs.NOT_FOUND_TITLES, signs.MAYBE_NOT_FOUND_TITLES)
    return any(phrases.fullmatch(part) for phrases in known) or is_failure_title(part)


# Walls.


def _judge_headers(page: Page) -> Judgement | None:
    for name, value in page.headers:
        if name in signs.WALL_HEADERS and signs.WALL_HEADERS[name].match(value.lower()):
            return Judgement(Outcome.BLOCKED, "challenge", name)
    return None


_NO_WALL: Final = frozenset({404, 410})


def _judge_markup(view: PageView) -> Judgement | None:
    if guard := view.find_mark(signs.WALL_MARKUP):
        return Judgement(Outcome.BLOCKED, "challenge", guard)
    nothing_else = view.scan.visible < 60 and view.scan.mounted is None
    if nothing_else and view.page.status not in _NO_WALL and (guard := view.find_mark(signs.SENSORS)):
        return Judgement(Outcome.BLOCKED, "challenge", guard)
    return None


def _judge_wall_words(view: PageView) -> Judgement | None:
    fields = view.scan.fields
    if view.page.status in _NO_WALL or fields["password"] or not view.is_shorter_than(ARTICLE):
        return None
    titles, phrase = view.match_title(signs.WALL_TITLES), _find_wall_phrase(view)
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


def _is_alone(view: PageView, confirmed: bool) -> bool:
    """Whether a page with the title of a wall has nothing else. If confirmed, one sign of it is enough."""
    short = view.is_shorter_than(LINE)
    return (view.is_bare and short) or (confirmed and (view.is_bare or short))


def _find_wall_phrase(view: PageView) -> str:
    phrase = view.find_phrase(signs.WALL_PHRASES, below=ARTICLE)
    if phrase or _is_origin_down(view):
        return phrase
    return view.find_phrase(signs.WALL_INCIDENTS, below=ARTICLE)


def _is_origin_down(view: PageView) -> bool:
    """Whether a guard may report that the site behind it fails, with a number of its own."""
    return view.page.status >= 500 or any(map(is_failure_title, view.titles))


def _wall_reason(page: Page, captcha: bool) -> str:
    if captcha:
        return "captcha"
    return "rate_limited" if page.status == 429 else "access_denied"


def _is_loading(view: PageView) -> bool:
    """Whether `Please wait` is the message of an application that has not loaded, and not of a wall."""
    return view.scan.mounted is not None and view.match_title(signs.LOADING_TITLES) != ""


def _judge_redirect(view: PageView) -> Judgement | None:
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


def _judge_status(view: PageView) -> Judgement | None:
    if view.page.status == 403 and (login := judge_login(view)):
        return login
    return _by_status(view.page)


def _by_body(page: Page) -> Judgement:
    return OK if page.body.strip() else Judgement(Outcome.EMPTY, "no_body")


# Missing pages.


def _judge_missing(view: PageView) -> Judgement | None:
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


# Pages with nothing on them.


def _judge_empty(view: PageView) -> Judgement | None:
    scan = view.scan
    if scan.visible >= FRAGMENT + FRAGMENT:
        return None
    unfilled = scan.mounted is not None and scan.mounted < UNFILLED
    loading = signs.LOADING_TITLES.fullmatch(view.text[:100].strip(EDGES)) is not None
    if scan.scripts and (unfilled or loading or (scan.visible < FRAGMENT and _asks_for_script(view))):
        return Judgement(Outcome.EMPTY, "script_needed", scan.noscript[:100])
    if scan.visible:
        return None
    return _judge_blank(scan)


def _asks_for_script(view: PageView) -> bool:
    titles = plain(view.scan.noscript)
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


_RULES: Final[tuple[Callable[[PageView], Judgement | None], ...]] = (
    _judge_markup,
    _judge_wall_words,
    _judge_redirect,
    judge_no_site,
    _judge_status,
    judge_crash,
    judge_parked,
    _judge_missing,
    judge_failure,
    judge_login,
    _judge_empty,
)
