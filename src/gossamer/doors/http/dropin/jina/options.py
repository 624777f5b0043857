"""What a caller of the reader asks for: by headers, and in a POST also by the body."""

import re
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.forms import read_form
from gossamer.problems import validation_error

Form = Literal["content", "markdown", "html", "text", "screenshot", "pageshot"]
PICTURES: Final = ("screenshot", "pageshot")
_ALIASES: Final = {"returnFormat": "respondWith"}
# They change how the page is requested or written, in ways that our API does not know.
_UNKNOWN_HERE: Final = (
    "x-proxy",
    "x-proxy-url",
    "x-user-agent",
    "x-with-generated-alt",
    "x-with-iframe",
    "x-with-shadow-dom",
    "x-keep-img-data-url",
    "x-remove-overlay",
    "x-respond-timing",
    "x-robots-txt",
    "x-no-gfm",
    "x-markdown-chunking",
)
_NO: Final = ("", "false", "0", "no")
_MAX_SECONDS: Final = 60.0  # that our API gives a page
_MIN_SECONDS: Final = 5.0  # that a browser needs


class ReaderOptions(Struct, frozen=True, kw_only=True, rename="camel"):
    """The names are those of the body; a header is `X-` and the same in words."""

    url: str = ""
    respond_with: str = "content"
    target_selector: tuple[str, ...] = ()
    wait_for_selector: tuple[str, ...] = ()
    remove_selector: tuple[str, ...] = ()
    timeout: Annotated[float, Meta(ge=0, le=600)] | None = None  # seconds
    no_cache: bool = False
    cache_tolerance: int | None = None  # seconds
    retain_images: Literal["all", "none", "alt", "all_p", "alt_p"] = "all"
    retain_links: Literal["all", "none", "text", "gpt-oss"] = "all"
    with_links_summary: str = ""
    with_images_summary: str = ""
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    token_budget: Annotated[int, Meta(ge=1)] | None = None
    engine: str = "auto"
    set_cookie: tuple[str, ...] = ()
    locale: str = ""
    referer: str = ""
    site: tuple[str, ...] = ()
    html: str = ""
    pdf: Any = None
    file: Any = None
    # Of a search.
    query: str = field(name="q", default="")
    count: int = 5
    language: str = field(name="hl", default="")
    page: int = 1
    warnings: tuple[str, ...] = ()

    @property
    def forms(self) -> list[Form]:
        """Raises `Problem` for a form that does not exist."""
        wanted = [name.strip() for name in self.respond_with.split(",")]
        try:
            return msgspec.convert(wanted, list[Form])
        except msgspec.ValidationError:
            raise validation_error(
                f"X-Respond-With {self.respond_with[:100]!r} is not supported.",
                hint="It is one of content, markdown, html, text, screenshot and pageshot.",
            ) from None

    @property
    def render(self) -> Literal["never", "auto", "always"]:
        if self.engine in ("curl", "direct"):
            return "never"
        return "always" if self.engine == "browser" or self.wait_for_selector else "auto"

    def page_request(self) -> dict[str, Any]:
        """What `/fetch` is asked, but for the URL."""
        forms = self.forms
        formats = {"html": "rawHtml", "text": "text"}
        wanted = dict.fromkeys(formats.get(form, "markdown") for form in forms if form not in PICTURES)
        asked: dict[str, Any] = {
            "formats": [*wanted, "metadata", *(["links"] if self.with_links_summary else [])],
            "mainContent": "content" in forms,
            "include": self.target_selector,
            "exclude": self.remove_selector,
            "render": self.render,
            **self._common(),
        }
        if self.timeout is not None:
            asked["timeout"] = self._milliseconds(_MIN_SECONDS if self.render == "always" else 1.0)
        return asked

    def capture_request(self) -> dict[str, Any]:
        """What `/screenshot` is asked, but for the URL."""
        asked = self._common() | {"fullPage": "pageshot" in self.forms, "format": "png"}
        if self.timeout is not None:
            asked["timeout"] = min(30_000, self._milliseconds(_MIN_SECONDS))
        return asked

    def _milliseconds(self, least: float) -> int:
        return round(1000 * min(max(self.timeout or least, least), _MAX_SECONDS))

    def _common(self) -> dict[str, Any]:
        headers = {
            "Cookie": "; ".join(cookie.partition(";")[0].strip() for cookie in self.set_cookie),
            "Referer": self.referer,
        }
        common: dict[str, Any] = {
            "cache": not self.no_cache,
            "headers": {name: value for name, value in headers.items() if value},
        }
        if self.locale:
            common["locale"] = self.locale
        if self.cache_tolerance is not None and not self.no_cache:
            common["maxAge"] = max(0, self.cache_tolerance)
        if self.wait_for_selector and self.render != "never":
            common["waitForSelector"] = ", ".join(self.wait_for_selector)
        return common


async def read_options(exchange: Exchange) -> ReaderOptions:
    """Raises `Problem` for values that do not fit."""
    given = _from_headers(exchange) | await _from_body(exchange)
    values = {_ALIASES.get(name, name): value for name, value in given.items() if value is not None}
    if exchange.header(b"dnt") == "1":
        values["noCache"] = True
    for name in ("targetSelector", "waitForSelector", "removeSelector", "setCookie", "site"):
        if isinstance(values.get(name), str):
            values[name] = tuple(part.strip() for part in values[name].split(", ") if part.strip())
    for name in ("noCache", "withLinksSummary", "withImagesSummary"):
        if name in values:
            values[name] = str(values[name]).lower() if str(values[name]).lower() not in _NO else ""
    values["noCache"] = bool(values.get("noCache"))
    values["count"] = values.get("count", values.pop("num", 5))
    values["warnings"] = [
        f"{name.title()} is not supported here and was ignored."
        for name in _UNKNOWN_HERE
        if exchange.header(name.encode()) is not None
    ]
    return _convert({name: value for name, value in values.items() if name in _KNOWN})


def _convert(values: dict[str, Any]) -> ReaderOptions:
    try:
        return msgspec.convert(values, ReaderOptions, strict=False)
    except msgspec.ValidationError as error:
        raise validation_error(f"{error}.", hint="See the options of the reader in the docs.") from None


def _from_headers(exchange: Exchange) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for raw_name, raw_value in exchange.scope["headers"]:
        words = raw_name.decode("latin-1").lower().split("-")
        if words[0] == "x" and len(words) > 1:
            name = words[1] + "".join(word.capitalize() for word in words[2:])
            value = raw_value.decode("latin-1").strip()
            found[name] = (*found.get(name, ()), value) if name == "setCookie" else value
    exchange.deciding |= _FIELDS
    return found


async def _from_body(exchange: Exchange) -> dict[str, Any]:
    if exchange.method != "POST":
        return {}
    body = await exchange.body()
    form = await read_form(exchange)
    if form or not body.strip():
        return dict(form)
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise validation_error(
            "The body is neither a JSON object nor a form.", hint='Send {"url": "https://…"}.'
        ) from None


_KNOWN: Final = frozenset(ReaderOptions.__struct_encode_fields__)
_FIELDS: Final = frozenset(
    b"x-" + re.sub("[A-Z]", lambda capital: f"-{capital[0].lower()}", name).encode()
    for name in _KNOWN | _ALIASES.keys() | {"num"}
)
