"""Where a page points to: references made absolute, and the list of its links."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ada_url import join_url
from selectolax.lexbor import LexborNode

LONGEST: Final = 8_192  # characters of a reference; longer ones are data, not addresses
MOST: Final = 10_000
_WANTED: Final = re.compile(r"(?:https?|mailto|tel|ftp):", re.I)
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_PLAIN: Final = re.compile(
    r"https?://(?![^/]*xn--)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?:(?:/[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)+/?|/)"
    r"(?:\?[A-Za-z0-9_~.=&%-]*)?"
)
_PLAIN_PATH: Final = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)+/?(?:\?[A-Za-z0-9_~.=&%-]*)?|/")
_PLAIN_BELOW: Final = re.compile(  # relative, with nothing in it that the parser would change
    r"((?:\.\./)*)((?:[A-Za-z0-9_~-][A-Za-z0-9_~.-]*/)*[A-Za-z0-9_~-][A-Za-z0-9_~.-]*/?)(?:\?[A-Za-z0-9_~.=&%-]*)?"
)
_FOLDERS: Final = re.compile(r"https?://[^/?#\\]+(/(?:[^?#]*/)?)")
_ORIGIN: Final = re.compile(r"https?://[^/?#\\]+")
_IGNORED: Final = re.compile(r"[\t\n\r]")  # as the URL standard does, so that `java\nscript:` is what it is


class Link(NamedTuple):
    url: str
    text: str
    rel: tuple[str, ...] = ()


class Addresses:
    """Makes the references of one page absolute, remembering each."""

    def __init__(self, url: str, base: str = "") -> None:
        self.page = url
        self._known: dict[str, str] = {}
        self._folders: list[str] = []
        self.base, self._origin = url, ""
        self.base = self.absolute(base) or self.absolute(url) or url
        self._known.clear()
        origin = _ORIGIN.match(self.base)
        self._origin = origin[0] if origin else ""
        self._folders = _folders(self.base)

    def absolute(self, reference: str) -> str:
        """The address that is meant, or nothing if it is none to go to."""
        known = self._known.get(reference)
        if known is None:
            known = self._known[reference] = self._resolve(_IGNORED.sub("", reference.strip()))
        return known

    def _resolve(self, reference: str) -> str:
        if not reference or len(reference) > LONGEST:
            return ""
        if _PLAIN.fullmatch(reference):
            return reference  # as the parser would say, a few times faster
        if self._origin and _PLAIN_PATH.fullmatch(reference):
            return self._origin + reference
        if self._folders and (below := _PLAIN_BELOW.fullmatch(reference)):
            up = len(below[1])
            return self._folders[min(up // 3, len(self._folders) - 1)] + reference[up:]
        if _SCHEME.match(reference) and not _WANTED.match(reference):
            return ""
        try:
            return join_url(self.base, reference)
        except ValueError:
            return ""


def _folders(base: str) -> list[str]:
    """The folder that a page is in, and those above it."""
    found = _FOLDERS.match(base)
    if found is None:
        return []
    folders = [found[0]]
    while (end := folders[-1].rfind("/", found.start(1), -1)) >= 0:
        folders.append(folders[-1][: end + 1])
    return folders


def links_of(anchors: Iterable[LexborNode], addresses: Addresses) -> tuple[tuple[Link, ...], bool]:
    """Every page that this one links to, once, without fragments; and whether there were too many."""
    found: dict[str, Link] = {}
    for anchor in anchors:
        attributes = anchor.attributes
        url = addresses.absolute(attributes.get("href") or "").partition("#")[0]
        if not url.startswith(("http:", "https:")):
            continue
        known = found.get(url)
        if known is not None and known.text:
            continue
        if known is None and len(found) >= MOST:
            return tuple(found.values()), True
        text = " ".join((anchor.text() or "").split())[:300] or (attributes.get("title") or "").strip()
        found[url] = Link(url, text, tuple((attributes.get("rel") or "").lower().split()))
    return tuple(found.values()), False
