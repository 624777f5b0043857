"""The page as a tree of plain elements, built once from the parser's tree.

Text is kept as a browser shows it, with white space collapsed outside preformatted parts. Scripts, styles,
embedded objects and hidden elements are left out. The tree is at most `MAX_DEPTH` deep, so code may recurse
through it; deeper elements leave only their text.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from gossamer.problems import INVALID_SELECTOR, Problem
from gossamer.web.html.formulas.formulas import FORMULA_TAGS, formula_of
from gossamer.web.html.sanitise import bound_html
from gossamer.web.html.visibility import is_panel, style_hides, style_shrinks
from gossamer.web.html.vocabulary import tags

MAX_DEPTH: Final = 120
MAX_ELEMENTS: Final = 200_000  # later elements leave only their text
MIN_HIDDEN_CHARS: Final = 1_000  # on a page that shows next to nothing: it waits for a script to unveil it

BLOCKS: Final = tags(
    "address article aside blockquote body center dd details dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav noscript ol optgroup p "
    "pre section summary table caption thead tbody tfoot tr td th ul search listing xmp"
)
_DROPPED: Final = tags(
    "script style template svg canvas object embed iframe audio video map head title link meta base select "
    "textarea datalist dialog noscript -comment -doctype -cdata-section"
)
_EMBEDDED: Final = frozenset(("iframe", "video", "audio"))
_MAY_BE_LEAVES: Final = _EMBEDDED | FORMULA_TAGS
_PREFORMATTED: Final = frozenset(("pre", "listing", "xmp"))
_CONTROLS: Final = "[role=tab][aria-controls], :is(h2, h3, h4, dt) [aria-controls]"
_NEVER_HIDDEN: Final = frozenset(("html", "body", "main", "article"))
_SCREEN_READER_ONLY: Final = re.compile(
    r"(?:^|[\s_-])(?:sr-only|screen-?reader(?:-text|-only)?|visually-?hidden|assistive-text|element-invisible"
    r"|offscreen|a11y-hidden)(?:$|\s)"
)
_SCREEN_READER_WORDS: Final = ("sr-only", "reader", "hidden", "assistive", "invisible", "offscreen")
_MARKED_HIDDEN: Final = frozenset(("hidden", "aria-hidden"))
_HIDING: Final = _MARKED_HIDDEN | {"style"}
_MAX_READER_CHARS: Final = 200  # a longer text is not meant for screen readers only
_ZERO_WIDTH: Final = re.compile(
    "[\\u00ad\\u200b\\u2060\\ufeff\\x00]+"
)  # soft hyphens and other zero-width characters


class Element:
    __slots__ = (
        "attributes",
        "begin",
        "blocks",
        "children",
        "end",
        "linked",
        "parent",
        "prose",
        "tag",
        "text",
    )

    def __init__(self, tag: str, attributes: dict[str, str | None], parent: "Element | None") -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element | str] = []
        self.parent = parent
        self.blocks = False  # it contains a block-level element
        self.text = 0  # characters of text inside, without surrounding white space
        self.linked = 0  # of these, inside links
        self.prose = 0.0  # its weight in the choice of the main content
        self.begin = self.end = 0  # which of the page's text blocks are inside

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    @property
    def hints(self) -> str:
        """Class and id, which hint at the purpose of the element."""
        found = self.attributes
        if "class" in found:
            return f"{found['class']} {found['id']}" if "id" in found else found["class"] or ""
        return found.get("id") or ""

    @property
    def elements(self) -> "list[Element]":
        return [child for child in self.children if not isinstance(child, str)]

    def walk(self) -> "Iterator[Element]":
        """Yield the element and all below it, in document order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            if element.children:
                waiting += [child for child in element.children[::-1] if not isinstance(child, str)]

    def find(self, *tags: str) -> "Element | None":
        return next((one for one in self.walk() if one.tag in tags and one is not self), None)

    def texts(self) -> Iterator[str]:
        waiting: list[Element | str] = [self]
        while waiting:
            child = waiting.pop()
            if isinstance(child, str):
                yield child
            else:
                waiting.extend(reversed(child.children))

    def plain(self) -> str:
        """Return its text on one line."""
        return " ".join("".join(self.texts()).split())

    def words_without(self, left_out: set[int]) -> str:
        """Return its text without that of some elements below, which are given by their ids."""
        pieces: list[str] = []
        waiting: list[Element | str] = [self]
        while waiting:
            child = waiting.pop()
            if isinstance(child, str):
                pieces.append(child)
            elif id(child) not in left_out:
                waiting.extend(reversed(child.children))
        return " ".join("".join(pieces).split())

    def above(self) -> "Iterator[Element]":
        parent = self.parent
        while parent is not None:
            yield parent
            parent = parent.parent

    def within(self, *tags: str) -> bool:
        return any(one.tag in tags for one in self.above())


