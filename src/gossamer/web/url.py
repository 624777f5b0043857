"""URLs: parsed by the WHATWG rules, as browsers do, and three canonical forms of them to be used as keys.

    Url.parse(text)   what a caller or a page wrote, or the reason why it cannot be used
    cache_form        one page in the cache, however its URL was spelt and whatever campaign linked to it
    crawl_form        one row of a crawl
    audit_form        one audited page: nothing but the spelling is smoothed

Canonical forms are keys only: a page is fetched at the URL that was asked for. A form parses to itself, so
the form of a form is the same form, and URLs of different hosts never have the same one.

Only the serialised URL is taken from the parser, because every value that crosses over from it costs as much
as the parsing; what the standard has serialised, one pattern can take apart. Queries are taken apart here:
ada-url's search parameters fail on bytes that are not UTF-8, and the standard's make one page of them all.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from string import ascii_letters, digits
from typing import Any, Final, Self
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ada_url import join_url, normalize_url

from gossamer.problems import INVALID_URL, Problem

LONGEST: Final = 2048
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
SHOWN: Final = 200  # so much of a refused URL is told back

_SERIALISED: Final = re.compile(
    r"(?P<scheme>https?)://(?:(?P<credentials>[^/?#@]*)@)?"
    r"(?P<host>\[[^\]]*\]|[^/?#:@]*)(?::(?P<port>[0-9]+))?"
    r"(?P<path>/[^?#]*)(?:\?(?P<query>[^#]*))?(?:#.*)?"
)


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute http or https URL without credentials. Two are equal when they are spelt the same."""

    href: str  # as the standard serialises it, with its fragment
    scheme: str = field(compare=False)
    host: str = field(compare=False)  # lower case, punycode; IPv4 dotted, IPv6 in brackets and compressed
    port: int = field(compare=False)  # the scheme's own when none is written
    path: str = field(compare=False)
    query: str = field(compare=False)  # without the question mark

    @classmethod
    def parse(cls, text: str, base: "Url | None" = None) -> Self:
        if len(text) > LONGEST:
            raise _too_long(text)
        try:
            href = join_url(base.href, text) if base else normalize_url(text)
        except ValueError:
            raise _refusal("invalid_url_format", text, "This is not a URL", _hint(text)) from None
        parts = _SERIALISED.fullmatch(href)
        if parts is None:
            raise _refusal("invalid_protocol", text, "Only http and https URLs are allowed", _hint(text))
        if parts["credentials"]:
            raise _refusal("credentials_in_url", href, "User names and passwords in URLs are not allowed")
        if len(href) > LONGEST:
            raise _too_long(href)
        scheme = parts["scheme"]
        port = int(parts["port"] or DEFAULT_PORTS[scheme])
        return cls(href, scheme, parts["host"], port, parts["path"], parts["query"] or "")

    def join(self, reference: str) -> "Url":
        """What a link on this page, or a redirect from it, points to."""
        return Url.parse(reference, self)

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{_authority(self.scheme, self.host, self.port)}"

    @property
    def site(self) -> str:
        """What pace and pools are kept by: host and port."""
        return f"{self.host}:{self.port}"

    @property
    def target(self) -> str:
        """What a request line asks for: path and query."""
        return self.href[len(self.origin) :].partition("#")[0]

    def __str__(self) -> str:
        return self.href


def _authority(scheme: str, host: str, port: int) -> str:
    return host if port == DEFAULT_PORTS[scheme] else f"{host}:{port}"


_USERINFO: Final = re.compile(r"(\s*(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]*)[^/\\?#]*@")


def _refusal(reason: str, url: str, detail: str, hint: str | None = None) -> Problem:
    shown = url[:LONGEST]
    if found := _USERINFO.match(shown):
        shown = found[1] + shown[found.end() :]
    shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "…"
    return Problem(INVALID_URL, detail, hint=hint, details={"url": shown, "reason": reason})


def _too_long(url: str) -> Problem:
    return _refusal("url_too_long", url, f"The URL has {len(url):,} characters; {LONGEST:,} are allowed")


def _hint(text: str) -> str | None:
    """`example.com/page` and `localhost:3000` are what people type; say what was missing."""
    if re.fullmatch(r"\s*[\w-]+(\.[\w-]+)*(:[0-9]+)?([/?#]\S*)?\s*", text):
        return f"Did you mean https://{text.strip()[:SHOWN]}?"
    return None


