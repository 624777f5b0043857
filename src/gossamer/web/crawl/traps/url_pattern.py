"""Patterns: what URLs of one kind have in common.

    /shop/12?size=4&color=red       /shop/{n}?color&size
    /2026/05/a-post.html            /{n}/{n}/{word}.html
    /docs/api/list/                 /docs/{word}/{word}/

The first folder is kept as it is, because it often says which part of a site answers.
"""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from gossamer.web.url.url import Url

MAX_FOLDERS: Final = 12  # that a pattern tells apart
MAX_NAMES: Final = 12
MAX_PART_CHARS: Final = 40  # of a first folder or a name
LONG_TOKEN: Final = 16  # characters

FEW_PARTS: Final = 3  # a folder and a name

_RUN: Final = re.compile(r"(?:/\{(\w+)\})(?:/\{\1\})+")
_DATE: Final = re.compile(r"\d{4}-\d{1,2}(?:-\d{1,2})?|(?:19|20|21)\d{6}")
_TOKEN: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9A-Za-z_~-]+")
_ENDING: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}")


class UrlPattern(NamedTuple):
    """Its text is the whole of it."""

    text: str
    path: str  # the part of it before the parameters
    names: tuple[str, ...]  # of the parameters, sorted

    @property
    def family(self) -> str:
        """What it has in common with patterns of other folders and depths."""
        path = _family(self.path)
        return path + self.text[len(self.path) :] if self.names else path


def pattern_of(url: Url) -> UrlPattern:
    folders = url.path[1:].split("/")
    first, rest = folders[0], folders[1:]
    path = f"/{_kind(first, keep=bool(rest))}"
    if len(rest) > MAX_FOLDERS:
        path += "/…"
        rest = rest[-MAX_FOLDERS:]
    if rest:
        path += "/" + "/".join([_kind(each) for each in rest])
    if not url.query:
        return UrlPattern(path, path, ())
    names = tuple(sorted({name for name, _ in pairs_of(url.query)})[:MAX_NAMES])
    return UrlPattern(f"{path}?{'&'.join(name[:MAX_PART_CHARS] for name in names)}", path, names)


def pairs_of(query: str) -> list[tuple[str, str]]:
    """Names, which are compared without case, and values."""
    found = []
    for piece in query.split("&"):
        if piece:
            name, _, value = piece.partition("=")
            found.append((_lowered(name), value))
    return found


@lru_cache(maxsize=2_000)
def _family(path: str) -> str:
    parts = path.split("/")
    return path if len(parts) <= FEW_PARTS else _RUN.sub(r"/{\1}+", "/".join(["", "{word}", *parts[2:]]))


@lru_cache(maxsize=1_000)
def _lowered(name: str) -> str:
    return unquote_plus(name).lower()


@lru_cache(maxsize=20_000)
def _kind(part: str, *, keep: bool = False) -> str:
    if not part:
        return ""
    if part.isdecimal():
        return "{n}"
    stem, ending = _split(part)
    if stem.isdecimal():
        return f"{{n}}{ending}"
    if _DATE.fullmatch(stem):
        return f"{{date}}{ending}"
    if is_token(stem):
        return f"{{token}}{ending}"
    return part[:MAX_PART_CHARS] if keep else f"{{word}}{ending}"


def _split(part: str) -> tuple[str, str]:
    at = part.rfind(".")
    return (part[:at], part[at:]) if at > 0 and _ENDING.fullmatch(part, at) else (part, "")


@lru_cache(maxsize=10_000)
def is_token(text: str) -> bool:
    """Whether it looks as if a machine has drawn it: long, and letters among digits without any order."""
    if len(text) < LONG_TOKEN or not _TOKEN.fullmatch(text):
        return False
    digits = sum(character.isdigit() for character in text)
    if not digits or digits == len(text):
        return False
    if all(character in "0123456789abcdefABCDEF-" for character in text):
        return True
    words = re.split(r"[-_]", text)
    return len(words) <= 2 and digits >= 3 and _changes(text) >= len(text) // 4


def _changes(text: str) -> int:
    """How often letters of one case and digits follow one another."""
    kinds = [0 if each.isdigit() else 1 if each.isupper() else 2 for each in text]
    return sum(one != other for one, other in pairwise(kinds))
