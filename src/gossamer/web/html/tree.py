"""The page as a tree of plain elements, built once from the parser's tree.

Text is kept as a browser shows it, with white space collapsed outside preformatted parts. Scripts, styles,
embedded objects and hidden elements are left out. The tree is at most `MAX_DEPTH` deep, so code may recurse
through it; deeper elements leave only their text.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from gossamer.problems import INVALID_SELECTOR, Problem
from gossamer.web.html.elements.element import Element
from gossamer.web.html.elements.tree_builder import DROPPED, Selection, TreeBuilder
from gossamer.web.html.sanitise import bound_html

MIN_HIDDEN_CHARS: Final = 1_000  # on a page that shows next to nothing: it waits for a script to unveil it
MAX_LINE_CHARS: Final = 120  # of a line beside the text, such as the author or the date
_MARKED_UP: Final = frozenset(("rel", "itemprop", "property"))
_CONTROLS: Final = "[role=tab][aria-controls], :is(h2, h3, h4, dt) [aria-controls]"


class Lines(NamedTuple):
    """Elements that may say who wrote a page and when, in document order."""

    marked_up: list[Element]  # with a machine-readable role: a relation, a property, a time
    named: list[Element]  # a line of text with a class or an id


class Tree(Struct, frozen=True, dict=True):
    body: Element
    order: list[Element]  # every element below the body, parents before children
    source: LexborHTMLParser  # for queries about the head
    cut: bool

    @cached_property
    def headings(self) -> list[Element]:
        """Those of level 1 and 2, with text."""
        return [one for one in self.order if one.tag in ("h1", "h2") and one.text]

    @cached_property
    def lines(self) -> Lines:
        return Lines(
            marked_up=[
                one
                for one in self.order
                if one.tag == "time" or (one.attributes and not _MARKED_UP.isdisjoint(one.attributes))
            ],
            named=[one for one in self.order if one.hints and 0 < one.text <= MAX_LINE_CHARS],
        )


def parse(
    html: str, *, include: Sequence[str] = (), exclude: Sequence[str] = (), unveil: bool = True
) -> Tree:
    """Parse the body into a tree, limited to the elements that match `include` and without `exclude`.

    With `unveil`, a page that hides itself until a script has run is shown nevertheless.
    """
    safe = bound_html(html)
    source = LexborHTMLParser(safe.html.encode("utf-8", "replace"))
    for selector in exclude:
        for node in select(source, selector):
            if node.tag not in ("html", "body"):
                node.decompose()
    selection = (
        Selection([node for selector in include for node in select(source, selector)]) if include else None
    )
    panels = _panels(source) if unveil and "aria-controls" in safe.html else frozenset()
    built = _build(source, selection, DROPPED, panels, unveil=unveil)
    if unveil and built.order[0].text < MIN_HIDDEN_CHARS and _is_unscripted(source, built.order[0].text):
        built = _build(source, selection, DROPPED - {"noscript"}, panels, unveil=unveil)
    body, *below = built.order
    return Tree(body, below, source, built.cut or safe.cut)


def _build(
    source: LexborHTMLParser,
    selection: Selection | None,
    dropped: frozenset[str],
    panels: frozenset[str],
    *,
    unveil: bool,
) -> TreeBuilder:
    builder = TreeBuilder(selection, dropped=dropped, panels=panels, strict=not unveil)
    body = builder.build(source.body)
    if unveil and builder.concealed > MIN_HIDDEN_CHARS and body.text < builder.concealed // 4:
        _break_cycles(builder.order)
        builder = TreeBuilder(selection, dropped=dropped, panels=panels, strict=None)
        builder.build(source.body)
    return builder


def _is_unscripted(source: LexborHTMLParser, shown: int) -> bool:
    """Whether nearly all text is for visitors without scripts, often because a `noscript` is not closed."""
    text = sum(len(node.text(separator=" ")) for node in source.css("body noscript"))
    return text > MIN_HIDDEN_CHARS and shown < text // 4


def _panels(source: LexborHTMLParser) -> frozenset[str]:
    """Return the ids of what a tab or a heading shows on a click, which counts as shown."""
    found = (node.attributes.get("aria-controls") for node in source.css(_CONTROLS))
    return frozenset(name for name in found if name)


def release(tree: Tree) -> None:
    """Free a tree at once; otherwise its reference cycles wait for the garbage collector."""
    _break_cycles(tree.order)


def _break_cycles(elements: Sequence[Element]) -> None:
    for element in elements:
        element.parent = None


def select(source: LexborHTMLParser | LexborNode, selector: str) -> list[LexborNode]:
    try:
        return source.css(selector)
    except SelectolaxError:
        raise Problem(
            INVALID_SELECTOR,
            f"{selector[:200]!r} is not a CSS selector",
            hint="Try it with document.querySelector in a browser's console first.",
            details={"selector": selector[:200]},
        ) from None


# Browsers know more pseudo-classes, and namespaces, nesting and comments: these are left to them.
_BROWSER_ONLY: Final = re.compile(r"[:|&]|/\*")


def check_own_selector(selector: str) -> None:
    """Raise `INVALID_SELECTOR` for a selector that cannot be used here, without a browser."""
    select(LexborHTMLParser(""), selector)


def check_selector(selector: str) -> None:
    """Raise `INVALID_SELECTOR` for a selector that no browser accepts."""
    if not _BROWSER_ONLY.search(selector):
        check_own_selector(selector)
