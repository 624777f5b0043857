"""robots.txt (RFC 9309): who may read what.

Protego matches paths, longest rule first. Choices of our own, where the standard leaves room or Protego does
not follow it:

- A group is chosen by its product token alone, in any case: `GPTBot/1.2` is `gptbot`, and `Applebot` says
  nothing about `Applebot-Extended`. Groups of one token are one group.
- What follows the first 500 KiB is not read (§2.5 asks for no less).
- A file that cannot be had because of the server disallows everything, one that is not there allows
  everything (§2.3.1). A redirect that leads nowhere counts as not there.
- `Crawl-delay`, which no standard knows, is told to who asks for it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

from protego import Protego

LARGEST: Final = 500 * 1024  # bytes
EVERYONE: Final = "*"
_GROUP: Final = re.compile(r"\s*user[- ]?agent\s*:\s*([^#]*)", re.I)
_TOKEN: Final = re.compile(r"[a-z_-]+")
_KNOWN: Final = re.compile(
    r"\s*(?:user-agent|allow|disallow|sitemap|crawl-delay|host|clean-param|request-rate|visit-time|noindex"
    r"|content-signal|content-usage|license)\s*:",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Robots:
    groups: frozenset[str]  # product tokens in lower case, and `*`
    sitemaps: tuple[str, ...]
    unknown: tuple[str, ...]  # lines that say nothing known
    cut: bool
    _parsed: Protego

    @classmethod
    def parse(cls, text: str) -> Self:
        kept, cut = _bounded(text)
        lines = kept.removeprefix("\ufeff").splitlines()
        groups = frozenset(product_token(match[1]) for match in map(_GROUP.match, lines) if match)
        parsed = Protego.parse("\n".join(map(_normal, lines)))
        return cls(groups - {""}, tuple(parsed.sitemaps), tuple(_unknown(lines)), cut, parsed)

    def group(self, agent: str) -> str | None:
        """The group that speaks to this agent: its own, or everyone's; None where neither exists."""
        token = product_token(agent)
        if token in self.groups:
            return token
        return EVERYONE if EVERYONE in self.groups else None

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


def from_answer(status: int | None, text: str) -> Robots:
    """What an answer to the request for robots.txt means; None stands for none."""
    if status is None or status >= 500:
        return Robots.parse("User-agent: *\nDisallow: /")
    return Robots.parse(text if status < 300 else "")


def product_token(agent: str) -> str:
    """`Mozilla` of `Mozilla/5.0 …`; what does not begin with one is taken as it is."""
    lowered = agent.strip().lower()
    if lowered.startswith(EVERYONE):
        return EVERYONE
    match = _TOKEN.match(lowered)
    return match[0] if match else lowered


def _bounded(text: str) -> tuple[str, bool]:
    if len(text) * 4 <= LARGEST:
        return text, False
    raw = text.encode("utf-8", "replace")
    return raw[:LARGEST].decode("utf-8", "ignore"), len(raw) > LARGEST


def _normal(line: str) -> str:
    match = _GROUP.match(line)
    return f"user-agent: {_name(product_token(match[1]))}" if match else line


def _name(token: str) -> str:
    """What a group is called towards Protego, which takes a name of one letter for no better than `*`."""
    return token if token in ("", EVERYONE) else f"agent-{token}"


def _unknown(lines: list[str]) -> Iterator[str]:
    for line in lines:
        said = line.partition("#")[0].strip()
        if said and not _KNOWN.match(said):
            yield said
