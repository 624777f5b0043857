"""robots.txt (RFC 9309): which agent may read which URL.

Protego matches paths, longest rule first. Choices of our own, where the standard leaves room or Protego does
not follow it:

- A group is chosen by its product token alone, ignoring case: `GPTBot/1.2` is `gptbot`, and `Applebot` says
  nothing about `Applebot-Extended`. Groups with the same token are one group.
- Only the first 500 KiB are read (§2.5 asks for at least that).
- A file that fails because of the server disallows everything; a missing file allows everything (§2.3.1). A
  redirect that leads nowhere counts as a missing file.
- `Crawl-delay`, which is in no standard, is supported. Like unknown lines, it does not end a group (§2.2.4);
  it is for the agents that are named directly before it.
- Only the first 5,000 wildcard rules are matched, because each has to be tried. A later `Disallow` forbids
  the path before its wildcard.
- `%2F` is not a slash, in rules and in URLs; any other escape is the character that it encodes.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, Self
from urllib.parse import quote

from msgspec import Struct
from protego import Protego

MAX_ROBOTS_BYTES: Final = 500 * 1024
MAX_WILDCARDS: Final = 5_000
EVERYONE: Final = "*"
_GROUP: Final = re.compile(r"\s*user[- ]?agent(?:\s*:|\s)\s*([^#]*)", re.I)
_READ: Final = re.compile(  # with the misspellings that Protego accepts
    r"\s*(?:user[- ]?agent|allow|d[ias]{2,3}[al]{2,3}[oa]w|site-?maps?|crawl[- ]delay)(?:\s*:|\s)", re.I
)
_ANY_DELAY: Final = re.compile(r"\s*crawl[- ]delay(?:\s*:|\s)", re.I)
_DELAY: Final = re.compile(_ANY_DELAY.pattern + r"\s*(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*(?:#|$)", re.I)
_SITEMAP: Final = re.compile(r"\s*site-?maps?(?:\s*:|\s)", re.I)
_WILDCARD: Final = re.compile(r"\s*+(?:(allow)|dis?[a-z]++)(?:\s*+:|\s)\s*+([^#*]*+)\*", re.I)
_LINE_END: Final = re.compile(r"\r\n?|\n")
_NO_LINE_END: Final = str.maketrans(  # which Protego takes for a line end
    {end: quote(end) for end in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"}
)
_NO_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_TOKEN: Final = re.compile(r"[a-z_-]+")
_KNOWN: Final = re.compile(
    r"\s*(?:user-agent|allow|disallow|sitemap|crawl-delay|host|clean-param|request-rate|visit-time|noindex"
    r"|content-signal|content-usage|license)\s*:",
    re.I,
)


class RobotsAccess(StrEnum):
    """What the response to the request for robots.txt means (§2.3.1)."""

    PARSE = "parse"
    ALLOW_ALL = "allow_all"
    DISALLOW_ALL = "disallow_all"


def access_of(status: int | None) -> RobotsAccess:
    """Return the access by the last status after redirects; None means that there was no response."""
    if status is None or status >= 500:
        return RobotsAccess.DISALLOW_ALL
    return RobotsAccess.PARSE if 200 <= status < 300 else RobotsAccess.ALLOW_ALL


class Robots(Struct, frozen=True):
    groups: frozenset[str]  # product tokens in lower case, and `*`
    sitemaps: tuple[str, ...]
    unknown: tuple[str, ...]  # unknown lines
    cut: bool
    delay: float | None  # seconds between two requests of the agent of these rules
    _speaks: str | None  # the name of its group
    _delays: Mapping[str, float]  # by group
    _parsed: Protego

    @classmethod
    def parse(cls, text: str | bytes, agent: str = EVERYONE) -> Self:
        kept, cut = _bound(text)
        lines = _LINE_END.split(kept.removeprefix("\ufeff"))
        groups = frozenset(product_token(match[1]) for match in map(_GROUP.match, lines) if match) - {""}
        parsed = Protego.parse("\n".join(_readable(lines)))
        group = _group(groups, agent)
        speaks = None if group is None else _name(group)
        delays = _read_delays(lines)
        delay = None if group is None else delays.get(group)
        return cls(groups, tuple(parsed.sitemaps), tuple(_unknown(lines)), cut, delay, speaks, delays, parsed)

    def allows(self, target: str) -> bool:
        """Whether the agent of these rules may request this path and query."""
        return self._speaks is None or self._parsed.can_fetch(f"http://site{target}", self._speaks)

    def group(self, agent: str) -> str | None:
        """Return the group for this agent: its own, or everyone's; None if neither exists."""
        return _group(self.groups, agent)

    def is_allowed(self, agent: str, url: str) -> bool:
        group = self.group(agent)
        try:
            return group is None or self._parsed.can_fetch(url, _name(group))
        except ValueError:  # an invalid URL is not forbidden
            return True

    def crawl_delay(self, agent: str) -> float | None:
        """Return the seconds between two requests."""
        group = self.group(agent)
        return None if group is None else self._delays.get(group)


