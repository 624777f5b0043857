"""URLs: parsed by the WHATWG rules, as in browsers, with canonical forms that serve as keys.

    Url.parse(text)   what a caller or a page wrote, or the reason why it is refused
    shared_url        the URL that is fetched, and stored under, when callers share the answer
    cache_form        one page of the cache, whatever the spelling of its URL and its tracking parameters
    crawl_form        one row of a crawl
    audit_form        one audited page: only the spelling is normalised

Canonical forms group and display pages. They are never fetched, because they may be another resource (`/a`
for `/a/`, https for http). A page with a shared answer is fetched at its `shared_url`, so every caller who
shares the answer would have caused the same request. A form parses to itself, and URLs of different hosts
never have the same form.

Only the serialised URL is taken from the parser, because each further value would cost as much as parsing.
One pattern splits it. A plain URL needs no parser, except for its origin, once. Queries are split here too:
ada-url's search parameters fail on bytes that are not UTF-8, and the standard's parser would merge them all.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from string import ascii_letters, digits
from typing import Any, Final, Self
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ada_url import join_url, normalize_url
from msgspec import Struct
from msgspec.structs import replace

from gossamer.problems import INVALID_URL, Problem

MAX_URL_CHARS: Final = 2048
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
SHOWN_URL_CHARS: Final = 200  # of a refused URL in the error message

_SERIALISED: Final = re.compile(
    r"(?P<scheme>https?)://(?:(?P<credentials>[^/?#@]*)@)?"
    r"(?P<host>\[[^\]]*\]|[^/?#:@]*)(?::(?P<port>[0-9]+))?"
    r"(?P<path>/[^?#]*)(?:\?(?P<query>[^#]*))?(?:#.*)?"
)


# A URL that the standard serialises as it is written, if its origin is. Most links are such, once resolved.
_PLAIN: Final = re.compile(
    r"(https?://[a-z0-9.-]++(?::[0-9]++)?)((?:/(?!\.)[A-Za-z0-9_.~-]*+)++)(?:\?([A-Za-z0-9_.~=&+-]++))?"
)


class Url(Struct, frozen=True, eq=False):
    """An absolute http or https URL without credentials. Two URLs are equal if their spelling is."""

    href: str  # as the standard serialises it, with its fragment
    scheme: str
    host: str  # lower case, punycode; IPv4 dotted, IPv6 in brackets and compressed
    port: int  # the default of the scheme if none is written
    path: str
    query: str  # without the question mark

    def __eq__(self, other: object) -> bool:
        return self.href == other.href if isinstance(other, Url) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.href)

    @classmethod
    def parse(cls, text: str, base: "Url | None" = None) -> Self:
        if len(text) > MAX_URL_CHARS:
            raise _too_long(text)
        if base is None and (plain := _PLAIN.fullmatch(text)) and (origin := _plain_origin(plain[1])):
            return cls(text, *origin, plain[2], plain[3] or "")
        try:
            href = join_url(base.href, text) if base else normalize_url(text)
        except ValueError:
            raise _refusal("invalid_url_format", text, "This is not a URL", _hint(text)) from None
        parts = _SERIALISED.fullmatch(href)
        if parts is None:
            raise _refusal("invalid_protocol", text, "Only http and https URLs are allowed", _hint(text))
        if parts["credentials"]:
            raise _refusal("credentials_in_url", href, "User names and passwords in URLs are not allowed")
        if len(href) > MAX_URL_CHARS:
            raise _too_long(href)
        scheme = parts["scheme"]
        port = int(parts["port"] or DEFAULT_PORTS[scheme])
        return cls(href, scheme, parts["host"], port, parts["path"], parts["query"] or "")

    def join(self, reference: str) -> "Url":
        """Resolve a link on this page, or a redirect from it."""
        return Url.parse(reference, self)

    def at(self, path: str, query: str) -> "Url":
        """The same host with another path and query, both as the standard serialises them."""
        href = _assemble(self.scheme, self.host, self.port, path, query)
        return Url(href, self.scheme, self.host, self.port, path, query)

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{_authority(self.scheme, self.host, self.port)}"

    @property
    def site(self) -> str:
        """Host and port: the unit of request rates and connection pools."""
        return f"{self.host}:{self.port}"

    @property
    def target(self) -> str:
        """Path and query, as in a request line."""
        return self.href[len(self.origin) :].partition("#")[0]

    def __str__(self) -> str:
        return self.href


@lru_cache(maxsize=4096)
def _plain_origin(text: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an origin; None if the standard writes it in another way."""
    try:
        href = normalize_url(text)
    except ValueError:
        return None
    if href != f"{text}/" or (parts := _SERIALISED.fullmatch(href)) is None:
        return None
    return parts["scheme"], parts["host"], int(parts["port"] or DEFAULT_PORTS[parts["scheme"]])


