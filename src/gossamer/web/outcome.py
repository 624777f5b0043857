"""Outcome: is this the page that was asked for, or something that stands in its place?

Signs are taken from status, headers, the final address, the markup and the words; how much they count
depends on how much there is to read. A page with plenty of running text is never turned away for its words,
and what no rule recognises is `ok`. Choices of our own:

- A form to sign in is a `login_wall` also where it was asked for: there is nothing behind it to be read.
- 401, 402 and 407 are a `login_wall`; 403, 429, 451 and 999 are `blocked`; 404 and every other status from
  300 are an `error`, unless a wall shows itself.
- The default page of a server, a registrar or a host is `parked`: nobody has put a site there. "Coming soon"
  is `ok`.
- An article with a teaser of a sentence or two above a paywall is a `login_wall`; with more it is `ok`.
- A page without text is `empty`, unless it shows pictures. The reason `script_needed` says that it would have
  more to say in a browser.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from gossamer.web import outcome_marks as marks
from gossamer.web import outcome_words as words
from gossamer.web.kind import is_html
from gossamer.web.page import Page
from gossamer.web.sketch import Sketch, glance, weight


class Outcome(StrEnum):
    OK = "ok"
    BLOCKED = "blocked"  # challenge, captcha, access denied, rate limited
    SOFT_404 = "soft_404"  # says that it does not exist, with a status that says that it does
    LOGIN_WALL = "login_wall"
    PARKED = "parked"
    EMPTY = "empty"  # nothing to read, most often because it needs JavaScript
    ERROR = "error"  # a status from 400 that is none of the above


@dataclass(frozen=True, slots=True)
class Judgement:
    outcome: Outcome
    reason: str = ""  # which rule: `challenge`, `not_found`, `script_needed`, …
    sign: str = ""  # what gave it away: a guard's name, the words, the status


OK: Final = Judgement(Outcome.OK)

# How much there is to read, in letters.
PLENTY: Final = 3000  # taken at its word
ARTICLE: Final = 1500
NOTE: Final = 800
LINE: Final = 400
FRAGMENT: Final = 200


def judge(page: Page, *, title: str = "", text: str = "", enough: int = PLENTY) -> Judgement:
    """What `page` is. Give title and main text where they are known already: then most pages need no scan.
    Who has many to judge may say how much text is enough to be taken at its word."""
    wall = _wall_by_headers(page)
    if wall:
        return wall
    if not is_html(page.media_type, page.body, page.final_url):
        return _by_status(page) or _by_body(page)
    if page.status < 300 and _weighs(text, enough) and not _is_suspicious(title):
        return OK
    sight = _Sight.of(page, title)
    if not sight.shorter_than(PLENTY):
        return _by_status(page) or OK
    return next(filter(None, (rule(sight) for rule in _RULES)), OK)


def _weighs(text: str, enough: int) -> bool:
    """No text weighs less than it is long."""
    return len(text) >= enough or weight(text) >= enough


# What is seen.


@dataclass(frozen=True, slots=True)
class _Sight:
    page: Page
    sketch: Sketch
    said: tuple[str, ...]  # title and headings, whole and in parts
    text: str

    @classmethod
    def of(cls, page: Page, title: str) -> "_Sight":
        sketch = glance(page.text, enough=PLENTY)
        said = dict.fromkeys(
            part for line in (sketch.title, title, *sketch.headings) for part in _parts(line)
        )
        return cls(page, sketch, tuple(said), _plain(sketch.text))

    def says(self, pattern: re.Pattern[str]) -> str:
        return next((part for part in self.said if pattern.fullmatch(part)), "")

    def has(self, pattern: re.Pattern[str], *, below: int) -> str:
        """What the text has of it, if there is no more than so much text."""
        found = pattern.search(self.text) if self.shorter_than(below) else None
        return found[0][:100] if found else ""

    def bears(self, known: marks.Marks) -> str:
        markup = self.sketch.markup
        return next((name for name, parts in known.items() if any(part in markup for part in parts)), "")

    def shorter_than(self, amount: int) -> bool:
        return self.sketch.prose < amount

    @property
    def is_bare(self) -> bool:
        """Neither a site around it nor a document in it: walls stand alone."""
        return self.sketch.links <= 8 and not self.sketch.furniture

    @property
    def moved(self) -> bool:
        return self.page.url != self.page.final_url


_QUOTES: Final = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u00a0": " ", "\u2011": "-"})
_SEPARATOR: Final = re.compile(
    r"\s+[|\-\u2013\u2014\u00b7\u2022\u00bb\u203a:\u2212/]+\s+|[:|\uff5c]\s+|\s*[|\uff5c_]\s*"
)
_EDGES: Final = " .\u2026!?\u3002\uff01\uff1f\u00a1\u00bf:;,-\u2013\u2014\u00bb\u00ab\"'"


def _plain(text: str) -> str:
    return text.lower().translate(_QUOTES)


def _parts(line: str) -> list[str]:
    """A title and its parts: `Page not found | Acme` is also `Page not found`."""
    plain = _plain(line)[:300]
    parts = (part.strip(_EDGES) for part in (plain, *_SEPARATOR.split(plain)))
    return [part for part in parts if part]


def _is_suspicious(title: str) -> bool:
    return any(map(_is_suspicion, _parts(title)))


@lru_cache(maxsize=1024)  # the name of its site is in the title of every page
def _is_suspicion(part: str) -> bool:
    patterns = (words.WALL_SAYS, words.NOT_FOUND_SAYS, words.NOT_FOUND_PERHAPS)
    return any(pattern.fullmatch(part) for pattern in patterns)


# Walls.


def _wall_by_headers(page: Page) -> Judgement | None:
    for name, value in page.headers:
        if name in marks.WALL_HEADERS and marks.WALL_HEADERS[name].match(value.lower()):
            return Judgement(Outcome.BLOCKED, "challenge", name)
    return None


_NO_WALL: Final = frozenset({404, 410})


def _wall_by_markup(sight: _Sight) -> Judgement | None:
    if guard := sight.bears(marks.WALL_MARKUP):
        return Judgement(Outcome.BLOCKED, "challenge", guard)
    nothing_else = sight.sketch.visible < 60 and sight.sketch.mounted is None
    if nothing_else and sight.page.status not in _NO_WALL and (guard := sight.bears(marks.SENSORS)):
        return Judgement(Outcome.BLOCKED, "challenge", guard)
    return None


def _wall_by_words(sight: _Sight) -> Judgement | None:
    fields = sight.sketch.fields
    if sight.page.status in _NO_WALL or fields["password"] or not sight.shorter_than(ARTICLE):
        return None
    said, phrase = sight.says(words.WALL_SAYS), sight.has(words.WALL_PHRASES, below=ARTICLE)
    is_form = fields["textarea"] + fields["email"] > 0
    captcha = not is_form and bool(sight.bears(marks.EMBEDS))
    reason = _wall_reason(sight.page, captcha)
    if said and _stands_alone(sight, bool(phrase or captcha)) and not _is_loading(sight):
        return Judgement(Outcome.BLOCKED, reason, said)
    if phrase and sight.is_bare and (captcha or not fields.total()) and sight.shorter_than(NOTE):
        return Judgement(Outcome.BLOCKED, reason, phrase)
    if captcha and not fields.total() and sight.sketch.visible < FRAGMENT:
        return Judgement(Outcome.BLOCKED, reason, "nothing but a captcha")
    return None


def _stands_alone(sight: _Sight, confirmed: bool) -> bool:
    """Is what has a wall's title a wall? One sign of being alone is enough if something else confirms it."""
    short = sight.shorter_than(LINE)
    return (sight.is_bare and short) or (confirmed and (sight.is_bare or short))


