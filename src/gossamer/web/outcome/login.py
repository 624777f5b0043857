"""Log-ins: whether a page is there to log in, by the sum of its signs.

No sign decides alone, because each also stands on other pages: a password field beside marketing, "Sign in"
in a manual, the script of an identity provider on a page that anyone may read. Text counts against it.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from gossamer.web.outcome import signs
from gossamer.web.outcome.outcome import Judgement, Outcome
from gossamer.web.outcome.page_view import FRAGMENT, LINE, NOTE, PageView

ENOUGH: Final = 4  # of the points below
CLEAR: Final = 60  # letters: less text than this is none
PROSE_STEP: Final = 150  # letters that cost a point, after the first ones
MANY_HEADINGS: Final = 4
MANY_LINKS: Final = 8


class Sign(NamedTuple):
    points: int
    reason: str = ""
    evidence: str = ""


def judge_login(view: PageView) -> Judgement | None:
    if not view.is_shorter_than(NOTE):
        return None
    if _is_sent_to_login(view):
        return Judgement(Outcome.LOGIN_WALL, "login_redirect", view.page.final_url[:100])
    found = list(_signs(view))
    if sum(sign.points for sign in found) < ENOUGH:
        return _judge_paywall(view)
    strongest = max(found, key=lambda sign: (sign.reason != "", sign.points))
    evidence = next((sign.evidence for sign in found if sign.evidence), "")
    return Judgement(Outcome.LOGIN_WALL, strongest.reason, strongest.evidence or evidence)


def _judge_paywall(view: PageView) -> Judgement | None:
    phrase = view.find_phrase(signs.PAYWALL_PHRASES, below=LINE + FRAGMENT)
    return Judgement(Outcome.LOGIN_WALL, "paywall", phrase) if phrase else None


def _is_sent_to_login(view: PageView) -> bool:
    place = signs.LOGIN_URL
    return bool(
        view.is_redirected
        and place.match(view.page.final_url.lower())
        and not place.match(view.page.url.lower())
    )


def _signs(view: PageView) -> Iterator[Sign]:
    title = view.match_title(signs.LOGIN_TITLES)
    if title:
        yield Sign(_title_points(view), "login_form", title)
    yield from _form(view, bool(title))
    yield from _providers(view)
    yield from _words(view)
    yield Sign(-_content(view, bool(title)))


def _title_points(view: PageView) -> int:
    if view.is_shorter_than(CLEAR):
        return ENOUGH
    return 3 if view.is_bare or view.scan.main_fields.total() else 2


def _form(view: PageView, titled: bool) -> Iterator[Sign]:
    fields = view.scan.fields if titled else view.scan.main_fields
    named = fields["email"] + fields["text"] + fields["tel"] > 0
    if fields["password"]:
        submit = any(map(signs.LOGIN_LABELS.fullmatch, _lower(view.scan.buttons)))
        yield Sign(2 + 2 * named + 2 * submit, "login_form")
    elif named:
        yield Sign(1, "login_form" if titled else "")


def _providers(view: PageView) -> Iterator[Sign]:
    labels = {label for label in _lower(view.scan.labels) if signs.PROVIDER_LABELS.fullmatch(label)}
    if labels:
        yield Sign(4 if len(labels) > 1 else 2, "single_sign_on", min(labels))
    if view.scan.visible < LINE and (provider := view.find_mark(signs.LOGIN_MARKUP)):
        yield Sign(ENOUGH, "single_sign_on", provider)
    if view.scan.visible < FRAGMENT and signs.LOGIN_HANDOVER.search(view.scan.markup):
        yield Sign(ENOUGH, "login_redirect")


def _words(view: PageView) -> Iterator[Sign]:
    if phrase := view.find_phrase(signs.LOGIN_PHRASES, below=LINE + FRAGMENT):
        yield Sign(ENOUGH if view.is_shorter_than(FRAGMENT) else 2, "login_needed", phrase)
    if signs.LOGIN_LINK.search(view.scan.markup):
        yield Sign(1)


def _content(view: PageView, titled: bool) -> int:
    """How much there is besides a log-in, in the same points."""
    scan = view.scan
    steps = max(0, scan.prose - CLEAR) // PROSE_STEP + (len(scan.headings) >= MANY_HEADINGS)
    return steps if titled else steps + len(scan.labels) // MANY_LINKS


def _lower(labels: tuple[str, ...]) -> list[str]:
    return [label.lower().strip(" \u203a\u00bb\u2192>") for label in labels]
