"""Subject: a page and all that was learnt about it, as checks look at it, from one tree."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.checks.things import Structured, structured_of
from gossamer.web.kind import Kind
from gossamer.web.links import Addresses
from gossamer.web.page import Page
from gossamer.web.reading import Reading
from gossamer.web.robots import Robots, from_answer
from gossamer.web.sanitise import bounded

MOST: Final = 10_000  # of any one kind of element
LONGEST: Final = 2_000  # characters of any one text
_LEVELS: Final = "h1, h2, h3, h4, h5, h6"
_LINK_VALUE: Final = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*-]+\s*=\s*(?:\"[^\"]*\"|[^\s\",;]+))*)")


@dataclass(frozen=True, slots=True)
class File:
    """One of the files that a site keeps for robots."""

    url: str
    status: int | None  # None: no answer
    text: str = ""
    media_type: str = ""

    @property
    def exists(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Sitemap:
    found: bool
    url: str = ""
    entries: int = 0  # pages, or sitemaps of an index
    problem: str = ""  # why it cannot be read
    lists_page: bool | None = None  # None: nobody has looked far enough


@dataclass(frozen=True, slots=True)
class LinkCheck:
    url: str
    status: int | None  # None: no answer, and `problem` says why
    problem: str = ""
    internal: bool = False

    @property
    def broken(self) -> bool:
        """Gone, or nobody there. That a robot is turned away says nothing about people."""
        if self.status is None:
            return True
        return self.status >= 400 and self.status not in (401, 402, 403, 405, 406, 407, 418, 429, 451, 999)

    def __str__(self) -> str:
        return f"{self.url} ({self.status or self.problem or 'no answer'})"


class Heading(NamedTuple):
    level: int
    text: str


class Anchor(NamedTuple):
    reference: str
    url: str  # absolute; nothing where it is none to go to
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


@dataclass(frozen=True, kw_only=True)
class Subject:
    page: Page
    reading: Reading
    now: float  # Unix seconds
    robots: File | None = None  # None: nobody has asked for it
    sitemap: Sitemap | None = None
    llms: File | None = None
    links: tuple[LinkCheck, ...] | None = None
    http_redirects_to_https: bool | None = None

    @property
    def is_html(self) -> bool:
        return self.reading.kind is Kind.HTML

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
        return LexborHTMLParser(bounded(self.html).html.encode("utf-8", "replace"))

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
        """The first content of that name; nothing where it is missing or empty."""
        return next(filter(None, self.metas.get(name, ())), "")

    @cached_property
    def metas(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for node in self.tree.css("meta")[:MOST]:
            content = line(attribute(node, "content"))
            for key in ("name", "property", "http-equiv"):
                if name := attribute(node, key).strip().lower():
                    found.setdefault(f"http-equiv:{name}" if key == "http-equiv" else name, []).append(
                        content
                    )
        return found

    @cached_property
    def titles(self) -> list[str]:
        nodes = self.tree.css("title")[:MOST]
        return [line(node.text()) for node in nodes if node.parent is None or node.parent.tag != "svg"]

    @property
    def title(self) -> str:
        return next(filter(None, self.titles), "")

    @cached_property
    def headings(self) -> list[Heading]:
        nodes = self.tree.css(_LEVELS)[:MOST]
        return [Heading(int((node.tag or "h6")[1]), name_of(node)) for node in nodes]

    @cached_property
    def anchors(self) -> list[Anchor]:
        nodes = self.tree.css("a[href], area[href]")[:MOST]
        return [self._anchor(node) for node in nodes]

    def _anchor(self, node: LexborNode) -> Anchor:
        reference = attribute(node, "href").strip()
        rel = tuple(attribute(node, "rel").lower().split())
        return Anchor(reference, self.addresses.absolute(reference), name_of(node), rel)

    @cached_property
    def images(self) -> list[dict[str, str | None]]:
        return [node.attributes for node in self.tree.css("img")[:MOST]]

    @cached_property
    def scripts(self) -> list[LexborNode]:
        return self.tree.css("script")[:MOST]

    @cached_property
    def canonicals(self) -> list[Canonical]:
        found = [
            self._canonical(attribute(node, "href"), "body" if is_within(node, "body") else "head")
            for node in self.tree.css("link[rel~='canonical' i]")[:MOST]
        ]
        for value in self.headers("link"):
            for target, parameters in _LINK_VALUE.findall(value[:LONGEST]):
                if re.search(r"\brel\s*=\s*\"?canonical\b", parameters, re.I):
                    found.append(self._canonical(target, "header"))
        return found

    def _canonical(self, reference: str, where: str) -> Canonical:
        reference = reference.strip()
        return Canonical(reference, self.addresses.absolute(reference) if reference else "", where)

    @property
    def canonical(self) -> str:
        """The address that search engines would take; nothing where none is named."""
        return next((one.url for one in self.canonicals if one.url and one.where != "body"), "")

    @cached_property
    def alternates(self) -> list[Alternate]:
        nodes = self.tree.css("link[rel~='alternate' i][hreflang]")[:MOST]
        pairs = [(attribute(node, "hreflang").strip(), attribute(node, "href").strip()) for node in nodes]
        return [Alternate(code, reference, self.addresses.absolute(reference)) for code, reference in pairs]

    @cached_property
    def directives(self) -> list[Directive]:
        """What the page asks of every robot, in its markup and in its headers."""
        found = [("meta", text) for name in ("robots", "googlebot") for text in self.metas.get(name, ())]
        found += [("header", text) for text in map(_for_everyone, self.headers("x-robots-tag"))]
        return [
            Directive("".join(name.split()), where)
            for where, text in found
            for name in text.lower()[:LONGEST].split(",")
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
    def structured(self) -> Structured:
        return structured_of(self.tree)

    @cached_property
    def elements(self) -> tuple[int, int]:
        """How many there are, and how deep the deepest is."""
        depths: dict[int, int] = {}
        for node in self.tree.css("*"):  # parents before children
            above = depths.get(node.parent.mem_id, 0) if node.parent is not None else 0
            depths[node.mem_id] = above + 1
        return len(depths), max(depths.values(), default=0)

    def is_internal(self, url: str) -> bool:
        return site_of(split(url).hostname) == site_of(self.parts.hostname)


def _for_everyone(value: str) -> str:
    """`X-Robots-Tag: googlebot: noindex` speaks to one robot; of the others nothing is left."""
    agent, colon, rest = value.partition(":")
    if not colon or agent.strip().lower() in ("max-snippet", "max-image-preview", "max-video-preview"):
        return value
    if agent.strip().lower() == "unavailable_after" or "," in agent:
        return value
    return rest if agent.strip().lower() == "googlebot" else ""


def split(url: str) -> SplitResult:
    """The parts of a URL; nothing but empty ones where it is none."""
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
    return " ".join((text or "").split())[:LONGEST]


def is_within(node: LexborNode, tag: str) -> bool:
    above = node.parent
    while above is not None:
        if above.tag == tag:
            return True
        above = above.parent
    return False


def name_of(node: LexborNode) -> str:
    """What an element is called: its text, else what stands for it."""
    said = line(node.text()) or line(attribute(node, "aria-label")) or line(attribute(node, "title"))
    if said or attribute(node, "aria-labelledby"):
        return said or "labelled"
    pictures = [line(attribute(one, "alt")) for one in node.css("img[alt], area[alt]")]
    pictures += [line(one.text()) for one in node.css("svg title")]
    pictures += [line(attribute(one, "aria-label")) for one in node.css("[aria-label]")]
    return next(filter(None, [line(attribute(node, "alt")), *pictures]), "")