def _wall_reason(page: Page, captcha: bool) -> str:
    if captcha:
        return "captcha"
    return "rate_limited" if page.status == 429 else "access_denied"


def _is_loading(sight: _Sight) -> bool:
    """`Please wait` is what walls say, and what applications say before they have loaded."""
    return sight.sketch.mounted is not None and sight.says(words.LOADING_SAYS) != ""


def _wall_by_address(sight: _Sight) -> Judgement | None:
    if not sight.moved or not sight.shorter_than(NOTE):
        return None
    asked, final = urlsplit(sight.page.url), urlsplit(sight.page.final_url)
    if marks.WALL_PATH.search(final.path.lower()) and not marks.WALL_PATH.search(asked.path.lower()):
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


def _status(sight: _Sight) -> Judgement | None:
    if sight.page.status == 403 and (login := _login(sight)):
        return login
    return _by_status(sight.page)


def _by_body(page: Page) -> Judgement:
    return OK if page.body.strip() else Judgement(Outcome.EMPTY, "no_body")


# Pages that say what they are.


def _parked(sight: _Sight) -> Judgement | None:
    if not sight.shorter_than(ARTICLE) or marks.MARKETPLACES.fullmatch(urlsplit(sight.page.url).netloc):
        return None
    if company := sight.bears(marks.PARKING_MARKUP):
        return Judgement(Outcome.PARKED, "domain_parked", company)
    if sight.moved and marks.MARKETPLACES.fullmatch(urlsplit(sight.page.final_url).netloc):
        return Judgement(Outcome.PARKED, "domain_for_sale", urlsplit(sight.page.final_url).netloc)
    if default := sight.says(words.DEFAULT_SAYS):
        return Judgement(Outcome.PARKED, "default_page", default)
    if sight.sketch.links <= 20 and (phrase := sight.has(words.PARKED_PHRASES, below=NOTE)):
        return Judgement(Outcome.PARKED, "domain_parked", phrase)
    return None


