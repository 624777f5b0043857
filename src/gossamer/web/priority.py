"""Priority: which URLs of a crawl are worth going to first.

    3  seeds, homepages, and what is at most two links away from a seed
    2  content
    1  what is paginated, archived, sorted or filtered, or lies deep

What lists other pages in yet another order is low wherever it is found: it is without end, and its pages are
found in better ways.
"""

import re
from typing import Final, Literal

from gossamer.web.url import Url

Priority = Literal[1, 2, 3]
LOW: Final = 1
MEDIUM: Final = 2
HIGH: Final = 3

SHALLOW: Final = 2  # links away from a seed
DEEP: Final = 6
DEEP_PATH: Final = 8  # folders
MANY_PARAMETERS: Final = 4

_LISTING_PATH: Final = re.compile(
    r"/(?:page|seite|pagina|strona)[/_-]?\d+(?:/|\.\w+$|$)|/(?:archives?|archiv|tags?|categor(?:y|ies)|labels?|"
    r"authors?|search|calendar)(?:/|$)|/(?:19|20)\d\d(?:/[01]?\d){0,2}/?$",
    re.I,
)
_LISTING_QUERY: Final = re.compile(
    r"(?:^|&)(?:paged?|pg|start|offset|cursor|from|sort(?:by)?|order(?:by)?|dir|filter|replytocom|month|"
    r"year|date|tags?|search|s|q|query)=",
    re.I,
)


def priority_of(url: Url, depth: int, *, seed: bool = False) -> Priority:
    """`depth` is how many links it is away from a seed."""
    if seed or (url.path == "/" and not url.query):
        return HIGH
    if _is_listing(url):
        return LOW
    if depth <= SHALLOW:
        return HIGH
    return LOW if depth >= DEEP or url.path.count("/") > DEEP_PATH else MEDIUM


def _is_listing(url: Url) -> bool:
    if _LISTING_PATH.search(url.path):
        return True
    query = url.query
    return bool(query) and (query.count("&") >= MANY_PARAMETERS or _LISTING_QUERY.search(query) is not None)
