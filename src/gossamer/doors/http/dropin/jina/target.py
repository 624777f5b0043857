"""The URL that stands behind the mount, as people and proxies write it."""

import re
from typing import Final
from urllib.parse import unquote

_SCHEME: Final = re.compile(r"(https?):/*", re.IGNORECASE)
_OTHER_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def target_of(written: str, query: str) -> str:
    """The URL of the page. `written` is the rest of the path as it was sent.

    A URL that was written plainly is taken as it is, with its escapes; any other is decoded once. Proxies
    merge slashes (`https:/x`), and people write a scheme before one that is there already.
    """
    url = written if _SCHEME.match(written) else unquote(written)
    if _OTHER_SCHEME.match(url) and not _SCHEME.match(url):
        return url  # to be refused
    scheme = "https"
    while found := _SCHEME.match(url):
        scheme, url = found[1].lower(), url[found.end() :]
    return f"{scheme}://{url}" + (f"?{query}" if query else "")
