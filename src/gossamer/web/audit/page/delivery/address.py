"""Address: what the URL tells people who see it before the page."""

import re
from typing import Final
from urllib.parse import parse_qsl, unquote

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme
from gossamer.web.audit.page.subject import Subject
from gossamer.web.url.url import TRACKING

MAX_URL_CHARS: Final = 120
MAX_PARAMETERS: Final = 3
_SESSION: Final = re.compile(
    r"(?:php)?sess(?:ion)?[_-]?id|jsessionid|aspsessionid\w*|cfid|cftoken|sid|zenid", re.I
)
_PATH_SESSION: Final = re.compile(r";jsessionid=|/\(S\([a-z0-9]{10,}\)\)/", re.I)
_STRANGE: Final = re.compile(r"//|%20|\+|[<>\"{}|\\^`\s]|%(?:2[0-9A-E]|3[A-F]|5[B-E]|7[B-D])", re.I)

check = CheckMaker[Subject](Theme.ADDRESS, "page")


@check(
    "url-length",
    Severity.MINOR,
    title="The address is long",
    passed="The address is short",
    why="Long addresses are cut in results, broken in mails, and hard to say aloud.",
    fix=f"Keep it below {MAX_URL_CHARS} characters: a few words that name the page.",
    html=False,
)
def url_length(subject: Subject) -> PageAnswer:
    return [f"{len(subject.url)} characters"] if len(subject.url) > MAX_URL_CHARS else []


@check(
    "url-case",
    Severity.MINOR,
    title="The address has capital letters",
    passed="The address is in lower case",
    why="Typed in lower case it is another page, most often a missing one.",
    fix="Use lower case, and redirect the other spelling.",
    html=False,
)
def url_case(subject: Subject) -> PageAnswer:
    path = re.sub(r"%[0-9A-Fa-f]{2}", "", subject.parts.path)
    return [subject.parts.path] if path != path.lower() else []


@check(
    "url-underscores",
    Severity.MINOR,
    title="Words of the address are joined by underscores",
    passed="Words of the address are divided by hyphens",
    why="Search engines read `blue_shoes` as one word and `blue-shoes` as two.",
    fix="Use hyphens in new addresses, and redirect old ones only if it is worth it.",
    html=False,
)
def url_underscores(subject: Subject) -> PageAnswer:
    return [subject.parts.path] if re.search(r"[^\W_]_[^\W_]", unquote(subject.parts.path)) else []


@check(
    "url-parameters",
    Severity.MINOR,
    title="The address has many parameters",
    passed="The address has few parameters",
    why="Each order and combination is another address of the same page.",
    fix="Put the parameters that name the page into the path, and the rest into cookies or the fragment.",
    html=False,
)
def url_parameters(subject: Subject) -> PageAnswer:
    names = _names(subject)
    return [", ".join(names)] if len(names) > MAX_PARAMETERS else []


@check(
    "url-session",
    Severity.SERIOUS,
    title="The address carries a session",
    passed="The address carries no session",
    why="A reader who gets the link may be taken for the sender, and every visitor makes a new copy of the "
    "page.",
    fix="Keep sessions in cookies.",
    html=False,
)
def url_session(subject: Subject) -> PageAnswer:
    found = [name for name in _names(subject) if _SESSION.fullmatch(name)]
    return [f"parameter {name}" for name in found] + (
        ["in the path"] if _PATH_SESSION.search(subject.parts.path) else []
    )


@check(
    "url-tracking",
    Severity.MINOR,
    title="The page keeps tracking parameters in its address",
    passed="The address carries no tracking parameters",
    why="Copied and shared, the link credits the wrong campaign, and caches keep one copy for each.",
    fix="Drop them by a redirect, or leave them out of internal links.",
    html=False,
)
def url_tracking(subject: Subject) -> PageAnswer:
    return [f"parameter {name}" for name in _names(subject) if name.encode("utf-8", "replace") in TRACKING]


@check(
    "url-characters",
    Severity.MINOR,
    title="The address has spaces, doubled slashes or signs that must be escaped",
    passed="The address has no signs that cause trouble",
    why="It is broken when it is copied, and spelt in several ways.",
    fix="Use letters, digits, hyphens and single slashes.",
    html=False,
)
def url_characters(subject: Subject) -> PageAnswer:
    return [subject.parts.path] if _STRANGE.search(subject.parts.path) else []


def _names(subject: Subject) -> list[str]:
    try:
        pairs = parse_qsl(subject.parts.query, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return ["more than 200 of them"] * (MAX_PARAMETERS + 1)
    return list(dict.fromkeys(name[:60] for name, _ in pairs))


CHECKS: Final = (
    url_length,
    url_case,
    url_underscores,
    url_parameters,
    url_session,
    url_tracking,
    url_characters,
)
