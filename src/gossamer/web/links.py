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
_NUMBER: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_NAME: Final = r"(?![^/]*xn--)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}"
_STEP: Final = r"[A-Za-z0-9_~-][A-Za-z0-9_~.-]*"
_QUERY: Final = r"(?:\?[A-Za-z0-9_~.=&%-]*)?"
# References in which the parser would change nothing, which are nearly all: what it would say, much faster.
_PLAIN: Final = re.compile(
    rf"(?P<path>/(?:{_STEP}(?:/{_STEP})*/?)?{_QUERY})"
    rf"|(?P<whole>https?://(?:{_NAME}|(?:{_NUMBER}\.){{3}}{_NUMBER})(?::[1-5][0-9]{{3,4}})?"
    rf"/(?:{_STEP}(?:/{_STEP})*/?)?{_QUERY})"
    rf"|(?P<up>(?:\.\./)*)(?P<below>(?:{_STEP}/)*{_STEP}/?{_QUERY})"
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
            known = self._known[reference] = self._plainly(reference) or self._resolve(reference)
        return known

    def _plainly(self, reference: str) -> str:
        plain = _PLAIN.fullmatch(reference)
        if plain is None or not self._folders or len(reference) > LONGEST:
            return ""
        match plain.lastgroup:
            case "path":
                return self._origin + reference
            case "whole":
                return reference
        up = plain.end("up")
        return self._folders[min(up // 3, len(self._folders) - 1)] + reference[up:]

    def _resolve(self, reference: str) -> str:
        reference = _IGNORED.sub("", reference.strip())
        if not reference or len(reference) > LONGEST:
            return ""
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
