"""Builds the tree of a page from the parser's tree, in one pass.

When an element ends, all that is inside it is known: its text is counted, and what is hidden is left out.
"""

import re
from functools import lru_cache
from typing import Final

from selectolax.lexbor import LexborNode

from gossamer.web.html.elements.element import BLOCKS, Element
from gossamer.web.html.elements.visibility import is_panel, style_hides, style_shrinks
from gossamer.web.html.formulas.formulas import FORMULA_TAGS, formula_of
from gossamer.web.html.vocabulary import tags

MAX_DEPTH: Final = 120
MAX_ELEMENTS: Final = 200_000  # later elements leave only their text

DROPPED: Final = tags(
    "script style template svg canvas object embed iframe audio video map head title link meta base select "
    "textarea datalist dialog noscript -comment -doctype -cdata-section"
)
_EMBEDDED: Final = frozenset(("iframe", "video", "audio"))
_MAY_BE_LEAVES: Final = _EMBEDDED | FORMULA_TAGS
_PREFORMATTED: Final = frozenset(("pre", "listing", "xmp"))
_NO_PANELS: Final = frozenset(("nav", "dialog", "form", "menu"))
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


class Selection:
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


class TreeBuilder:
    def __init__(
        self,
        selection: Selection | None = None,
        *,
        dropped: frozenset[str] = DROPPED,
        panels: frozenset[str] = frozenset(),
        strict: bool | None = False,
    ) -> None:
        """With `strict`, what may be hidden counts as hidden; with None, nothing does. `panels` are the ids
        of elements that a click shows."""
        self.order: list[Element] = []  # the body and all below it, parents before children
        self.concealed = 0  # characters of hidden text
        self.cut = False
        self._built = 0
        self._selection = selection
        self._dropped = dropped
        self._ignored = dropped - _MAY_BE_LEAVES
        self._panels = panels
        self._strict = strict

    def build(self, source: LexborNode | None) -> Element:
        """Return the body."""
        body = Element("body", {} if source is None else source.attributes, None)
        self.order.append(body)
        if source is not None:
            selection = self._selection
            self._fill(body, source, 1, False, selection is None or source.mem_id in selection.nodes)
        return body

    def _fill(self, element: Element, node: LexborNode, depth: int, verbatim: bool, kept: bool) -> None:
        """Add what is inside an element, and count its text."""
        order, ignored, strict, children = self.order, self._ignored, self._strict, element.children
        text = linked = 0
        blocks = False
        begun = element.tag not in BLOCKS  # a block does not show the white space that it begins with
        child = node.first_child
        while child is not None:
            if child.is_empty_text_node and not verbatim:  # as most texts, which only indent the markup
                if begun and kept:
                    children.append(" ")
                child = child.next
                continue
            tag = child.tag or ""
            found: Element | str | None = None
            if tag == "-text":
                found = child.text_content if kept else None
            elif tag not in ignored:
                start = len(order)
                found = self._element(child, tag, element, depth, verbatim, kept)
            if found is None:
                pass
            elif isinstance(found, str):
                if piece := _verbatim(found) if verbatim else _collapse(found, begun):
                    children.append(piece)
                    text += len(piece) if piece != " " else 0
                    begun = True
            else:
                begun = True
                if (
                    strict is not None
                    and (found.attributes or tag == "button")
                    and _is_hidden(found, strict=strict)
                ):
                    self._conceal(found, start)
                else:
                    children.append(found)
                    text += found.text
                    linked += found.linked
                    blocks = blocks or found.blocks or found.tag in BLOCKS
            child = child.next
        element.text, element.blocks = text, blocks
        element.linked = text if element.tag == "a" else linked

    def _element(
        self, node: LexborNode, tag: str, parent: Element, depth: int, verbatim: bool, kept: bool
    ) -> Element | str | None:
        """Return an element with all that is inside it, or only its text where the tree is full."""
        selection = self._selection
        if selection is not None and not kept:
            if node.mem_id not in selection.all:
                return None
            inside = node.mem_id in selection.nodes
        else:
            inside = True
        attributes = node.attributes
        if self._panels and attributes.get("id") in self._panels and tag not in _NO_PANELS:
            attributes["role"] = "tabpanel"
        if tag in _MAY_BE_LEAVES and (leaf := _leaf_of(node, tag, attributes, parent)) is not None:
            self.order += [leaf] if inside else []
            return leaf if inside else None
        if tag in self._dropped:
            return None
        if depth >= MAX_DEPTH or self._built >= MAX_ELEMENTS:
            self.cut = True
            return _flat_text(node) if kept else None
        element = Element(tag, attributes, parent)
        self._built += 1
        self.order.append(element)
        self._fill(element, node, depth + 1, verbatim or tag in _PREFORMATTED, inside)
        return element

    def _conceal(self, element: Element, start: int) -> None:
        """Leave out a hidden element, which is the last one that was built."""
        self.concealed += element.text
        for one in self.order[start:]:
            one.parent = None  # no cycles are left to the garbage collector
        del self.order[start:]


def _leaf_of(
    node: LexborNode, tag: str, attributes: dict[str, str | None], parent: Element
) -> Element | None:
    """Return an element for a formula, or for what is shown from elsewhere; nothing below it is kept."""
    if tag in _EMBEDDED:
        element = Element(tag, attributes, parent)
        if not element.get("src") and (source := node.css_first("source[src]")) is not None:
            attributes["src"] = source.attributes.get("src")
        return element
    formula = formula_of(node, tag, attributes)
    if formula is None:
        return None
    element = Element("math", {"display": "block"} if formula.display else {}, parent)
    if formula.tex:
        element.children.append(formula.tex)
        element.text = len(formula.tex)
    return element


def _verbatim(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _collapse(text: str, begun: bool) -> str:
    """Return a text as a browser shows it; white space alone is shown only after something else."""
    if not text or text.isspace():
        return " " if begun else ""
    if text.isprintable() and "  " not in text:  # of white space, only the space is printable
        return text
    line = " ".join(text.split())
    if not line.isascii():
        line = _ZERO_WIDTH.sub("", line)
    return f"{' ' if text[0].isspace() else ''}{line}{' ' if text[-1].isspace() else ''}"


def _flat_text(node: LexborNode) -> str:
    pieces = [
        below.text_content or ""
        for below in node.traverse(include_text=True)
        if below.tag == "-text" and (below.parent is None or below.parent.tag not in DROPPED)
    ]
    return f" {' '.join(pieces)} "


def _is_hidden(element: Element, *, strict: bool) -> bool:
    """Whether the page hides this element. With `strict`, doubtful elements count as hidden."""
    attributes = element.attributes
    if not _HIDING.isdisjoint(attributes):
        style = attributes.get("style") or ""
        styled_away = style != "" and _is_styled_away(element, style, strict=strict)
        if (styled_away and "math" not in element.get("class")) or not _MARKED_HIDDEN.isdisjoint(attributes):
            return _is_really_hidden(element, styled_away=styled_away, strict=strict)
    if element.text < _MAX_READER_CHARS:
        if element.tag == "button":
            return True
    elif not strict:
        return False
    named = attributes.get("class")
    return bool(named) and _is_screen_reader_only(named)


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