def _authority(scheme: str, host: str, port: int) -> str:
    return host if port == DEFAULT_PORTS[scheme] else f"{host}:{port}"


_USERINFO: Final = re.compile(r"(\s*(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]*)[^/\\?#]*@")


def _refusal(reason: str, url: str, detail: str, hint: str | None = None) -> Problem:
    shown = url[:MAX_URL_CHARS]
    if found := _USERINFO.match(shown):
        shown = found[1] + shown[found.end() :]
    shown = shown if len(shown) <= SHOWN_URL_CHARS else shown[:SHOWN_URL_CHARS] + "…"
    return Problem(INVALID_URL, detail, hint=hint, details={"url": shown, "reason": reason})


def _too_long(url: str) -> Problem:
    return _refusal(
        "url_too_long", url, f"The URL has {len(url):,} characters; {MAX_URL_CHARS:,} are allowed"
    )


def _hint(text: str) -> str | None:
    """Suggest the missing scheme, because people type `example.com/page` or `localhost:3000`."""
    if re.fullmatch(r"\s*[\w-]+(\.[\w-]+)*(:[0-9]+)?([/?#]\S*)?\s*", text):
        return f"Did you mean https://{text.strip()[:SHOWN_URL_CHARS]}?"
    return None


class Tracking(Struct, frozen=True):
    """Query parameters that track visitors and do not affect the page. Case is ignored."""

    names: frozenset[str]
    prefixes: tuple[str, ...]

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Self:
        """Parse patterns; each is a name, or a prefix if it ends with an asterisk."""
        lowered = [pattern.lower() for pattern in patterns]
        return cls(
            frozenset(pattern for pattern in lowered if not pattern.endswith("*")),
            tuple(pattern[:-1] for pattern in lowered if pattern.endswith("*")),
        )

    def __contains__(self, name: bytes) -> bool:
        lowered = name.decode("utf-8", "replace").lower()
        return lowered in self.names or lowered.startswith(self.prefixes)


TRACKING: Final = Tracking.of(
    ["utm_*", "fbclid", "gclid", "msclkid", "_ga", "_gid", "_gac", "mc_cid", "mc_eid", "ref", "source"]
)


def shared_url(url: Url, tracking: Tracking = TRACKING) -> Url:
    """Remove the fragment and tracking parameters, and sort the parameters by name.

    Everything else may matter to the site and keeps its spelling: scheme, path, trailing slash, parameters.
    """
    pieces = [piece for piece in url.query.split("&") if piece and _name(piece) not in tracking]
    query = "&".join(sorted(pieces, key=lambda piece: _code_units(_name(piece))))
    return replace(url, href=_assemble(url.scheme, url.host, url.port, url.path, query), query=query)


def is_tracked(url: Url, tracking: Tracking = TRACKING) -> bool:
    """Whether a URL has tracking parameters."""
    return bool(url.query) and _is_tracked(url.query, tracking)


@lru_cache(maxsize=4096)  # the links of a site are tracked in the same few ways
def _is_tracked(query: str, tracking: Tracking) -> bool:
    return any(_name(piece) in tracking for piece in query.split("&"))