class Tree(NamedTuple):
    body: Element
    order: list[Element]  # every element below the body, parents before children
    source: LexborHTMLParser  # for queries about the head
    cut: bool


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
        _Selection([node for selector in include for node in select(source, selector)]) if include else None
    )
    order, cut = _build(source.body, selection, _DROPPED)
    if unveil and "aria-controls" in safe.html:
        _show_panels(source, order)
    below = _measure(order, unveil=unveil)
    if unveil and order[0].text < MIN_HIDDEN_CHARS and _is_unscripted(source, order[0].text):
        order, cut = _build(source.body, selection, _DROPPED - {"noscript"})
        below = _measure(order, unveil=unveil)
    return Tree(order[0], below, source, cut or safe.cut)


def _is_unscripted(source: LexborHTMLParser, shown: int) -> bool:
    """Whether nearly all text is for visitors without scripts, often because a `noscript` is not closed."""
    text = sum(len(node.text(separator=" ")) for node in source.css("body noscript"))
    return text > MIN_HIDDEN_CHARS and shown < text // 4


def _show_panels(source: LexborHTMLParser, order: list[Element]) -> None:
    """Mark what a tab or a heading shows on a click as panels, which count as shown."""
    controlled = {node.attributes.get("aria-controls") for node in source.css(_CONTROLS)} - {None, ""}
    for element in order if controlled else ():
        if element.attributes.get("id") in controlled and element.tag not in (
            "nav",
            "dialog",
            "form",
            "menu",
        ):
            element.attributes = {**element.attributes, "role": "tabpanel"}


def release(tree: Tree) -> None:
    """Free a tree at once; otherwise its reference cycles wait for the garbage collector."""
    for element in tree.order:
        element.parent = None


class _Selection:
    """The elements that the caller selected, and their ancestors."""

    def __init__(self, nodes: list[LexborNode]) -> None:
        self.nodes = {node.mem_id for node in nodes}
        self.ancestors: set[int] = set()
        for node in nodes:
            above = node.parent
            while above is not None and above.mem_id not in self.ancestors:
                self.ancestors.add(above.mem_id)
                above = above.parent
        self.all = self.nodes | self.ancestors


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


def check_selector(selector: str) -> None:
    """Raise `INVALID_SELECTOR` for a selector that no browser accepts."""
    if not _BROWSER_ONLY.search(selector):
        select(LexborHTMLParser(""), selector)


def _build(
    source: LexborNode | None, selection: _Selection | None, dropped: frozenset[str]
) -> tuple[list[Element], bool]:
    """Return the body and the elements below it in document order, and whether something was left out."""
    body = Element("body", {} if source is None else source.attributes, None)
    order: list[Element] = []
    waiting: list[tuple[LexborNode | None, Element, int, bool, bool]] = (
        []
        if source is None
        else [(source, body, 1, False, selection is None or source.mem_id in selection.nodes)]
    )
    ignored = dropped - _MAY_BE_LEAVES
    cut = False
    while waiting:
        node, parent, depth, verbatim, kept = waiting.pop()
        order.append(parent)
        below: list[tuple[LexborNode | None, Element, int, bool, bool]] = []
        child = node.first_child if node is not None else None
        while child is not None:
            tag = child.tag or ""
            if tag == "-text":
                if kept:
                    _add_text(parent, child.text_content or "", verbatim)
            elif tag not in ignored and (kept or selection is None or child.mem_id in selection.all):
                inside = kept or (selection is not None and child.mem_id in selection.nodes)
                attributes = child.attributes
                leaf = _leaf_of(child, tag, attributes, parent) if tag in _MAY_BE_LEAVES else None
                if leaf is not None and inside:
                    parent.children.append(leaf)
                    below.append((None, leaf, depth + 1, verbatim, inside))
                elif leaf is not None or tag in dropped:
                    pass
                elif depth >= MAX_DEPTH or len(order) + len(waiting) + len(below) > MAX_ELEMENTS:
                    cut = True
                    if kept:
                        _add_text(parent, _flat_text(child), verbatim)
                else:
                    element = Element(tag, attributes, parent)
                    parent.children.append(element)
                    below.append((child, element, depth + 1, verbatim or tag in _PREFORMATTED, inside))
            child = child.next
        below.reverse()
        waiting += below
    return order or [body], cut


