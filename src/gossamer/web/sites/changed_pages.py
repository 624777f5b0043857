"""Finds the pages that a system of a site says have changed, in whatever body it sends.

{"url": "/news"}, {"urls": ["/", "/news"]}      these, addresses or paths
{"post": {"permalink": "https://…", …}, …}      each address of the site in a field that is named so
post_url=https%3A%2F%2F…                        the same in a form
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from gossamer.problems import Problem, validation_error
from gossamer.web.url.url import MAX_URL_CHARS, Url

MAX_CHANGED: Final = 100  # pages of one message
MAX_VALUES: Final = 5_000  # of a body, that are looked at
MAX_NESTED: Final = 12
FORM: Final = "application/x-www-form-urlencoded"
_NAMES: Final = ("url", "urls", "link", "links", "href", "loc", "location")
_ASSET: Final = re.compile(
    r"\.(?:avif|bmp|css|gif|ico|jpe?g|js|json|map|mp[34]|pdf|png|svg|webm|webp|woff2?|xml|zip)$", re.I
)
_MACHINERY: Final = re.compile(r"^/(?:wp-json|wp-admin|wp-content|xmlrpc\.php)(?:/|$)")


class ChangedPages(NamedTuple):
    urls: tuple[str, ...]
    ignored: int  # addresses of other sites, and what is beyond the bound


def find_changed(body: bytes, content_type: str, origin: str) -> ChangedPages:
    """Raises `Problem` for a body that is neither JSON nor a form."""
    document = _decode(body, content_type)
    direct = _direct(document)
    found = direct if direct is not None else [text for text in _addresses(document) if "://" in text]
    urls: dict[str, None] = {}
    ignored = 0
    for text in dict.fromkeys(found):
        url = _on_site(text, origin)
        if url is None or len(urls) >= MAX_CHANGED:
            ignored += 1
        elif direct is not None or not (_ASSET.search(url.path) or _MACHINERY.match(url.path)):
            urls[url.href.partition("#")[0]] = None
    return ChangedPages(tuple(urls), ignored)


def _decode(body: bytes, content_type: str) -> Any:
    if content_type.partition(";")[0].strip().lower() == FORM:
        try:
            return dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=MAX_VALUES))
        except ValueError:
            raise validation_error(f"The form has more than {MAX_VALUES:,} fields.") from None
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise validation_error("The body is neither JSON nor a form.", hint='Send {"url": "…"}.') from None


def _direct(document: Any) -> list[str] | None:
    """The pages, if the body names them as we ask for it."""
    if not isinstance(document, Mapping):
        return None
    given = document.get("urls", document.get("url"))
    if isinstance(given, str):
        return [given]
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        return given
    return None


def _addresses(document: Any) -> Iterator[str]:
    """The values of fields whose names say that they are addresses. What begins with `_` is about the
    system itself."""
    waiting: list[tuple[Any, bool, int]] = [(document, False, 0)]
    seen = 0
    while waiting and seen < MAX_VALUES:
        value, is_named, depth = waiting.pop()
        seen += 1
        if isinstance(value, str):
            if is_named and len(value) <= MAX_URL_CHARS:
                yield value
        elif depth >= MAX_NESTED:
            continue
        elif isinstance(value, Mapping):
            fields = [(text, key) for key, text in value.items() if not str(key).startswith("_")]
            waiting += [(text, _is_address(str(key)), depth + 1) for text, key in reversed(fields)]
        elif isinstance(value, list):
            waiting += [(each, is_named, depth + 1) for each in reversed(value)]


def _is_address(name: str) -> bool:
    folded = re.sub(r"[^a-z]", "", name.lower())
    return folded.endswith(_NAMES)


def _on_site(text: str, origin: str) -> Url | None:
    try:
        url = Url.parse(text, Url.parse(origin))
    except Problem:
        return None
    return url if url.origin == origin else None
