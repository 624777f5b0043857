"""Decides which URLs of a crawl are visited first.

    3  seeds, homepages, and pages at most two links away from a seed
    2  content
    1  paginated, archived, sorted or filtered lists, and pages that lie deep

Lists of other pages always have a low priority: there is no end of them, and the crawl finds their pages in
better ways.
"""

import re
from typing import Final, Literal

from gossamer.web.url.url import Url

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
    """`depth` is the number of links from a seed to the URL."""
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
