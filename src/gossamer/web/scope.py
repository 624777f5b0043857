"""Scope: which of the URLs that a crawl finds belong to it.

    host      the hosts of its seeds, with their ports
    domain    all hosts of the domains that its seeds are in
    prefix    what is below the folders of its seeds: `/docs/` for `/docs/` as for `/docs/index.html`
    any       everything

A host with `www.` and the one without are the same site, and so are http and https on their own ports. Then
`include`, if there is any, and `exclude`, which has the last word. In their patterns `*` stands for anything;
one that begins with a slash is compared with path and query, any other with the whole URL.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, Self

from gossamer.web.domain import domain_of
from gossamer.web.url import DEFAULT_PORTS, Url

Reach = Literal["host", "domain", "prefix", "any"]

TOO_DEEP: Final = "too_deep"
OTHER_HOST: Final = "other_host"
OTHER_DOMAIN: Final = "other_domain"
OTHER_PREFIX: Final = "other_prefix"
NOT_INCLUDED: Final = "not_included"
EXCLUDED: Final = "excluded"


class Wish(Protocol):
    """What a crawl says about where it may go."""

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


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text with asterisks. Compared in linear time, whatever the pattern."""

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


@dataclass(frozen=True, slots=True)
class Scope:
    reach: Reach
    places: frozenset[str]  # sites, domains or prefixes
    include: tuple[Pattern, ...]
    exclude: tuple[Pattern, ...]
    max_depth: int

    @classmethod
    def of(cls, wish: Wish) -> Self:
        """Raises a Problem for seeds that are no URLs."""
        seeds = [Url.parse(seed) for seed in wish.seeds]
        return cls(
            wish.scope,
            frozenset(_place(wish.scope, seed) for seed in seeds),
            _patterns(wish.include),
            _patterns(wish.exclude),
            wish.max_depth,
        )

    def admits(self, url: Url, depth: int) -> str:
        """Why a URL that was found so deep is not of this crawl; nothing if it is."""
        if depth > self.max_depth:
            return TOO_DEEP
        if reason := self._is_elsewhere(url):
            return reason
        if not (self.include or self.exclude):
            return ""
        href = url.href.partition("#")[0]
        if self.include and not any(pattern.matches(url, href) for pattern in self.include):
            return NOT_INCLUDED
        return EXCLUDED if any(pattern.matches(url, href) for pattern in self.exclude) else ""

    def _is_elsewhere(self, url: Url) -> str:
        match self.reach:
            case "any":
                return ""
            case "host":
                return "" if _site(url) in self.places else OTHER_HOST
            case "domain":
                return "" if domain_of(url.host) in self.places else OTHER_DOMAIN
            case "prefix":
                place = f"{_site(url)}{url.path}"
                return "" if place.startswith(tuple(self.places)) else OTHER_PREFIX


def _place(reach: Reach, seed: Url) -> str:
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
