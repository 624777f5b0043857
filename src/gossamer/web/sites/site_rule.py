"""SiteRule: how pages of one part of the web are crawled and read.

Rules come from the crawl itself, from a site of its owner, and from the operator's file, and count in this
order. Of all rules that match a URL:

    keep, render        the first rule that says something
    headers             the same for each name
    drop, parameters    all rules together
    delay, concurrency  the slowest; they are of a whole host
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from gossamer.problems import Problem, validation_error
from gossamer.web.html.tree import check_own_selector
from gossamer.web.url.sent_headers import HIDDEN, SENDABLE_HEADERS, check_headers, has_credentials
from gossamer.web.url.url import Url

MAX_RULES: Final = 100  # of a crawl or a site
MAX_SELECTORS: Final = 50
MAX_RULE_DELAY: Final = 3_600.0  # seconds
EVERYWHERE: Final = "/*"

Selector = Annotated[str, Meta(min_length=1, max_length=500)]


class SiteRule(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How pages that match are crawled and read."""

    host: Annotated[
        str,
        Meta(
            max_length=300,
            description="A host (`docs.example.com`), a domain with all its hosts (`*.example.com`), or an "
            "origin (`https://docs.example.com`). Empty: the site itself, or the origins of a crawl's seeds.",
        ),
    ] = ""
    path: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            pattern=r"^[/*]",
            description="Compared with path and query. `*` matches anything.",
        ),
    ] = EVERYWHERE
    keep: Annotated[
        tuple[Selector, ...],
        Meta(
            max_length=MAX_SELECTORS,
            description="CSS selectors: the content is what matches. On a page where nothing does, it is "
            "searched as ever.",
        ),
    ] = ()
    drop: Annotated[
        tuple[Selector, ...],
        Meta(max_length=MAX_SELECTORS, description="CSS selectors: what matches is left out."),
    ] = ()
    ignore_parameters: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=100)], ...],
        Meta(
            max_length=50,
            description="Query parameters that do not make another page. A `*` at the end matches anything.",
        ),
    ] = ()
    headers: Annotated[
        dict[str, Annotated[str, Meta(max_length=8_000)]],
        Meta(
            max_length=20,
            description="Headers to send, such as a login. They need an origin, go to no other one, and "
            f"their values are never shown. Allowed are {', '.join(sorted(SENDABLE_HEADERS))}.",
        ),
    ] = {}
    render: Annotated[
        Literal["never", "auto", "always"] | None, Meta(description="Whether a crawl uses a browser.")
    ] = None
    delay: Annotated[
        Annotated[float, Meta(ge=0, le=MAX_RULE_DELAY)] | None,
        Meta(
            description="Seconds between two requests of a crawl to the host. A longer crawl-delay in "
            "robots.txt wins. Only without `path`."
        ),
    ] = None
    concurrency: Annotated[
        Annotated[int, Meta(ge=1, le=8)] | None,
        Meta(description="Requests of a crawl to the host at a time, at most. Only without `path`."),
    ] = None

    def __repr__(self) -> str:
        """Header values may be secret."""
        return f"SiteRule(host={self.host!r}, path={self.path!r})"

    @property
    def has_credentials(self) -> bool:
        return has_credentials(self.headers)

    @property
    def has_pace(self) -> bool:
        return self.delay is not None or self.concurrency is not None

    def check(self, *, field: str, home: str | None = None) -> None:
        """Raises `Problem` for what has the right shape and no meaning. `home` is the origin that an empty
        host means; of a crawl it is empty, since its seeds mean it; None: a host must be given."""
        if home is None and not self.host:
            raise _wrong(field, "host", "A rule here needs a host.", "Give `host`.")
        _check_host(self.host, field)
        if home and self.host not in ("", home):
            raise _wrong(field, "host", f"The rule is not about {home}.", "Leave `host` out.")
        if self.headers and self.host and "://" not in self.host:
            hint = f"Give an origin, such as https://{self.host.removeprefix('*.')}."
            raise _wrong(field, "host", "Headers are sent to one origin only.", hint)
        if self.has_pace and self.path != EVERYWHERE:
            hint = "Leave `path` out, or make another rule for the pace."
            raise _wrong(field, "path", "The pace is that of a whole host.", hint)
        check_headers(self.headers)
        for name in ("keep", "drop"):
            for selector in getattr(self, name):
                _check_selector(selector, f"{field}.{name}")


class SiteRules(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Rules, the first of them first."""

    rules: Annotated[tuple[SiteRule, ...], Meta(max_length=MAX_RULES)] = ()


def check_rules(rules: Iterable[SiteRule], home: str | None = None) -> None:
    for at, rule in enumerate(rules):
        rule.check(field=f"rules[{at}]", home=home)


def hide_headers(rules: Iterable[SiteRule]) -> tuple[SiteRule, ...]:
    """The rules as they are shown, and stored in the clear."""
    return tuple(
        msgspec.structs.replace(rule, headers=dict.fromkeys(rule.headers, HIDDEN)) if rule.headers else rule
        for rule in rules
    )


def restore_headers(rules: Iterable[SiteRule], known: Iterable[SiteRule]) -> tuple[SiteRule, ...]:
    """The rules with the values that were known, where somebody sends back what was shown. Raises `Problem`
    where none is known."""
    values: dict[tuple[str, str], Mapping[str, str]] = {
        (rule.host, rule.path): rule.headers for rule in known
    }
    found = []
    for at, rule in enumerate(rules):
        before = values.get((rule.host, rule.path), {})
        given = {
            name: before.get(name, text) if text == HIDDEN else text for name, text in rule.headers.items()
        }
        if HIDDEN in given.values():
            raise _wrong(f"rules[{at}]", "headers", "The value of a header is hidden.", "Give its value.")
        found.append(msgspec.structs.replace(rule, headers=given) if rule.headers else rule)
    return tuple(found)


def from_stored(stored: Iterable[Mapping[str, Any]]) -> tuple[SiteRule, ...]:
    """Unchecked, and without what a later version may say: bounds are for new rules."""
    names = dict(zip(SiteRule.__struct_encode_fields__, SiteRule.__struct_fields__, strict=True))
    found = []
    for one in stored:
        known = {names[key]: value for key, value in one.items() if key in names}
        lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
        found.append(SiteRule(**known | lists))
    return tuple(found)


def _check_host(host: str, field: str) -> None:
    if not host:
        return
    name = host.removeprefix("*.")
    try:
        url = Url.parse(host if "://" in host else f"https://{name}")
    except Problem:
        url = None
    if url is None or "*" in name or url.path != "/" or url.query or host not in _spellings(url):
        hint = "Give a host, `*.` and a domain, or an origin, in lower case."
        raise _wrong(field, "host", f"{host[:100]!r} is no host.", hint)


def _spellings(url: Url) -> tuple[str, ...]:
    authority = url.origin.partition("://")[2]
    return url.origin, authority, f"*.{authority}"


def _check_selector(selector: str, field: str) -> None:
    try:
        check_own_selector(selector)
    except Problem as problem:
        detail = f"{problem.detail} - at `{field}`."
        raise Problem(problem.kind, detail, hint=problem.hint, details=problem.details) from None


def _wrong(field: str, name: str, detail: str, hint: str) -> Problem:
    return validation_error(
        f"{detail[:-1]} - at `{field}.{name}`.", hint=hint, details={"field": f"{field}.{name}"}
    )
