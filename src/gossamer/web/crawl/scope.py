"""Decides which of the URLs that a crawl finds belong to it.

    host      the hosts of the seeds, with their ports
    domain    all hosts in the domains of the seeds
    prefix    everything below the folders of the seeds: `/docs/` for `/docs/` and for `/docs/index.html`
    any       everything

A host with `www.` and the same host without it are one site, and so are http and https on their default
ports. A URL must then match `include`, if that is not empty, and must not match `exclude`. In a pattern `*`
stands for any text. A pattern that begins with a slash is compared with path and query, any other with the
whole URL.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Literal, Protocol, Self

from msgspec import Struct

from gossamer.web.url.domain import domain_of
from gossamer.web.url.url import DEFAULT_PORTS, Url

Reach = Literal["host", "domain", "prefix", "any"]


class OutOfScope(StrEnum):
    """Why a URL does not belong to a crawl."""

    TOO_DEEP = "too_deep"
    OTHER_HOST = "other_host"
    OTHER_DOMAIN = "other_domain"
    OTHER_PREFIX = "other_prefix"
    NOT_INCLUDED = "not_included"
    EXCLUDED = "excluded"


class ScopeRules(Protocol):
    """The part of a crawl's spec that limits where it goes."""

    @property
    def seeds(self) -> Sequence[str]: ...
    @property
    def scope(self) -> Reach: ...
    @property
    def include(self) -> Sequence[str]: ...
    @property
    def exclude(self) -> Sequence[str]: ...
    @property
    def max_depth(self) -> int: ...


class Pattern(Struct, frozen=True):
    """A text with asterisks. Matching takes linear time for every pattern."""

    parts: tuple[str, ...]
    of_path: bool

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(tuple(text.split("*")), text.startswith(("/", "*/")))

    def matches(self, url: Url, href: str) -> bool:
        text = url.target if self.of_path else href
        first, *others = self.parts
        if not others:
            return text == first
        *between, last = others
        if not text.startswith(first):
            return False
        at = len(first)
        for part in between:
            found = text.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return len(text) - len(last) >= at and text.endswith(last)


class Scope(Struct, frozen=True):
    reach: Reach
    places: frozenset[str]  # sites, domains or prefixes
    include: tuple[Pattern, ...]
    exclude: tuple[Pattern, ...]
    max_depth: int

    @classmethod
    def of(cls, rules: ScopeRules) -> Self:
        """Raises `Problem` for a seed that is not a URL."""
        seeds = [Url.parse(seed) for seed in rules.seeds]
        return cls(
            rules.scope,
            frozenset(place_of(rules.scope, seed) for seed in seeds),
            _patterns(rules.include),
            _patterns(rules.exclude),
            rules.max_depth,
        )

    def admits(self, url: Url, depth: int) -> str:
        """The reason why a URL found at this depth does not belong to the crawl; empty if it does."""
        if depth > self.max_depth:
            return OutOfScope.TOO_DEEP
        if reason := self._find_mismatch(url):
            return reason
        if not (self.include or self.exclude):
            return ""
        href = url.href.partition("#")[0]
        if self.include and not any(pattern.matches(url, href) for pattern in self.include):
            return OutOfScope.NOT_INCLUDED
        return OutOfScope.EXCLUDED if any(pattern.matches(url, href) for pattern in self.exclude) else ""

    def _find_mismatch(self, url: Url) -> str:
        match self.reach:
            case "any":
                return ""
            case "host":
                return "" if _site(url) in self.places else OutOfScope.OTHER_HOST
            case "domain":
                return "" if domain_of(url.host) in self.places else OutOfScope.OTHER_DOMAIN
            case "prefix":
                place = f"{_site(url)}{url.path}"
                return "" if place.startswith(tuple(self.places)) else OutOfScope.OTHER_PREFIX


def place_of(reach: Reach, seed: Url) -> str:
    """The part of the web that a seed opens for its crawl."""
    match reach:
        case "any":
            return ""
        case "host":
            return _site(seed)
        case "domain":
            return domain_of(seed.host)
        case "prefix":
            return _site(seed) + seed.path[: seed.path.rindex("/") + 1]


def _site(url: Url) -> str:
    port = "" if url.port == DEFAULT_PORTS[url.scheme] else f":{url.port}"
    return url.host.removeprefix("www.") + port


def _patterns(texts: Iterable[str]) -> tuple[Pattern, ...]:
    return tuple(Pattern.of(text) for text in texts)
