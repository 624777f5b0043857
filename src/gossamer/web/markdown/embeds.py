"""Embeds: videos and other pages within the page, as links to where they can be seen."""

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from gossamer.web.html.elements.element import Element
from gossamer.web.html.links import Addresses

_PLAYERS: Final = (  # the address of a player, and that of the page of what it plays
    (
        re.compile(r"(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v|shorts)/([\w-]{6,20})"),
        "www.youtube.com/watch?v={}",
    ),
    (re.compile(r"player\.vimeo\.com/video/(\d+)"), "vimeo.com/{}"),
    (re.compile(r"(?:www\.)?dailymotion\.com/embed/video/(\w+)"), "www.dailymotion.com/video/{}"),
    (re.compile(r"(?:www\.)?loom\.com/embed/(\w+)"), "www.loom.com/share/{}"),
    (re.compile(r"open\.spotify\.com/embed/([\w/]+)"), "open.spotify.com/{}"),
    (re.compile(r"codepen\.io/([\w-]+)/embed/(?:preview/)?(\w+)"), "codepen.io/{}/pen/{}"),
)
_NO_CONTENT: Final = re.compile(
    r"\b(?:ads?|advert\w*|captcha|consent|cookies?|sponsored|tracking|analytics|tag manager|share|like)\b",
    re.I,
)
_NAMES: Final = {"iframe": "Video", "video": "Video", "audio": "Audio"}
_LAZY: Final = ("src", "data-src", "data-lazy-src")
_MAX_TITLE_CHARS: Final = 200


class Embed(NamedTuple):
    url: str
    title: str


def embed_of(element: Element, addresses: Addresses) -> Embed | None:
    """Return what is embedded, but None for advertisements, widgets and what has no name."""
    reference = next((element.get(name) for name in _LAZY if element.get(name)), "")
    url = addresses.absolute(reference)
    if not url.startswith(("http:", "https:")):
        return None
    title = " ".join((element.get("title") or element.get("aria-label")).split())[:_MAX_TITLE_CHARS]
    page = _page_of(url)
    if page or element.tag != "iframe":
        return Embed(page or url, title or ("Post" if "/status/" in page else _NAMES[element.tag]))
    return Embed(url, title) if title and not _NO_CONTENT.search(title) else None


def _page_of(url: str) -> str:
    """Return the page of what a known player plays."""
    parts = urlsplit(url)
    for player, page in _PLAYERS:
        if found := player.match(f"{parts.netloc}{parts.path}"):
            return "https://" + page.format(*found.groups())
    if parts.netloc == "platform.twitter.com" and (post := parse_qs(parts.query).get("id")):
        return f"https://x.com/i/status/{post[0]}"
    return ""
