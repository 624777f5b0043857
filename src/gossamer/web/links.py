"""Where a page points to: references made absolute, and the list of its links."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ada_url import join_url
from selectolax.lexbor import LexborNode

LONGEST: Final = 8_192  # characters of a reference; longer ones are data, not addresses
MOST: Final = 10_000
REMEMBERED: Final = 500  # references of a folder,
USUAL: Final = 200  # of so many characters at most,
MOST_FOLDERS: Final = 500  # in so many folders
_WANTED: Final = re.compile(r"(?:https?|mailto|tel|ftp):", re.I)
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_NUMBER: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_NAME: Final = r"(?![^/]*xn--)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}"
_STEP: Final = r"[A-Za-z0-9_~-][A-Za-z0-9_~.-]*"
_QUERY: Final = r"(?:\?[A-Za-z0-9_~.=&%-]*)?"
_PATH: Final = rf"/(?:{_STEP}(?:/{_STEP})*/?)?{_QUERY}"
_WHOLE: Final = re.compile(
    rf"https?://(?:{_NAME}|(?:{_NUMBER}\.){{3}}{_NUMBER})(?::[1-5][0-9]{{3,4}})?{_PATH}"
)
# References in which the parser would change nothing, which are nearly all: what it would say, much faster.
_PLAIN: Final = re.compile(
    rf"(?P<path>{_PATH})|(?P<whole>{_WHOLE.pattern})"
    rf"|(?P<up>(?:\.\./)*)(?P<below>(?:{_STEP}/)*{_STEP}/?{_QUERY})"
)
_FOLDERS: Final = re.compile(r"https?://[^/?#\\]+(/(?:[^?#]*/)?)")
_ORIGIN: Final = re.compile(r"https?://[^/?#\\]+")
_IGNORED: Final = re.compile(r"[\t\n\r]")  # as the URL standard does, so that `java\nscript:` is what it is


class Link(NamedTuple):
    url: str
    text: str
    rel: tuple[str, ...] = ()


class Folder(dict[str, str]):
    """What plain references mean on the pages of one folder. Nothing: it takes the parser, and the page."""

    def __init__(self, base: str = "", most: int = REMEMBERED) -> None:
        super().__init__()
        self._most = most
        origin = _ORIGIN.match(base)
        self._origin = origin[0] if origin else ""
        self._above = _folders(base)

    def __missing__(self, reference: str) -> str:
        meant = self._meant(reference)
        if len(self) < self._most and len(reference) <= USUAL:
            self[reference] = meant
        return meant

    def _meant(self, reference: str) -> str:
        plain = _PLAIN.fullmatch(reference)
        if plain is None or not self._above or len(reference) > LONGEST:
            return ""
        match plain.lastgroup:
            case "path":
                return self._origin + reference
            case "whole":
                return reference
        up = plain.end("up")
        return self._above[min(up // 3, len(self._above) - 1)] + reference[up:]


class Folders:
    """Folders by their address: the pages of one link to the same places again and again."""

    def __init__(self, most: int = MOST_FOLDERS) -> None:
        self._most = most
        self._known: dict[str, Folder] = {}

    def of(self, base: str) -> Folder:
        found = _FOLDERS.match(base)
        name = found[0] if found else ""
        folder = self._known.get(name)
        if folder is None:
            if len(self._known) >= self._most:
                self._known = {}
            folder = self._known[name] = Folder(name)
        return folder


class Addresses:
    """Makes the references of one page absolute, remembering each."""

    def __init__(self, url: str, base: str = "", folders: Folders | None = None) -> None:
        self.page = self.base = url
        self.base = self._resolve(base) or (url if _WHOLE.fullmatch(url) else self._resolve(url) or url)
        self.plain = Folder(self.base) if folders is None else folders.of(self.base)
        self._known: dict[str, str] = {}

    def absolute(self, reference: str) -> str:
        """The address that is meant, or nothing if it is none to go to."""
        if plain := self.plain[reference]:
            return plain
        known = self._known.get(reference)
        if known is None:
            known = self._known[reference] = self._resolve(reference)
        return known

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
