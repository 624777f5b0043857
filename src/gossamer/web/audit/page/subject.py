"""Subject: a page and everything known about it, as checks look at it, from one parsed tree."""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Final, Literal, NamedTuple
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.audit.check import PageAnswer, not_fetched, page_has_no
from gossamer.web.audit.page.structured_data import StructuredData, find_structured_data
from gossamer.web.documents.kind import ContentKind
from gossamer.web.html.links import Addresses
from gossamer.web.html.resources import Resource, ResourceKind, resources_of
from gossamer.web.html.sanitise import bound_html
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import Reading
from gossamer.web.robots.robots import Robots, from_answer

MAX_ELEMENTS: Final = 10_000  # of any one kind of element
MAX_TEXT_CHARS: Final = 2_000  # characters of any one text
# A server that turns a robot away may still answer people.
_TURNED_AWAY: Final = frozenset({401, 402, 403, 405, 406, 407, 418, 429, 451, 999})
_LEVELS: Final = "h1, h2, h3, h4, h5, h6"
_LINK_VALUE: Final = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*-]+\s*=\s*(?:\"[^\"]*\"|[^\s\",;]+))*)")


class File(Struct, frozen=True):
    """A file that a site keeps for robots."""

    url: str
    status: int | None  # None: no answer
    text: str = ""
    media_type: str = ""

    @property
    def exists(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class Sitemap(Struct, frozen=True):
    found: bool
    url: str = ""
    entries: int = 0  # pages, or sitemaps of an index
    problem: str = ""  # why it cannot be read
    lists_page: bool | None = None  # None: not known


class LinkCheck(Struct, frozen=True):
    url: str
    status: int | None  # None: no answer, and `problem` says why
    problem: str = ""
    internal: bool = False
    kind: Literal["page"] | ResourceKind = "page"  # what is expected there

    @property
    def broken(self) -> bool:
        return is_broken(self.status)

    @property
    def wrong(self) -> str:
        """What is wrong; empty if it works."""
        return str(self.status or self.problem or "no answer") if self.broken else ""

    def __str__(self) -> str:
        return f"{self.url} ({self.status or self.problem or 'no answer'})"


class Heading(NamedTuple):
    level: int
    text: str


class Anchor(NamedTuple):
    reference: str
    url: str  # absolute; empty if it leads nowhere
    name: str  # what a screen reader says
    rel: tuple[str, ...]


class Canonical(NamedTuple):
    reference: str
    url: str
    where: str  # `head`, `body` or `header`


class Alternate(NamedTuple):
    code: str
    reference: str
    url: str


class Directive(NamedTuple):
    name: str  # `noindex`, `max-snippet:0`
    where: str  # `meta` or `header`


class Subject(Struct, frozen=True, kw_only=True, dict=True):
    page: Page
    reading: Reading
    now: float  # Unix seconds
    robots: File | None = None  # None: it was not fetched
    sitemap: Sitemap | None = None
    llms: File | None = None
    links: tuple[LinkCheck, ...] | None = None  # and resources of the page that were tried; None: none were
    http_redirects_to_https: bool | None = None

    @property
    def is_html(self) -> bool:
        return self.reading.kind is ContentKind.HTML

    @property
    def url(self) -> str:
        return self.page.final_url

    @cached_property
    def parts(self) -> SplitResult:
        return split(self.url)

    @cached_property
    def html(self) -> str:
        return self.page.text if self.is_html else ""

    @cached_property
    def tree(self) -> LexborHTMLParser:
        return LexborHTMLParser(bound_html(self.html).html.encode("utf-8", "replace"))

    @cached_property
    def addresses(self) -> Addresses:
        base = self.tree.css_first("base[href]")
        return Addresses(self.url, "" if base is None else attribute(base, "href"))

    @cached_property
    def rules(self) -> Robots | None:
        return None if self.robots is None else from_answer(self.robots.status, self.robots.text)

    def headers(self, name: str) -> list[str]:
        return [value for known, value in self.page.headers if known == name]

    def meta(self, name: str) -> str:
        """The first content of that name; empty if it is missing."""
        return next(filter(None, self.metas.get(name, ())), "")

    @cached_property
    def metas(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for node in self.tree.css("meta")[:MAX_ELEMENTS]:
            content = line(attribute(node, "content"))
            for key in ("name", "property", "http-equiv"):
                if name := attribute(node, key).strip().lower():
                    found.setdefault(f"http-equiv:{name}" if key == "http-equiv" else name, []).append(
                        content
                    )
        return found

    @cached_property
    def titles(self) -> list[str]:
        nodes = self.tree.css("title")[:MAX_ELEMENTS]
        return [line(node.text()) for node in nodes if node.parent is None or node.parent.tag != "svg"]

    @property
    def title(self) -> str:
        return next(filter(None, self.titles), "")

    @cached_property
    def headings(self) -> list[Heading]:
        nodes = self.tree.css(_LEVELS)[:MAX_ELEMENTS]
        return [Heading(int((node.tag or "h6")[1]), name_of(node)) for node in nodes]

    @cached_property
    def anchors(self) -> list[Anchor]:
        nodes = self.tree.css("a[href], area[href]")[:MAX_ELEMENTS]
        return [self._anchor(node) for node in nodes]

    def _anchor(self, node: LexborNode) -> Anchor:
        reference = attribute(node, "href").strip()
        rel = tuple(attribute(node, "rel").lower().split())
        return Anchor(reference, self.addresses.absolute(reference), name_of(node), rel)

    @cached_property
    def images(self) -> list[dict[str, str | None]]:
        return [node.attributes for node in self.tree.css("img")[:MAX_ELEMENTS]]

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        return resources_of(self.tree, self.addresses)

    @cached_property
    def scripts(self) -> list[LexborNode]:
        return self.tree.css("script")[:MAX_ELEMENTS]

    @cached_property
    def canonicals(self) -> list[Canonical]:
        found = [
            self._canonical(attribute(node, "href"), "body" if is_within(node, "body") else "head")
            for node in self.tree.css("link[rel~='canonical' i]")[:MAX_ELEMENTS]
        ]
        for value in self.headers("link"):
            for target, parameters in _LINK_VALUE.findall(value[:MAX_TEXT_CHARS]):
                if re.search(r"\brel\s*=\s*\"?canonical\b", parameters, re.I):
                    found.append(self._canonical(target, "header"))
        return found

    def _canonical(self, reference: str, where: str) -> Canonical:
        reference = reference.strip()
        return Canonical(reference, self.addresses.absolute(reference) if reference else "", where)

    @property
    def canonical(self) -> str:
        """The address that search engines would use; empty if the page names none."""
        return next((one.url for one in self.canonicals if one.url and one.where != "body"), "")

    @cached_property
    def alternates(self) -> list[Alternate]:
        nodes = self.tree.css("link[rel~='alternate' i][hreflang]")[:MAX_ELEMENTS]
        pairs = [(attribute(node, "hreflang").strip(), attribute(node, "href").strip()) for node in nodes]
        return [Alternate(code, reference, self.addresses.absolute(reference)) for code, reference in pairs]

    @cached_property
    def directives(self) -> list[Directive]:
        """What the page asks of all robots, in its markup and in its headers."""
        found = [("meta", text) for name in ("robots", "googlebot") for text in self.metas.get(name, ())]
        found += [("header", text) for text in map(_for_everyone, self.headers("x-robots-tag"))]
        return [
            Directive("".join(name.split()), where)
            for where, text in found
            for name in text.lower()[:MAX_TEXT_CHARS].split(",")
            if name.strip()
        ]

    def asks(self, *names: str) -> list[Directive]:
        """`none` is `noindex, nofollow`."""
        meant = {*names, "none"} if {"noindex", "nofollow"} & set(names) else set(names)
        return [directive for directive in self.directives if directive.name in meant]

    @property
    def noindex(self) -> bool:
        return bool(self.asks("noindex"))

    @cached_property
    def structured(self) -> StructuredData:
        return find_structured_data(self.tree)

    @cached_property
    def elements(self) -> tuple[int, int]:
        """The number of elements, and the depth of the deepest."""
        depths: dict[int, int] = {}
        for node in self.tree.css("*"):  # parents before children
            above = depths.get(node.parent.mem_id, 0) if node.parent is not None else 0
            depths[node.mem_id] = above + 1
        return len(depths), max(depths.values(), default=0)

    def is_internal(self, url: str) -> bool:
        return site_of(split(url).hostname) == site_of(self.parts.hostname)


def _for_everyone(value: str) -> str:
    """The rules without those for a single robot, as in `X-Robots-Tag: otherbot: noindex`."""
    agent, colon, rest = value.partition(":")
    if not colon or agent.strip().lower() in ("max-snippet", "max-image-preview", "max-video-preview"):
        return value
    if agent.strip().lower() == "unavailable_after" or "," in agent:
        return value
    return rest if agent.strip().lower() == "googlebot" else ""


def is_broken(status: int | None) -> bool:
    """Whether an address is gone for people too; None stands for no answer at all."""
    return status is None or (status >= 400 and status not in _TURNED_AWAY)


def find_broken(subject: Subject, wanted: Callable[[LinkCheck], bool], what: str) -> PageAnswer:
    """Which of the addresses that were tried are broken."""
    if subject.links is None:
        return not_fetched("What the page links to")
    tried = [one for one in subject.links if wanted(one)]
    return [str(one) for one in tried if one.broken] if tried else page_has_no(what)


def split(url: str) -> SplitResult:
    """The parts of a URL; all empty if it cannot be parsed."""
    try:
        parts = urlsplit(url)
        _ = parts.hostname, parts.port
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts


def site_of(host: str | None) -> str:
    return (host or "").removeprefix("www.")


def attribute(node: LexborNode, name: str) -> str:
    return node.attributes.get(name) or ""


def line(text: str | None) -> str:
    return " ".join((text or "").split())[:MAX_TEXT_CHARS]


def is_within(node: LexborNode, tag: str) -> bool:
    above = node.parent
    while above is not None:
        if above.tag == tag:
            return True
        above = above.parent
    return False


def name_of(node: LexborNode) -> str:
    """The accessible name of an element: its text, else what stands for it."""
    name = line(node.text()) or line(attribute(node, "aria-label")) or line(attribute(node, "title"))
    if name or attribute(node, "aria-labelledby"):
        return name or "labelled"
    pictures = [line(attribute(one, "alt")) for one in node.css("img[alt], area[alt]")]
    pictures += [line(one.text()) for one in node.css("svg title")]
    pictures += [line(attribute(one, "aria-label")) for one in node.css("[aria-label]")]
    return next(filter(None, [line(attribute(node, "alt")), *pictures]), "")
