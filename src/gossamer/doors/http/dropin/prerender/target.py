"""The address of the page that a request of Prerender's or Rendertron's middleware asks for."""

import re
from typing import Final
from urllib.parse import unquote

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.problems import Problem

FRAGMENT: Final = "_escaped_fragment_"  # by which robots once asked for the page of a `#!` address
RENDERTRON_OPTIONS: Final = frozenset({"mobile", "refreshCache", "wc-inject-shadydom", "width", "height"})
_SCHEME: Final = re.compile(r"(https?):/{1,2}(?=[^/])", re.IGNORECASE)  # proxies merge slashes


def target_behind(exchange: Exchange, mount: str, options: frozenset[str] = frozenset()) -> str:
    """The address that stands behind `mount` as it is, with its query, or percent-encoded as a whole.

    `options` are parameters that belong to the request and not to the page."""
    raw: bytes = exchange.scope["raw_path"]
    address = raw.decode("utf-8", "replace").removeprefix(mount)
    if _SCHEME.match(address) is None:
        return read_target(unquote(address))
    query = exchange.scope["query_string"].decode("utf-8", "replace")
    kept = "&".join(part for part in query.split("&") if part.partition("=")[0] not in options)
    return read_target(f"{address}?{kept}" if kept else address)


def read_target(address: str) -> str:
    """The address of the page. Raises `Problem` if it is none."""
    scheme = _SCHEME.match(address)
    if scheme is None:
        raise Problem(
            problems.INVALID_URL,
            "There is no address of a page in the request.",
            hint="The whole address stands behind the path: /prerender/https://example.com/page.",
        )
    return _without_fragment(f"{scheme[1].lower()}://{address[scheme.end() :]}")


def _without_fragment(address: str) -> str:
    """The address as a visitor has it: `?_escaped_fragment_=/a` is `#!/a`."""
    base, mark, query = address.partition("?")
    if FRAGMENT not in query:
        return address
    parts = [part for part in query.replace("?", "&").split("&") if part]
    kept = [part for part in parts if part.partition("=")[0] != FRAGMENT]
    values = [unquote(part.partition("=")[2]) for part in parts if part.partition("=")[0] == FRAGMENT]
    shown = base + (mark + "&".join(kept) if kept else "")
    return f"{shown}#!{values[0]}" if values and values[0] else shown
