"""Whose visits are answered with a rendered page, under which address it is asked for, what is passed on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

from gossamer.web.bots import BOTS, LINK_PREVIEWS, SEARCH_ENGINES

ROBOTS: Final = tuple(robot.token for robot in (*BOTS, *SEARCH_ENGINES, *LINK_PREVIEWS))
ASSETS: Final = (
    "7z", "apk", "atom", "avi", "avif", "bin", "bmp", "bz2", "cjs", "css", "csv", "deb", "dmg", "doc",
    "docx", "eot", "epub", "exe", "flac", "gif", "gz", "heic", "ico", "ics", "iso", "jar", "jpeg", "jpg",
    "js", "json", "jsonld", "log", "m4a", "m4v", "map", "md", "mjs", "mkv", "mov", "mp3", "mp4", "msi",
    "odp", "ods", "odt", "oga", "ogg", "ogv", "otf", "pdf", "png", "ppt", "pptx", "rar", "rpm", "rss",
    "svg", "swf", "tar", "tgz", "tif", "tiff", "toml", "torrent", "tsv", "ttf", "txt", "wasm", "wav",
    "webm", "webmanifest", "webp", "woff", "woff2", "xls", "xlsx", "xml", "xz", "yaml", "yml", "zip", "zst",
)  # fmt: skip
MARK: Final = "x-gossamer"  # a header of requests that come from Gossamer itself
PRODUCT: Final = "gossamer"  # and the word in its User-Agent
SERVED_BY: Final = ("X-Served-By", "Gossamer")
VARIES: Final = ("Vary", "User-Agent, Accept-Encoding")
# Nothing else of an answer speaks of the page.
PASSED_ON: Final = frozenset((
    "content-type", "content-encoding", "content-length", "content-language", "etag", "expires",
    "last-modified", "link", "location", "retry-after", "x-robots-tag",
    "x-cache", "x-cache-age", "x-cache-location",
))  # fmt: skip
LONGEST: Final = 2048  # characters of an address that Gossamer takes
_WITHOUT_BODY: Final = (204, 205, 304)
_EXTENSION: Final = re.compile(r"\.([A-Za-z0-9]{1,12})$")
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")
_TEXT: Final = "/:?#[]@!$&'()*+,;=%~-._{}|^`<>\\\" "  # left as it is, though some of it should not be there
_GROWS_NOT: Final = "/:?#[]@!$&()*+,;=%~-._"  # of which no browser makes three characters


class Visit(NamedTuple):
    method: str
    scheme: str
    target: bytes  # path and query as they came, percent-encoded
    headers: Mapping[str, str]  # by their lower-case names


class Answer(NamedTuple):
    status: int
    headers: tuple[tuple[str, str], ...]  # lower-case names

    def header(self, name: str) -> str:
        return next((value for given, value in self.headers if given == name), "")


@dataclass(frozen=True, kw_only=True)
class Site:
    """What the owner of a site says about it."""

    url: str  # where Gossamer is
    key: str = field(repr=False)
    origin: str = ""  # where visitors find the site; empty believes the Host header
    deadline: float = 2.0  # seconds until Gossamer has begun to answer, else the site does
    failures: int = 3
    pause: float = 30.0
    bots: tuple[str, ...] = ROBOTS
    exclude: tuple[str, ...] = ()  # paths that begin so are left to the site

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url must be the address of a Gossamer, such as https://gossamer.example")
        if not re.fullmatch(r"[!-~]+", self.key):
            raise ValueError("key must be an API key of that Gossamer")
        if self.origin and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", self.origin):
            raise ValueError("origin must be the site's own address, such as https://www.example.com")

    @cached_property
    def _robots(self) -> tuple[str, ...]:
        return tuple(token.lower() for token in self.bots)

    def wants(self, visit: Visit) -> bool:
        agent = visit.headers.get("user-agent", "").lower()
        return (
            visit.method in ("GET", "HEAD")
            # Several times as fast as one pattern of all of them, and every visit of a person pays for it.
            and any(token in agent for token in self._robots)
            and PRODUCT not in agent
            and not visit.headers.keys() & {MARK, "authorization", "upgrade"}
            and self._is_page(visit.target.partition(b"?")[0].decode("latin-1"))
            and bool(self.origin or _HOST.fullmatch(visit.headers.get("host", "")))
            and len(quote(self.address(visit), safe=_GROWS_NOT)) <= LONGEST
        )

    def _is_page(self, path: str) -> bool:
        extension = _EXTENSION.search(path)
        asset = extension is not None and extension[1].lower() in ASSETS
        return path.startswith("/") and not asset and not path.startswith(self.exclude)

    def address(self, visit: Visit) -> str:
        """The page's full public address. Bytes that no address may contain are percent-encoded."""
        origin = self.origin.rstrip("/") or f"{visit.scheme}://{visit.headers.get('host', '')}"
        return origin + quote(visit.target, safe=_TEXT)


def is_page(answer: Answer, visit: Visit) -> bool:
    """What Gossamer says of a page that it has, rather than of itself."""
    if answer.status == 304:
        return "if-none-match" in visit.headers
    return answer.status == 200 and answer.header("content-type").startswith("text/html")


def status(answer: Answer) -> int:
    """The page's own: 404, say, though Gossamer had it and said 200."""
    said = answer.header("x-page-status")
    if answer.status != 200 or not re.fullmatch("[2-5][0-9][0-9]", said) or int(said) in _WITHOUT_BODY:
        return answer.status
    leads_nowhere = said.startswith("3") and not answer.header("location")
    return answer.status if leads_nowhere else int(said)


def passed_on(answer: Answer) -> list[tuple[str, str]]:
    kept = [(name, value) for name, value in answer.headers if name in PASSED_ON]
    return [*kept, VARIES, SERVED_BY]