def _missing(sight: _Sight) -> Judgement | None:
    if not sight.shorter_than(ARTICLE):
        return None
    asked, final = urlsplit(sight.page.url).path.lower(), urlsplit(sight.page.final_url).path.lower()
    said = sight.says(words.NOT_FOUND_SAYS)
    if said:
        return Judgement(Outcome.SOFT_404, "not_found", said)
    if marks.NOT_FOUND_PATH.fullmatch(final) and not marks.NOT_FOUND_PATH.fullmatch(asked):
        return Judgement(Outcome.SOFT_404, "not_found", final[:100])
    phrase = sight.has(words.NOT_FOUND_PHRASES, below=NOTE)
    perhaps = sight.says(words.NOT_FOUND_PERHAPS)
    if perhaps and (phrase or sight.shorter_than(FRAGMENT)):
        return Judgement(Outcome.SOFT_404, "not_found", phrase or perhaps)
    sent_home = final in ("", "/") and asked.count("/") > 1  # a hint, no more: many sites move their pages
    if phrase and sight.shorter_than(NOTE if sent_home else LINE):
        return Judgement(Outcome.SOFT_404, "not_found", phrase)
    return None


def _login(sight: _Sight) -> Judgement | None:
    if not sight.shorter_than(NOTE):
        return None
    fields, said = sight.sketch.fields, sight.says(words.LOGIN_SAYS)
    named = fields["email"] + fields["text"] + fields["tel"] > 0
    if fields["password"] and (said or (named and sight.sketch.visible < LINE + FRAGMENT)):
        return Judgement(Outcome.LOGIN_WALL, "login_form", said)
    if said and named and sight.sketch.visible < ARTICLE and sight.shorter_than(LINE):
        return Judgement(Outcome.LOGIN_WALL, "login_form", said)
    if _sent_to_login(sight):
        return Judgement(Outcome.LOGIN_WALL, "login_redirect", sight.page.final_url[:100])
    return _login_by_words(sight)


def _sent_to_login(sight: _Sight) -> bool:
    place = marks.LOGIN_PLACE
    return bool(
        sight.moved and place.match(sight.page.final_url.lower()) and not place.match(sight.page.url.lower())
    )


def _login_by_words(sight: _Sight) -> Judgement | None:
    if phrase := sight.has(words.PAYWALL_PHRASES, below=LINE + FRAGMENT):
        return Judgement(Outcome.LOGIN_WALL, "paywall", phrase)
    if phrase := sight.has(words.LOGIN_PHRASES, below=LINE + FRAGMENT):
        return Judgement(Outcome.LOGIN_WALL, "login_needed", phrase)
    return None


# Pages with nothing on them.


def _empty(sight: _Sight) -> Judgement | None:
    sketch = sight.sketch
    if sketch.visible >= FRAGMENT + FRAGMENT:
        return None
    unfilled = sketch.mounted is not None and sketch.mounted < 40
    loading = words.LOADING_SAYS.fullmatch(sight.text[:100].strip(_EDGES)) is not None
    if sketch.scripts and (unfilled or loading or (sketch.visible < FRAGMENT and _asks_for_script(sight))):
        return Judgement(Outcome.EMPTY, "script_needed", sketch.noscript[:100])
    if sketch.visible:
        return None
    return _blank(sketch)


def _asks_for_script(sight: _Sight) -> bool:
    said = _plain(sight.sketch.noscript)
    if words.NEEDS_SCRIPT.search(said):
        return sight.sketch.visible < 60
    return words.NEEDS_SCRIPT.search(sight.text) is not None


def _blank(sketch: Sketch) -> Judgement | None:
    if sketch.refresh:
        return Judgement(Outcome.EMPTY, "meta_refresh")
    if sketch.scripts:
        return Judgement(Outcome.EMPTY, "script_needed")
    if sketch.frames:
        return Judgement(Outcome.EMPTY, "frames")
    return None if sketch.images else Judgement(Outcome.EMPTY, "no_text")


_RULES: Final[tuple[Callable[[_Sight], Judgement | None], ...]] = (
    _wall_by_markup,
    _wall_by_words,
    _wall_by_address,
    _status,
    _parked,
    _missing,
    _login,
    _empty,
)
