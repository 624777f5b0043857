"""What a robot can take from a page, and how much of that is there before scripts have run."""

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from selectolax.lexbor import LexborHTMLParser

from gossamer.web.crawl.crawl_view import view_page
from gossamer.web.html.sanitise import bound_html
from gossamer.web.outcome.judging import judge
from gossamer.web.pages.page import Page

MAX_FACT_CHARS: Final = 300
MAX_HEADLINES: Final = 5
MAX_TYPES: Final = 20
FEW_WORDS: Final = 20  # of a page; with fewer, words are no evidence
SHELL_SHARE: Final = 0.2  # of the words, and fewer
SAME_SHARE: Final = 0.9  # of words and links, and more


class SeenVerdict(StrEnum):
    """How much of a page robots see that run no scripts."""

    SAME = "same"
    PARTLY = "partly"
    SHELL = "shell"
    UNKNOWN = "unknown"  # the page could not be compared


class RobotFacts(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a robot can take from a page."""

    status: int
    words: int
    title: str
    description: str
    canonical: str
    robots: Annotated[str, Meta(description="Of the meta tag and the header.")]
    headlines: Annotated[list[str], Meta(description="The `h1`, up to five.")]
    links: int
    structured: Annotated[list[str], Meta(description="Types of its structured data, sorted.")]


class PageSight(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page as it is sent, beside the same page with its scripts."""

    raw: RobotFacts
    rendered: RobotFacts
    shared: Annotated[float, Meta(description="The share of the words that are there without scripts.")]
    differences: Annotated[list[str], Meta(description="The facts that differ.")]
    verdict: SeenVerdict


def compare(raw: Page, rendered: Page) -> PageSight:
    one, other = facts_of(raw), facts_of(rendered)
    shared = _shared(_words(raw), _words(rendered))
    differences = _differences(one, other, shared)
    needs_script = judge(raw).reason == "script_needed"
    is_shell = shared < SHELL_SHARE if other.words >= FEW_WORDS else needs_script and other.words > one.words
    verdict = SeenVerdict.SHELL if is_shell else SeenVerdict.PARTLY if differences else SeenVerdict.SAME
    return PageSight(
        raw=one, rendered=other, shared=round(shared, 3), differences=differences, verdict=verdict
    )


def facts_of(page: Page) -> RobotFacts:
    seen = view_page(page)
    source = LexborHTMLParser(bound_html(page.text).html.encode("utf-8", "replace"))
    said = [node.attributes.get("content") or "" for node in source.css("meta[name=robots i]")]
    said += [value for name, value in page.headers if name == "x-robots-tag"]
    headlines = [" ".join(node.text(separator=" ").split()) for node in source.css("h1")]
    return RobotFacts(
        status=page.status,
        words=len(seen.text.split()),
        title=_short(seen.title),
        description=_short(seen.description),
        canonical=_short(seen.canonical),
        robots=_short(", ".join(" ".join(each.lower().split()) for each in said if each.strip())),
        headlines=[_short(text) for text in headlines if text][:MAX_HEADLINES],
        links=len(seen.links),
        structured=sorted(set(_types(source)))[:MAX_TYPES],
    )


def _differences(raw: RobotFacts, rendered: RobotFacts, shared: float) -> list[str]:
    exact = ("status", "title", "description", "canonical", "robots", "headlines", "structured")
    found = [name for name in exact if getattr(raw, name) != getattr(rendered, name)]
    if rendered.words >= FEW_WORDS and shared < SAME_SHARE:
        found.append("words")
    if raw.links < SAME_SHARE * rendered.links:
        found.append("links")
    return found


def _words(page: Page) -> Counter[str]:
    return Counter(view_page(page).text.lower().split())


def _shared(raw: Counter[str], rendered: Counter[str]) -> float:
    return (raw & rendered).total() / rendered.total() if rendered else 1.0


def _types(source: LexborHTMLParser) -> Iterator[str]:
    for node in source.css('script[type="application/ld+json" i]'):
        try:
            yield from _types_in(msgspec.json.decode(node.text() or "null"))
        except (msgspec.MsgspecError, RecursionError):
            yield "invalid"
    for node in source.css("[itemscope][itemtype]"):
        yield (node.attributes.get("itemtype") or "").rstrip("/").rpartition("/")[2][:100]


def _types_in(value: Any) -> Iterator[str]:
    """Of things at the top, and in its graph."""
    for thing in value if isinstance(value, list) else [value]:
        if isinstance(thing, Mapping):
            said = thing.get("@type")
            yield from (str(each)[:100] for each in (said if isinstance(said, list) else [said]) if each)
            if isinstance(graph := thing.get("@graph"), list):
                yield from _types_in(graph[:100])


def _short(text: str) -> str:
    return text[:MAX_FACT_CHARS]
