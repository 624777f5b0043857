"""RuleSet: the rules of a crawl or a request, ready to be asked about many URLs."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, Self

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.web.crawl.scope import Pattern
from gossamer.web.sites.site_rule import EVERYWHERE, SiteRule
from gossamer.web.url.sent_headers import HIDDEN
from gossamer.web.url.url import DEFAULT_PORTS, Url


class RulePace(NamedTuple):
    """How fast a host may be asked; None: the rules say nothing."""

    delay: float | None = None
    concurrency: int | None = None


class PageRule(Struct, frozen=True):
    """What all rules together say about one URL."""

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    render: Literal["never", "auto", "always"] | None = None

    @property
    def selects(self) -> bool:
        return bool(self.keep or self.drop)


NO_RULE = PageRule()


class _MatchedRule(NamedTuple):
    rule: SiteRule
    path: Pattern | None  # None: every path

    def matches(self, url: Url, homes: frozenset[str]) -> bool:
        if not _is_of(self.rule.host, url, homes):
            return False
        return self.path is None or self.path.matches(url, url.href)


class RuleSet(Struct, frozen=True):
    rules: tuple[_MatchedRule, ...] = ()
    homes: frozenset[str] = frozenset()  # the origins that an empty host means
    ignores: bool = False  # some rule names query parameters

    @classmethod
    def of(cls, rules: Iterable[SiteRule], homes: Iterable[str] = ()) -> Self:
        matched = tuple(
            _MatchedRule(
                rule, None if rule.path == EVERYWHERE else Pattern(tuple(rule.path.split("*")), True)
            )
            for rule in rules
        )
        ignores = any(one.rule.ignore_parameters for one in matched)
        return cls(matched, frozenset(homes) if matched else frozenset(), ignores)

    def before(self, others: Self) -> Self:
        """These rules, and then the others."""
        return replace(self, rules=self.rules + others.rules, ignores=self.ignores or others.ignores)

    def at(self, url: Url) -> PageRule:
        found = [one.rule for one in self.rules if one.matches(url, self.homes)]
        if not found:
            return NO_RULE
        headers: dict[str, str] = {}
        for rule in reversed(found):
            shown = {name.lower(): value for name, value in rule.headers.items() if value != HIDDEN}
            headers.update(shown)  # a value that nobody has opened is no value
        return PageRule(
            keep=next((rule.keep for rule in found if rule.keep), ()),
            drop=tuple(dict.fromkeys(selector for rule in found for selector in rule.drop)),
            headers=headers,
            render=next((rule.render for rule in found if rule.render is not None), None),
        )

    def matching(self, url: Url) -> list[int]:
        """The places of the rules that are about this URL."""
        return [at for at, one in enumerate(self.rules) if one.matches(url, self.homes)]

    def ignored(self, url: Url) -> tuple[str, ...]:
        """The query parameters that do not make another page of this URL."""
        if not self.ignores or not url.query:
            return ()
        return tuple(
            name
            for one in self.rules
            if one.rule.ignore_parameters and one.matches(url, self.homes)
            for name in one.rule.ignore_parameters
        )

    def pace(self, site: str) -> RulePace:
        """Of a host with its port: the slowest of all that is said."""
        found = [
            one.rule for one in self.rules if one.rule.has_pace and _is_on(one.rule.host, site, self.homes)
        ]
        delays = [rule.delay for rule in found if rule.delay is not None]
        numbers = [rule.concurrency for rule in found if rule.concurrency is not None]
        return RulePace(max(delays, default=None), min(numbers, default=None))


def _is_of(host: str, url: Url, homes: frozenset[str]) -> bool:
    if not host:
        return url.origin in homes
    if "://" in host:
        return url.origin == host
    if host.startswith("*."):
        name, port = _split(host[2:])
        inside = url.host == name or url.host.endswith(f".{name}")
    else:
        name, port = _split(host)
        inside = url.host == name
    return inside and url.port == (port or DEFAULT_PORTS[url.scheme])


def _is_on(host: str, site: str, homes: frozenset[str]) -> bool:
    """Whether a rule is about this host and port, over http or https."""
    return any(_is_of(host, url, homes) for url in _urls(site))


def _urls(site: str) -> list[Url]:
    return [Url.parse(f"{scheme}://{site}/") for scheme in ("https", "http")]


def _split(host: str) -> tuple[str, int | None]:
    name, colon, port = host.rpartition(":")
    return (name, int(port)) if colon and port.isdecimal() and not host.endswith("]") else (host, None)