def from_answer(status: int | None, text: str | bytes, agent: str = EVERYONE) -> Robots:
    """Return the rules by the response to the request for robots.txt."""
    match access_of(status):
        case RobotsAccess.PARSE:
            return Robots.parse(text, agent)
        case RobotsAccess.ALLOW_ALL:
            return Robots.parse("", agent)
        case RobotsAccess.DISALLOW_ALL:
            return Robots.parse("User-agent: *\nDisallow: /", agent)


def product_token(agent: str) -> str:
    """Return `mozilla` for `Mozilla/5.0 …`; a name without a token is returned as it is."""
    lowered = agent.strip().lower()
    if lowered.split(maxsplit=1)[:1] == [EVERYONE]:
        return EVERYONE
    match = _TOKEN.match(lowered)
    return match[0] if match else lowered


def _group(groups: frozenset[str], agent: str) -> str | None:
    token = product_token(agent)
    if token in groups:
        return token
    return EVERYONE if EVERYONE in groups else None


def _bound(text: str | bytes) -> tuple[str, bool]:
    """Cut the file to its maximal size; bytes that are not UTF-8 become escapes, as in URLs."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    kept = raw[:MAX_ROBOTS_BYTES].decode("utf-8", "surrogateescape")
    return _NO_CHARACTER.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", kept), len(raw) > MAX_ROBOTS_BYTES


def _readable(lines: list[str]) -> Iterator[str]:
    """Yield the lines for Protego, with a limited number of wildcards."""
    wildcards = 0
    for line in map(_normalise, lines):
        rule = _WILDCARD.match(line)
        wildcards += rule is not None
        if rule is None or wildcards <= MAX_WILDCARDS:
            yield line
        elif not rule[1]:
            yield f"disallow: {rule[2] or '/'}"


def _read_delays(lines: list[str]) -> dict[str, float]:
    """Return the delay of each group."""
    delays: dict[str, float] = {}
    agents: list[str] = []
    named = False
    for line in lines:
        if match := _GROUP.match(line):
            agents = [*(agents if named else ()), product_token(match[1])]
            named = True
        elif _READ.match(line) and not _SITEMAP.match(line):
            named = False
            if match := _DELAY.match(line):
                delays |= dict.fromkeys(agents, float(match[1]))
    return delays


def _normalise(line: str) -> str:
    if match := _GROUP.match(line):
        return f"user-agent: {_name(product_token(match[1]))}"
    return line.translate(_NO_LINE_END) if _READ.match(line) and not _ANY_DELAY.match(line) else ""


def _name(token: str) -> str:
    """Return the name of a group for Protego, which treats a name of one letter like `*`."""
    return token if token in ("", EVERYONE) else f"agent-{token}"


def _unknown(lines: list[str]) -> Iterator[str]:
    for line in lines:
        said = line.partition("#")[0].strip()
        if said and not _KNOWN.match(said):
            yield said
