"""Session ids in URLs: names that only session ids have, and names that they often have."""

import re
from typing import Final

from gossamer.web.crawl.traps.url_pattern import is_token
from gossamer.web.url.url import Tracking, Url

# What the frameworks of the web call it when a browser takes no cookies.
SESSION_NAMES: Final = Tracking.of(
    [
        "phpsessid", "jsessionid", "aspsessionid*", "asp.net_sessionid", "cfid", "cftoken", "oscsid",
        "oscadminid", "zenid", "xtcsid", "wtsid",
    ]
)  # fmt: skip
_OFTEN: Final = frozenset(
    ("sid", "s", "sess", "sessid", "session", "sessionid", "session_id", "session-id", "sessionkey", "token")
)
_OF_PATH: Final = re.compile(r";(?:jsessionid|phpsessid|sid|sessionid)(?:=[^/;]*)?", re.I)
_COOKIELESS: Final = re.compile(r"/\((?:[ASF]\([^()/]*\))+\)(?=/)", re.I)


def may_be_session(name: str, value: str) -> bool:
    """The name is one that session ids often have, and the value looks like one."""
    return name in _OFTEN and is_token(value)


def path_without_session(path: str) -> str:
    """`/a;jsessionid=0A1B` and `/(S(0a1b))/a` are `/a`."""
    if ";" in path:
        path = _OF_PATH.sub("", path)
    return _COOKIELESS.sub("", path) if "/(" in path else path


def has_session(url: Url) -> bool:
    """Whether the URL names a session in a way that only session ids are named."""
    if url.query and any(_is_session(piece) for piece in url.query.split("&")):
        return True
    return (";" in url.path or "/(" in url.path) and path_without_session(url.path) != url.path


def _is_session(piece: str) -> bool:
    return piece.partition("=")[0].encode() in SESSION_NAMES
