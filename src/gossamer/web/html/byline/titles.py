"""Titles: choose what a person would call the page, without the name of the site."""

import re
from collections.abc import Sequence
from typing import Final

MAX_TITLE_CHARS: Final = 500
_DASHES: Final = "\u2013\u2014-"
_ANGLES: Final = "\u00bb\u00ab\u203a\u2039>"
_SEPARATORS: Final = re.compile(
    rf"\s+[|·•:/\\{_ANGLES}{_DASHES}]+\s+|\s*[|\u00bb\u203a]\s*|\s+::\s+"
    r"|(?<=[\u3000-\u9fff\uff01-\uff60])[_-]+(?=[\u3000-\u9fff])"  # Chinese has no spaces around them
)
_PERMALINKS: Final = " ¶§\U0001f517"  # signs after a heading that link to it
_LETTERS: Final = re.compile(r"\w+")


def choose_title(
    *, document: str, headings: Sequence[str], declared: Sequence[str], site_name: str, host: str
) -> str:
    """Choose the title from `<title>`, the first headings, and the metadata (best first)."""
    document, site_name = _clean(document), _clean(site_name)
    declared = [text for text in (_without_site(_clean(one), site_name, host) for one in declared) if text]
    headings = [text for text in map(_clean, headings) if text and not _is_site(text, site_name, host)]
    agreeing = [
        one for one in headings if _agrees(one, document) or any(_agrees(one, said) for said in declared)
    ]
    if agreeing:  # in `Chapter - Book`, the book may have a heading too, and even the first one
        return next((one for one in agreeing if _begins(document, one)), agreeing[0])
    if declared:
        return declared[0]
    shortened = _without_site(document, site_name, host)
    if len(headings) == 1 and (not shortened or _shares_words(headings[0], shortened)):
        return headings[0]
    return shortened or (headings[0] if headings else "")


def _clean(text: str) -> str:
    return " ".join(text.split())[:MAX_TITLE_CHARS].rstrip(_PERMALINKS)


def _fold(text: str) -> str:
    return " ".join(_LETTERS.findall(text.casefold()))


def _agrees(heading: str, title: str) -> bool:
    """Whether the title is the heading, perhaps with the name of the site around it."""
    short, long = _fold(heading), _fold(title)
    return len(short) > 2 and (short == long or long.startswith(short + " ") or long.endswith(" " + short))


def _begins(title: str, heading: str) -> bool:
    short, long = _fold(heading), _fold(title)
    return long == short or long.startswith(short + " ")


def _shares_words(one: str, other: str) -> bool:
    words, others = set(_fold(one).split()), set(_fold(other).split())
    return len(words & others) * 2 >= min(len(words), len(others)) > 0


def _is_site(text: str, site_name: str, host: str) -> bool:
    folded = _fold(text)
    return bool(folded) and (folded == _fold(site_name) or folded.replace(" ", "") == own_name(host))


def own_name(host: str) -> str:
    """Return `news` for `www.news.co.uk`, `example` for `example.org`."""
    labels = [label for label in host.split(".") if label not in ("www", "m", "en")]
    return max(labels[:-1] or labels or [""], key=len).replace("-", "")


def _without_site(title: str, site_name: str, host: str) -> str:
    """Remove the part of the title before or after a separator that names the site."""
    parts = _SEPARATORS.split(title)
    if len(parts) < 2 or not title:
        return title
    joints = _SEPARATORS.findall(title)
    if _names_site(parts[-1], site_name, host):
        return _join(parts[:-1], joints)
    if _names_site(parts[0], site_name, host):
        return _join(parts[1:], joints[1:])
    if any(sign in joints[-1] for sign in "|\u00bb·_"):
        return _join(parts[:-1], joints) if len(_fold(parts[-1]).split()) <= 4 else title
    last = parts[-1]
    if joints[-1].strip() in (*_DASHES, "::") and len(last.split()) <= 4 and len(parts[0].split()) > 2:
        return _join(parts[:-1], joints)
    return title


def _names_site(part: str, site_name: str, host: str) -> bool:
    folded = _fold(part).replace(" ", "")
    if not folded:
        return True
    if site_name and folded == _fold(site_name).replace(" ", ""):
        return True
    own = own_name(host)
    return len(own) > 2 and (
        folded == own
        or folded.removeprefix("the") == own
        or folded == host.replace(".", "")
        or (len(folded) > 3 and (own.startswith(folded) or folded.startswith(own)) and len(part.split()) <= 4)
    )


def _join(parts: Sequence[str], joints: Sequence[str]) -> str:
    text = parts[0]
    for joint, part in zip(joints, parts[1:], strict=False):
        text += joint + part
    return text.strip()