def cache_form(url: Url, tracking: Tracking = TRACKING) -> str:
    """Return the form with https, sorted parameters, and no fragment, trailing slash or tracking."""
    pairs = sorted(_pairs(url.query, tracking), key=lambda pair: _code_units(pair[0]))
    query = "&".join(f"{_form_encode(name)}={_form_encode(value)}" for name, value in pairs)
    port = DEFAULT_PORTS["https"] if url.port == DEFAULT_PORTS[url.scheme] else url.port
    return _assemble("https", url.host, port, url.path.rstrip("/") or "/", query)


def crawl_form(url: Url, tracking: Tracking = TRACKING, *, keep_slash: bool = True) -> str:
    """Return the form with sorted parameters, minimal percent-encoding, and no fragment or tracking."""
    query = _crawl_query(url.query, tracking) if url.query else ""
    path = _safely_decode(url.path)
    if not keep_slash:
        path = path.rstrip("/") or "/"
    return _assemble(url.scheme, url.host, url.port, path, query)


@lru_cache(maxsize=4096)
def _crawl_query(query: str, tracking: Tracking) -> str:
    pairs = sorted(_pairs(query, tracking), key=lambda pair: (_code_units(pair[0]), _code_units(pair[1])))
    return "&".join(f"{_sparsely_encode(name)}={_sparsely_encode(value)}" for name, value in pairs)


def audit_form(url: Url) -> str:
    """Return the form without fragment and trailing slash; the query is unchanged."""
    return _assemble(url.scheme, url.host, url.port, url.path.rstrip("/") or "/", url.query)


def _assemble(scheme: str, host: str, port: int, path: str, query: str) -> str:
    return f"{scheme}://{_authority(scheme, host, port)}{path}" + (f"?{query}" if query else "")


def _pairs(query: str, tracking: Tracking) -> list[tuple[bytes, bytes]]:
    """Parse the query as the standard does, but into bytes, so that different bytes stay different."""
    found = []
    for piece in query.split("&"):
        if piece:
            pair = _name(piece), unquote_to_bytes(piece.partition("=")[2].replace("+", " "))
            if pair[0] not in tracking:
                found.append(pair)
    return found


def _name(piece: str) -> bytes:
    return unquote_to_bytes(piece.partition("=")[0].replace("+", " "))


def _code_units(text: bytes) -> bytes:
    """Return the sort key of the standard: UTF-16 code units."""
    if text.isascii():
        return text.decode("ascii").encode("utf-16-be")
    return text.decode("utf-8", "surrogateescape").encode("utf-16-be", "surrogatepass")


def _form_encode(text: bytes) -> str:
    """Encode as application/x-www-form-urlencoded, like URLSearchParams."""
    return quote_from_bytes(text, safe=" *").replace(" ", "+").replace("~", "%7E")


def _sparsely_encode(text: bytes) -> str:
    """Encode only characters that have a meaning in a query, or that the standard encodes there."""
    return quote_from_bytes(text, safe="!$()*,/:;?@")


_ESCAPE: Final = re.compile("%([0-9A-Fa-f]{2})?")
_UNRESERVED: Final = frozenset(ascii_letters + digits + "-._~")


def _safely_decode(path: str) -> str:
    """Decode unreserved characters and write other escapes in capitals (RFC 3986, 6.2.2).

    A stray percent sign is escaped, because a decoded character after it could complete an escape.
    """
    return _ESCAPE.sub(_decode, path) if "%" in path else path


def _decode(escape: re.Match[str]) -> str:
    code: str | None = escape[1]
    if code is None:
        return "%25"
    character = chr(int(code, 16))
    return character if character in _UNRESERVED else f"%{code.upper()}"


def digest(text: str) -> str:
    """Return the SHA-256 of a text, which serves as a storage key."""
    return sha256(text.encode()).hexdigest()


def render_key(url: Url, tracking: Tracking = TRACKING) -> str:
    return f"render:v1:{cache_form(url, tracking)}"


def rendered_name(form: str) -> str:
    """Return the short public name of a rendered page."""
    return f"rendered/{digest(form)[:16]}.html"


def answer_key(endpoint: str, parameters: Mapping[str, Any]) -> str:
    """Return the short public key of a cached answer."""
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"weblens:{endpoint}:{digest(text)[:12]}"
