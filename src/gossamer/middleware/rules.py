"""Which visits get a rendered page or markdown, the address to ask for, and the headers to pass on.

The fronts in other languages (docs/integrations) keep the same rules; `tests/integrations` asks all of them
the same questions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

from gossamer.web.robots.bots import BOTS, LINK_PREVIEWS, SEARCH_ENGINES

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
ROBOT: Final = "x-gossamer-robot"  # names the robot that asks
SERVED_BY: Final = ("X-Served-By", "Gossamer")
MARKDOWN: Final = "text/markdown"
HTML: Final = "text/html"
A_DAY: Final = 86_400
# The only headers of an answer that describe the page.
PASSED_ON: Final = frozenset((
    "content-type", "content-encoding", "content-length", "content-language", "etag", "expires",
    "last-modified", "link", "location", "retry-after", "x-robots-tag",
    "x-cache", "x-cache-age", "x-cache-location",
))  # fmt: skip
MAX_URL_CHARS: Final = 2048  # of an address that Gossamer accepts
_WITHOUT_BODY: Final = (204, 205, 304)
_EXTENSION: Final = re.compile(r"\.([A-Za-z0-9]{1,12})$")
_TEXT: Final = (
    "/:?#[]@!$&'()*+,;=%~-._{}|^`<>\\\" "  # left unchanged, even those that a URL should not contain
)
_GROWS_NOT: Final = "/:?#[]@!$&()*+,;=%~-._"  # that browsers never percent-encode


class SiteVisit(NamedTuple):
    method: str
    target: bytes  # path and query as they came, percent-encoded
    headers: Mapping[str, str]  # by their lower-case names


class RenderReply(NamedTuple):
    status: int
    headers: tuple[tuple[str, str], ...]  # lower-case names

    def header(self, name: str) -> str:
        return next((value for given, value in self.headers if given == name), "")


@dataclass(frozen=True, kw_only=True)
class SiteOptions:
    """The options of one site, as its owner gives them."""

    url: str  # where Gossamer is
    key: str = field(repr=False)
    origin: str  # where visitors find the site; the `Host` of a request is not trusted
    deadline: float = 2.0  # seconds until Gossamer must begin to answer; after that the site does
    wait: float = 0.0  # further seconds to render a page that is not cached, for this visit
    max_age: int | None = A_DAY  # seconds after which a page is rendered again; None: never
    stale_while_revalidate: int = 7 * A_DAY  # further seconds in which the old page is served meanwhile
    failures: int = 3  # in a row (429 counts), after which Gossamer is not asked for `pause` seconds
    pause: float = 30.0
    bots: tuple[str, ...] = ROBOTS
    exclude: tuple[str, ...] = ()  # prefixes of paths that are left to the site
    markdown: bool = False  # clients that prefer text/markdown to HTML get it, whoever they are

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url must be the address of a Gossamer, such as https://gossamer.example")
        if not re.fullmatch(r"[!-~]+", self.key):
            raise ValueError("key must be an API key of that Gossamer")
        if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", self.origin):
            raise ValueError("origin must be the site's own address, such as https://www.example.com")

    @cached_property
    def _robots(self) -> tuple[str, ...]:
        return tuple(token.lower() for token in self.bots)

    @property
    def patience(self) -> float:
        """Seconds until Gossamer must have begun to answer."""
        return self.deadline + self.wait

    def varies(self, visit: SiteVisit) -> bool:
        """Whether robots and people may get different answers here."""
        path = visit.target.partition(b"?")[0].decode("latin-1")
        extension = _EXTENSION.search(path)
        return (
            visit.method in ("GET", "HEAD")
            and path.startswith("/")
            and (extension is None or extension[1].lower() not in ASSETS)
            and not path.startswith(self.exclude)
        )

    def wants(self, visit: SiteVisit) -> bool:
        agent = visit.headers.get("user-agent", "").lower()
        return (
            # Several times as fast as one pattern of all of them, and every visit of a person pays for it.
            (self.wants_markdown(visit) or any(token in agent for token in self._robots))
            and PRODUCT not in agent
            and self.varies(visit)
            and not visit.headers.keys() & {MARK, "authorization", "upgrade"}
            and len(quote(self.address(visit), safe=_GROWS_NOT)) <= MAX_URL_CHARS
        )

    def robot(self, visit: SiteVisit) -> str:
        """The token of the robot that visits; empty for anybody else."""
        agent = visit.headers.get("user-agent", "").lower()
        return next((token for token in self.bots if token.lower() in agent), "")

    def wants_markdown(self, visit: SiteVisit) -> bool:
        """A visitor with a cookie may be somebody to the site, and is left to it."""
        accept = visit.headers.get("accept", "")
        return self.markdown and "cookie" not in visit.headers and prefers_markdown(accept)

    def address(self, visit: SiteVisit) -> str:
        """The page's full public address. Bytes that no address may contain are percent-encoded."""
        return self.origin.rstrip("/") + quote(visit.target, safe=_TEXT)

    def endpoint(self, visit: SiteVisit) -> str:
        return "/fetch" if self.wants_markdown(visit) else "/api/render"

    def media_type(self, visit: SiteVisit) -> str:
        return MARKDOWN if self.wants_markdown(visit) else HTML

    def asks(self, visit: SiteVisit) -> dict[str, object]:
        """The body of the request to `endpoint`."""
        wanted: dict[str, object] = {"url": self.address(visit)}
        if self.wants_markdown(visit):
            return wanted | self._asks_for_markdown()
        if self.wait:
            wanted["wait"] = self.wait
        if self.max_age is not None:
            wanted["maxAge"] = self.max_age
            wanted["staleWhileRevalidate"] = self.stale_while_revalidate
        return wanted

    def _asks_for_markdown(self) -> dict[str, object]:
        """With a browser only if the page is empty without one."""
        kept = A_DAY if self.max_age is None else min(self.max_age, A_DAY)
        return {"render": "auto", "cache": True, "cacheTtl": kept, "timeout": int(self.patience * 1000)}

    def site_varies(self) -> tuple[str, str]:
        """A cache must not give a robot's page to a person, or markdown to a browser, or the reverse."""
        return "Vary", "User-Agent, Accept" if self.markdown else "User-Agent"

    def headers_to_pass_on(self, answer: RenderReply) -> list[tuple[str, str]]:
        kept = [(name, value) for name, value in answer.headers if name in PASSED_ON]
        name, varied = self.site_varies()
        return [*kept, (name, f"{varied}, Accept-Encoding"), SERVED_BY]

    def is_page(self, answer: RenderReply, visit: SiteVisit) -> bool:
        """Whether the answer is a page, rather than a message of Gossamer, or than something else of the
        site's, which nobody asked to be turned into markdown."""
        if answer.status == 304:
            return "if-none-match" in visit.headers
        if answer.status != 200 or not answer.header("content-type").startswith(self.media_type(visit)):
            return False
        if self.wants_markdown(visit):
            return (answer.header("x-outcome"), answer.header("x-page-kind")) == ("ok", "html")
        return True


def prefers_markdown(accept: str) -> bool:
    """Whether text/markdown is named, and HTML is not accepted more willingly (RFC 9110, 12.5.1)."""
    if MARKDOWN not in accept.lower():
        return False
    weights: dict[str, float] = {}
    for item in accept.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        weights[name] = float(quality) if re.fullmatch(r"[01](\.[0-9]{0,3})?", quality) else 0.0
    html = next((weights[name] for name in (HTML, "text/*", "*/*") if name in weights), 0.0)
    return weights.get(MARKDOWN, 0.0) > 0 and weights[MARKDOWN] >= html


def has_failed(answer: RenderReply | None) -> bool:
    """Whether this answer counts as a failure of Gossamer."""
    return answer is None or answer.status >= 500 or answer.status == 429


def status(answer: RenderReply) -> int:
    """The page's own status: 404, for example, though Gossamer answered with 200."""
    said = answer.header("x-page-status")
    if answer.status != 200 or not re.fullmatch("[2-5][0-9][0-9]", said) or int(said) in _WITHOUT_BODY:
        return answer.status
    leads_nowhere = said.startswith("3") and not answer.header("location")
    return answer.status if leads_nowhere else int(said)
