"""Links: make the references of a page absolute, and list its links."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ada_url import join_url
from selectolax.lexbor import LexborNode

MAX_REFERENCE_CHARS: Final = 8_192  # a longer reference is data, not a URL
MAX_LINKS: Final = 10_000
MAX_CACHED: Final = 500  # references in a folder
MAX_CACHED_CHARS: Final = 200  # of a cached reference
MAX_FOLDERS: Final = 500  # in the cache
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
# References that the URL parser would not change. Nearly all are; this pattern is much faster.
_PLAIN: Final = re.compile(
    rf"(?P<path>{_PATH})|(?P<whole>{_WHOLE.pattern})"
    rf"|(?P<up>(?:\.\./)*)(?P<below>(?:{_STEP}/)*{_STEP}/?{_QUERY})"
)
_FOLDERS: Final = re.compile(r"https?://[^/?#\\]+(/(?:[^?#]*/)?)")
_ORIGIN: Final = re.compile(r"https?://[^/?#\\]+")
_NOT_SHOWN: Final = frozenset(("style", "script"))
_IGNORED: Final = re.compile(r"[\t\n\r]")  # like the URL standard, so `java\nscript:` is detected


class Link(NamedTuple):
    url: str
    text: str
    rel: tuple[str, ...] = ()


class LinkFolder(dict[str, str]):
    """Maps plain references to URLs, for the pages of one folder. "" means that only the parser can tell."""

    def __init__(self, base: str = "", most: int = MAX_CACHED) -> None:
        super().__init__()
        self._most = most
        origin = _ORIGIN.match(base)
        self._origin = origin[0] if origin else ""
        self._above = _folders(base)

    def __missing__(self, reference: str) -> str:
        address = self._resolve_plain(reference)
        if len(self) < self._most and len(reference) <= MAX_CACHED_CHARS:
            self[reference] = address
        return address

    def _resolve_plain(self, reference: str) -> str:
        plain = _PLAIN.fullmatch(reference)
        if plain is None or not self._above or len(reference) > MAX_REFERENCE_CHARS:
            return ""
        match plain.lastgroup:
            case "path":
                return self._origin + reference
            case "whole":
                return reference
        up = plain.end("up")
        return self._above[min(up // 3, len(self._above) - 1)] + reference[up:]


class Folders:
    """Caches link folders by URL, because the pages of a folder share most of their links."""

    def __init__(self, most: int = MAX_FOLDERS) -> None:
        self._most = most
        self._known: dict[str, LinkFolder] = {}

    def of(self, base: str) -> LinkFolder:
        found = _FOLDERS.match(base)
        name = found[0] if found else ""
        folder = self._known.get(name)
        if folder is None:
            if len(self._known) >= self._most:
                self._known = {}
            folder = self._known[name] = LinkFolder(name)
        return folder


class Addresses:
    """Makes the references of one page absolute, and caches the results."""

    def __init__(self, url: str, base: str = "", folders: Folders | None = None) -> None:
        self.page = self.base = url
        self.base = self._resolve(base) or (url if _WHOLE.fullmatch(url) else self._resolve(url) or url)
        self.plain = LinkFolder(self.base) if folders is None else folders.of(self.base)
        self._known: dict[str, str] = {}

    def absolute(self, reference: str) -> str:
        """Return the URL that a reference means, or "" if it cannot be followed."""
        if plain := self.plain[reference]:
            return plain
        known = self._known.get(reference)
        if known is None:
            known = self._known[reference] = self._resolve(reference)
        return known

    def _resolve(self, reference: str) -> str:
        reference = _IGNORED.sub("", reference.strip())
        if not reference or len(reference) > MAX_REFERENCE_CHARS:
            return ""
        if _SCHEME.match(reference) and not _WANTED.match(reference):
            return ""
        try:
            return join_url(self.base, reference)
        except ValueError:
            return ""


def _folders(base: str) -> list[str]:
    """Return the folder of a page and the folders above it."""
    found = _FOLDERS.match(base)
    if found is None:
        return []
    folders = [found[0]]
    while (end := folders[-1].rfind("/", found.start(1), -1)) >= 0:
        folders.append(folders[-1][: end + 1])
    return folders


def links_of(anchors: Iterable[LexborNode], addresses: Addresses) -> tuple[tuple[Link, ...], bool]:
    """Return every linked page once, without fragments, and whether there were too many."""
    found: dict[str, Link] = {}
    for anchor in anchors:
        attributes = anchor.attributes
        url = addresses.absolute(attributes.get("href") or "").partition("#")[0]
        if not url.startswith(("http:", "https:")):
            continue
        known = found.get(url)
        if known is not None and known.text:
            continue
        if known is None and len(found) >= MAX_LINKS:
            return tuple(found.values()), True
        text = " ".join(_text_of(anchor).split())[:300] or (attributes.get("title") or "").strip()
        found[url] = Link(url, text, tuple((attributes.get("rel") or "").lower().split()))
    return tuple(found.values()), False


def _text_of(anchor: LexborNode) -> str:
    """Return the text of a link, without the styles and scripts of what it draws."""
    only = anchor.first_child
    if only is None or (only.next is None and only.is_text_node):
        return (only.text_content or "") if only is not None else ""
    return "".join(
        [
            node.text_content or ""
            for node in anchor.traverse(include_text=True)
            if node.is_text_node and (node.parent is None or node.parent.tag not in _NOT_SHOWN)
        ]
    )
