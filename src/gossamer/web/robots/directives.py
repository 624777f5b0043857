"""Directives: what a page asks of robots, by `<meta name="robots">` and by the header `X-Robots-Tag`.

Both may address one robot by name. Directives for everyone and directives for us add up.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from gossamer.web.robots.robots import product_token

EVERYONE: Final = "robots"
_NAMED: Final = re.compile(r"\s*([\w-]+)\s*:(.*)", re.S)
_WITH_VALUE: Final = frozenset(
    ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after", "indexifembedded")
)


class Directives(Struct, frozen=True):
    noindex: bool = False
    nofollow: bool = False


NOTHING: Final = Directives()


def directives_of(metas: Iterable[tuple[str, str]], headers: Iterable[str], agent: str) -> Directives:
    """Return what these meta tags (name and content) and headers ask of an agent."""
    token = product_token(agent)
    said = {*_of_metas(metas, token), *_of_headers(headers, token)}
    if not said:
        return NOTHING
    return Directives("noindex" in said or "none" in said, "nofollow" in said or "none" in said)


def _of_metas(metas: Iterable[tuple[str, str]], token: str) -> Iterator[str]:
    for name, content in metas:
        if name.strip().lower() in (EVERYONE, token):
            yield from content.lower().replace(",", " ").split()


def _of_headers(headers: Iterable[str], token: str) -> Iterator[str]:
    for header in headers:
        spoken_to = True
        for part in header.split(","):
            named = _NAMED.fullmatch(part)
            if named is not None and named[1].lower() not in _WITH_VALUE:
                spoken_to = product_token(named[1]) == token
                part = named[2]
            if spoken_to:
                yield part.strip().lower()