def _leaf_of(
    node: LexborNode, tag: str, attributes: dict[str, str | None], parent: Element
) -> Element | None:
    """Return an element for a formula, or for what is shown from elsewhere; nothing below it is kept."""
    if tag in _EMBEDDED:
        element = Element(tag, dict(attributes), parent)
        if not element.get("src") and (source := node.css_first("source[src]")) is not None:
            element.attributes["src"] = source.attributes.get("src")
        return element
    formula = formula_of(node, tag, attributes)
    if formula is None:
        return None
    element = Element("math", {"display": "block"} if formula.display else {}, parent)
    element.children += [formula.tex] if formula.tex else []
    return element


def _add_text(parent: Element, text: str, verbatim: bool) -> None:
    if verbatim:
        parent.children.append(text.replace("\r\n", "\n").replace("\r", "\n"))
        return
    if not text or text.isspace():
        if parent.children or parent.tag not in BLOCKS:
            parent.children.append(" ")
        return
    line = " ".join(text.split())
    if not line.isascii():
        line = _ZERO_WIDTH.sub("", line)
    parent.children.append(f"{' ' if text[0].isspace() else ''}{line}{' ' if text[-1].isspace() else ''}")


def _flat_text(node: LexborNode) -> str:
    pieces = [
        below.text_content or ""
        for below in node.traverse(include_text=True)
        if below.tag == "-text" and (below.parent is None or below.parent.tag not in _DROPPED)
    ]
    return f" {' '.join(pieces)} "


def _is_hidden(element: Element, *, strict: bool) -> bool:
    """Whether the page hides this element. With `strict`, doubtful elements count as hidden."""
    attributes = element.attributes
    hints = attributes.get("class")
    if not _HIDING.isdisjoint(attributes):
        style = attributes.get("style")
        styled_away = bool(style) and _is_styled_away(element, style or "", strict=strict)
        if (styled_away and "math" not in (hints or "")) or not _MARKED_HIDDEN.isdisjoint(attributes):
            return _is_really_hidden(element, styled_away=styled_away, strict=strict)
    if element.text >= _MAX_READER_CHARS:
        return strict and bool(hints) and _is_screen_reader_only(hints or "")
    return element.tag == "button" or (bool(hints) and _is_screen_reader_only(hints or ""))


def _is_styled_away(element: Element, style: str, *, strict: bool) -> bool:
    if style_hides(style, strict=strict):
        return True
    return style_shrinks(style) and not any(
        "class" in one.attributes or "style" in one.attributes for one in element.walk() if one is not element
    )


def _is_really_hidden(element: Element, *, styled_away: bool, strict: bool) -> bool:
    if not strict and (element.tag in _NEVER_HIDDEN or is_panel(element.hints, element.get("role"))):
        return False
    attributes = element.attributes
    if "hidden" in attributes:
        return attributes["hidden"] != "until-found"
    if "aria-hidden" in attributes and attributes["aria-hidden"] != "true":
        return styled_away
    return styled_away or element.tag not in ("img", "math")


@lru_cache(maxsize=4096)
def _is_screen_reader_only(hints: str) -> bool:
    named = hints.lower()
    return any(map(named.__contains__, _SCREEN_READER_WORDS)) and bool(_SCREEN_READER_ONLY.search(named))


def _measure(order: list[Element], *, unveil: bool) -> list[Element]:
    """Count the text below every element and remove hidden elements; return what is left below the body."""
    hidden: list[Element] = []
    before: list[tuple[Element, list[Element | str]]] = []  # the children of those that had hidden ones
    for element in reversed(order):
        if element.children and (found := _sum(element, strict=not unveil)):
            hidden += found
            before.append((element, element.children))
            removed = set(map(id, found))
            element.children = [child for child in element.children if id(child) not in removed]
    if not hidden:
        return order[1:]
    concealed = sum([element.text for element in hidden])
    if unveil and concealed > MIN_HIDDEN_CHARS and order[0].text < concealed // 4:
        for parent, children in before:
            parent.children = children
        for element in reversed(order):
            _sum(element, strict=None)
        return order[1:]
    gone = {below for element in hidden for below in element.walk()}
    for element in gone:
        element.parent = None  # no cycles are left to the garbage collector
    return [element for element in order[1:] if element not in gone]


def _sum(element: Element, *, strict: bool | None) -> list[Element]:
    """Sum up the children of an element that are not hidden, and return the others. Without `strict`, nothing
    is hidden."""
    text = linked = 0
    blocks = False
    hidden: list[Element] = []
    for child in element.children:
        if isinstance(child, str):
            if child != " ":
                text += len(child)
        elif (
            strict is not None
            and (child.attributes or child.tag == "button")
            and _is_hidden(child, strict=strict)
        ):
            hidden.append(child)
        else:
            text += child.text
            linked += child.linked
            blocks = blocks or child.blocks or child.tag in BLOCKS
    element.text, element.blocks = text, blocks
    element.linked = text if element.tag == "a" else linked
    return hidden
