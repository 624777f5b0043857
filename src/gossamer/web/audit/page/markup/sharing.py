"""Sharing: what a link to the page looks like in a chat or a feed."""

import re
from typing import Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.subject import Subject

CARDS: Final = frozenset({"summary", "summary_large_image", "app", "player"})
_ADDRESSES: Final = ("og:url", "og:image", "og:image:url", "og:video", "og:audio", "twitter:image")
_BASIC: Final = ("og:title", "og:type", "og:image", "og:url")
_LOCALE: Final = re.compile(r"[a-z]{2,3}_[A-Z]{2}")

check = CheckMaker[Subject](Theme.SHARING, "page")


@check(
    "og-incomplete",
    Severity.MINOR,
    title="The page lacks what a shared link shows",
    passed="The page has what a shared link shows",
    why="Chats and feeds then show a bare address, or a picture that happens to be on the page.",
    fix="Add `og:title`, `og:type`, `og:image` and `og:url`.",
)
def og_incomplete(subject: Subject) -> PageAnswer:
    return [f"no {name}" for name in _BASIC if not subject.meta(name)]


@check(
    "og-description",
    Severity.MINOR,
    title="A shared link has no description",
    passed="A shared link has a description",
    why="The card shows a title and an empty line.",
    fix="Add `og:description` with a sentence that makes people want to read on.",
)
def og_description(subject: Subject) -> PageAnswer:
    return [] if subject.meta("og:description") else ["no og:description"]


@check(
    "og-relative",
    Severity.MODERATE,
    title="Addresses for sharing are not written in full",
    passed="Addresses for sharing are written in full",
    why="Services fetch them without the context of the page, so they show no picture.",
    fix="Write them with scheme and host.",
)
def og_relative(subject: Subject) -> PageAnswer:
    stated = [(name, value) for name in _ADDRESSES for value in subject.metas.get(name, ()) if value]
    if not stated:
        return page_has_no("addresses for sharing")
    return [
        f"{name}: {value}" for name, value in stated if not value.lower().startswith(("http://", "https://"))
    ]


@check(
    "og-image-alt",
    Severity.MINOR,
    title="The picture for sharing has no alternative text",
    passed="The picture for sharing has an alternative text",
    why="People who cannot see the image do not know what was shared.",
    fix="Add `og:image:alt`.",
)
def og_image_alt(subject: Subject) -> PageAnswer:
    if not subject.meta("og:image"):
        return page_has_no("picture for sharing")
    return [] if subject.meta("og:image:alt") or subject.meta("twitter:image:alt") else ["no og:image:alt"]


@check(
    "og-twice",
    Severity.MINOR,
    title="Facts for sharing are stated twice",
    passed="Facts for sharing are stated once",
    why="It is left to chance which of them is shown.",
    fix="Keep one of each.",
)
def og_twice(subject: Subject) -> PageAnswer:
    names = ("og:title", "og:type", "og:url", "og:description")
    stated = {name: dict.fromkeys(filter(None, subject.metas.get(name, ()))) for name in names}
    if not any(stated.values()):
        return page_has_no("facts for sharing")
    return [f"{name}: {' / '.join(values)}" for name, values in stated.items() if len(values) > 1]


@check(
    "og-locale",
    Severity.MINOR,
    title="The language for sharing is written wrongly",
    passed="The language for sharing is written rightly",
    why="A locale is a language and a country, such as `en_GB`; others are ignored.",
    fix="Write it with an underscore and the country in capitals.",
)
def og_locale(subject: Subject) -> PageAnswer:
    stated = subject.meta("og:locale")
    if not stated:
        return page_has_no("`og:locale`")
    return [] if _LOCALE.fullmatch(stated) else [f"og:locale: {stated}"]


@check(
    "twitter-card",
    Severity.MINOR,
    title="There is no card for X, or of a kind that it does not know",
    passed="There is a card for X",
    why="Without it a link is shown small, or as text only.",
    fix='Add `<meta name="twitter:card" content="summary_large_image">`.',
)
def twitter_card(subject: Subject) -> PageAnswer:
    card = subject.meta("twitter:card")
    if card.lower() in CARDS:
        return []
    return [f"twitter:card: {card}" if card else "no twitter:card"]


CHECKS: Final = (og_incomplete, og_description, og_relative, og_image_alt, og_twice, og_locale, twitter_card)
