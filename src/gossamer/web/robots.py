"""robots.txt (RFC 9309): who may read what.

Protego matches paths, longest rule first. Choices of our own, where the standard leaves room or Protego does
not follow it:

- A group is chosen by its product token alone, in any case: `GPTBot/1.2` is `gptbot`, and `Applebot` says
  nothing about `Applebot-Extended`. Groups of one token are one group.
- What follows the first 500 KiB is not read (§2.5 asks for no less).
- A file that cannot be had because of the server disallows everything, one that is not there allows
  everything (§2.3.1). A redirect that leads nowhere counts as not there.
- `Crawl-delay`, which no standard knows, is told to who asks for it, and is a rule like others: agents that
  are named behind it begin a new group. Lines that nobody knows do not (§2.2.4).
- Of the wildcards only the first 5,000 are matched, because they all have to be tried. Where a `Disallow` has
  more, what stands before them is forbidden.
- `%2F` is no slash, in a rule as in an address; any other escape is the character that it stands for.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self
from urllib.parse import quote

from protego import Protego

LARGEST: Final = 500 * 1024  # bytes
MOST_WILDCARDS: Final = 5_000
EVERYONE: Final = "*"
_GROUP: Final = re.compile(r"\s*user[- ]?agent(?:\s*:|\s)\s*([^#]*)", re.I)
_READ: Final = re.compile(  # with the slips of the pen that Protego knows
    r"\s*(?:user[- ]?agent|allow|d[ias]{2,3}[al]{2,3}[oa]w|site-?maps?|crawl[- ]delay)(?:\s*:|\s)", re.I
)
_WILDCARD: Final = re.compile(r"\s*+(?:(allow)|dis?[a-z]++)(?:\s*+:|\s)\s*+([^#*]*+)\*", re.I)
_LINE_END: Final = re.compile(r"\r\n?|\n")
_NO_LINE_END: Final = str.maketrans(  # which Protego takes for one
    {end: quote(end) for end in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"}
)
_NO_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_TOKEN: Final = re.compile(r"[a-z_-]+")
_KNOWN: Final = re.compile(
    r"\s*(?:user-agent|allow|disallow|sitemap|crawl-delay|host|clean-param|request-rate|visit-time|noindex"
    r"|content-signal|content-usage|license)\s*:",
    re.I,
)


class Answer(StrEnum):
    """What the answer to the request for robots.txt means (§2.3.1)."""

    PARSE = "parse"
    ALLOW_ALL = "allow_all"
    DISALLOW_ALL = "disallow_all"


def verdict_of(status: int | None) -> Answer:
    """By the last status after redirects; None stands for no answer."""
    if status is None or status >= 500:
        return Answer.DISALLOW_ALL
    return Answer.PARSE if 200 <= status < 300 else Answer.ALLOW_ALL


@dataclass(frozen=True, slots=True)
class Robots:
    groups: frozenset[str]  # product tokens in lower case, and `*`
    sitemaps: tuple[str, ...]
    unknown: tuple[str, ...]  # lines that say nothing known
    cut: bool
    delay: float | None  # seconds between two requests of the agent that this was parsed for
    _speaks: str | None  # what the group that speaks to it is called
    _parsed: Protego

    @classmethod
    def parse(cls, text: str | bytes, agent: str = EVERYONE) -> Self:
        kept, cut = _bounded(text)
        lines = _LINE_END.split(kept.removeprefix("\ufeff"))
        groups = frozenset(product_token(match[1]) for match in map(_GROUP.match, lines) if match) - {""}
        parsed = Protego.parse("\n".join(_readable(lines)))
        group = _group(groups, agent)
        speaks = None if group is None else _name(group)
        delay = None if speaks is None else parsed.crawl_delay(speaks)
        return cls(groups, tuple(parsed.sitemaps), tuple(_unknown(lines)), cut, delay, speaks, parsed)

    def allows(self, target: str) -> bool:
        """Whether the agent that this was parsed for may ask for this path and query."""
        return self._speaks is None or self._parsed.can_fetch(f"http://site{target}", self._speaks)

    def group(self, agent: str) -> str | None:
        """The group that speaks to this agent: its own, or everyone's; None where neither exists."""
        return _group(self.groups, agent)

    def allowed(self, agent: str, url: str) -> bool:
        group = self.group(agent)
        try:
            return group is None or self._parsed.can_fetch(url, _name(group))
        except ValueError:  # what is no URL is not forbidden
            return True

    def crawl_delay(self, agent: str) -> float | None:
        """Seconds between two requests."""
        group = self.group(agent)
        return None if group is None else self._parsed.crawl_delay(_name(group))


def allowed(text: str, agent: str, url: str) -> bool:
    return Robots.parse(text).allowed(agent, url)


def from_answer(status: int | None, text: str | bytes, agent: str = EVERYONE) -> Robots:
    """The rules that an answer to the request for robots.txt stands for."""
    match verdict_of(status):
        case Answer.PARSE:
            return Robots.parse(text, agent)
        case Answer.ALLOW_ALL:
            return Robots.parse("", agent)
        case Answer.DISALLOW_ALL:
            return Robots.parse("User-agent: *\nDisallow: /", agent)


def product_token(agent: str) -> str:
    """`Mozilla` of `Mozilla/5.0 …`; what does not begin with one is taken as it is."""
    lowered = agent.strip().lower()
    if lowered.startswith(EVERYONE):
        return EVERYONE
    match = _TOKEN.match(lowered)
    return match[0] if match else lowered


def _group(groups: frozenset[str], agent: str) -> str | None:
    token = product_token(agent)
    if token in groups:
        return token
    return EVERYONE if EVERYONE in groups else None


def _bounded(text: str | bytes) -> tuple[str, bool]:
    """As much as is read; bytes that are no UTF-8 become escapes, as they are in addresses."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    kept = raw[:LARGEST].decode("utf-8", "surrogateescape")
    return _NO_CHARACTER.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", kept), len(raw) > LARGEST


def _readable(lines: list[str]) -> Iterator[str]:
    """The lines as Protego reads them, and as many wildcards as can be tried for every address."""
    wildcards = 0
    for line in map(_normal, lines):
        rule = _WILDCARD.match(line)
        wildcards += rule is not None
        if rule is None or wildcards <= MOST_WILDCARDS:
            yield line
        elif not rule[1]:
            yield f"disallow: {rule[2] or '/'}"


def _normal(line: str) -> str:
    if match := _GROUP.match(line):
        return f"user-agent: {_name(product_token(match[1]))}"
    return line.translate(_NO_LINE_END) if _READ.match(line) else ""


def _name(token: str) -> str:
    """What a group is called towards Protego, which takes a name of one letter for no better than `*`."""
    return token if token in ("", EVERYONE) else f"agent-{token}"


def _unknown(lines: list[str]) -> Iterator[str]:
    for line in lines:
        said = line.partition("#")[0].strip()
        if said and not _KNOWN.match(said):
            yield said