@dataclass(frozen=True, slots=True)
class Tracking:
    """Query parameters that say where a visitor came from, and nothing about the page. Case is ignored."""

    names: frozenset[str]
    prefixes: tuple[str, ...]

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Self:
        """Each pattern is a name, or with an asterisk at its end a prefix."""
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


def cache_form(url: Url, tracking: Tracking = TRACKING) -> str:
    """https, no fragment, no slash at the end, no tracking, parameters in the order of their names."""
    pairs = sorted(_pairs(url.query, tracking), key=lambda pair: _code_units(pair[0]))
    query = "&".join(f"{_form_encoded(name)}={_form_encoded(value)}" for name, value in pairs)
    port = DEFAULT_PORTS["https"] if url.port == DEFAULT_PORTS[url.scheme] else url.port
    return _assembled("https", url.host, port, url.path.rstrip("/") or "/", query)


def crawl_form(url: Url, tracking: Tracking = TRACKING, *, keep_slash: bool = True) -> str:
    """No fragment, no tracking, parameters sorted, percent-encoding only where it is needed."""
    pairs = sorted(_pairs(url.query, tracking), key=lambda pair: (_code_units(pair[0]), _code_units(pair[1])))
    query = "&".join(f"{_sparsely_encoded(name)}={_sparsely_encoded(value)}" for name, value in pairs)
    path = _safely_decoded(url.path)
    if not keep_slash:
        path = path.rstrip("/") or "/"
    return _assembled(url.scheme, url.host, url.port, path, query)


def audit_form(url: Url) -> str:
    """No fragment and no slash at the end; the query stays as it is."""
    return _assembled(url.scheme, url.host, url.port, url.path.rstrip("/") or "/", url.query)


def _assembled(scheme: str, host: str, port: int, path: str, query: str) -> str:
    return f"{scheme}://{_authority(scheme, host, port)}{path}" + (f"?{query}" if query else "")


def _pairs(query: str, tracking: Tracking) -> list[tuple[bytes, bytes]]:
    """The query read as a form, as the standard does, but on bytes: no two byte sequences become one."""
    found = []
    for piece in query.split("&"):
        if piece:
            name, _, value = piece.replace("+", " ").partition("=")
            pair = unquote_to_bytes(name), unquote_to_bytes(value)
            if pair[0] not in tracking:
                found.append(pair)
    return found


def _code_units(text: bytes) -> bytes:
    """The standard sorts by UTF-16 code units."""
    if text.isascii():
        return text.decode("ascii").encode("utf-16-be")
    return text.decode("utf-8", "surrogateescape").encode("utf-16-be", "surrogatepass")


def _form_encoded(text: bytes) -> str:
    """application/x-www-form-urlencoded, as URLSearchParams writes it."""
    return quote_from_bytes(text, safe=" *").replace(" ", "+").replace("~", "%7E")


def _sparsely_encoded(text: bytes) -> str:
    """Left as it is: what means nothing in a query, and what the standard does not encode there either."""
    return quote_from_bytes(text, safe="!$()*,/:;?@")


_ESCAPE: Final = re.compile("%([0-9A-Fa-f]{2})?")
_UNRESERVED: Final = frozenset(ascii_letters + digits + "-._~")


def _safely_decoded(path: str) -> str:
    """RFC 3986, 6.2.2: unreserved characters decoded, other escapes in capitals. A percent sign that begins
    no escape is itself escaped, or what is decoded behind it could complete one."""
    return _ESCAPE.sub(_decode, path) if "%" in path else path


def _decode(escape: re.Match[str]) -> str:
    code: str | None = escape[1]
    if code is None:
        return "%25"
    character = chr(int(code, 16))
    return character if character in _UNRESERVED else f"%{code.upper()}"


def digest(text: str) -> str:
    """What things are stored under."""
    return sha256(text.encode()).hexdigest()


def render_key(url: Url, tracking: Tracking = TRACKING) -> str:
    return f"render:v1:{cache_form(url, tracking)}"


def rendered_name(form: str) -> str:
    """The short name that a rendered page is shown under."""
    return f"rendered/{digest(form)[:16]}.html"


def answer_key(endpoint: str, parameters: Mapping[str, Any]) -> str:
    """The short key that an agent's cached answer is shown under."""
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"weblens:{endpoint}:{digest(text)[:12]}"
