"""The page as a tree of plain elements: built once from the parser's, then read by all that follows.

Text is kept as a browser would show it, white space collapsed outside preformatted parts. Scripts, styles,
embedded things and hidden elements are not in the tree. Nothing in it is deeper than `DEEPEST`, so what walks
it may recurse; elements below that leave only their text.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from gossamer.problems import INVALID_SELECTOR, Problem
from gossamer.web.sanitise import bounded
from gossamer.web.unseen import style_hides, style_shrinks
from gossamer.web.vocabulary import tags

DEEPEST: Final = 120
MOST: Final = 200_000  # elements; of what follows only the text is kept
HIDDEN_PAGE: Final = 1_000  # characters that are hidden where next to none are shown: a page not yet unveiled

BLOCKS: Final = tags(
    "address article aside blockquote body center dd details dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav noscript ol optgroup p "
    "pre section summary table caption thead tbody tfoot tr td th ul search listing xmp"
)
_DROPPED: Final = tags(
    "script style template svg canvas object embed iframe audio video map head title link meta base select "
    "textarea datalist dialog noscript -comment -doctype -cdata-section"
)
_PREFORMATTED: Final = frozenset(("pre", "listing", "xmp"))
_NEVER_HIDDEN: Final = frozenset(("html", "body", "main", "article"))
_FOR_READERS: Final = re.compile(
    r"(?:^|[\s_-])(?:sr-only|screen-?reader(?:-text|-only)?|visually-?hidden|assistive-text|element-invisible"
    r"|offscreen|a11y-hidden)(?:$|\s)",
    re.I,
)
_LONG_FOR_READERS: Final = 200  # characters; nobody hides so much from the eye alone
_UNSEEN: Final = re.compile(
    "[\\u00ad\\u200b\\u2060\\ufeff\\x00]+"
)  # soft hyphens and other marks of no width


class Element:
    __slots__ = ("attributes", "blocks", "children", "linked", "parent", "prose", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str | None], parent: "Element | None") -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element | str] = []
        self.parent = parent
        self.blocks = False  # some block-level element is inside
        self.text = 0  # characters of text inside, without the white space around each piece
        self.linked = 0  # of these, inside links
        self.prose = 0.0  # what the choice of the main content makes of it

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    @property
    def hints(self) -> str:
        """Class and id, which say what their author took the element for."""
        found = self.attributes
        if "class" in found:
            return f"{found['class']} {found['id']}" if "id" in found else found["class"] or ""
        return found.get("id") or ""

    @property
    def elements(self) -> "list[Element]":
        return [child for child in self.children if not isinstance(child, str)]

    def walk(self) -> "Iterator[Element]":
        """The element and all below it, in document order."""
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
        """Its text on one line."""
        return " ".join("".join(self.texts()).split())

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
    source: LexborHTMLParser  # for what is asked of the head
    cut: bool


def parse(
    html: str, *, include: Sequence[str] = (), exclude: Sequence[str] = (), unveil: bool = True
) -> Tree:
    """The body as a tree; with `include` only what these selectors match, and never what `exclude` does.

    A page that hides itself until a script has run is shown nevertheless, if it may be unveiled.
    """
    safe = bounded(html)
    source = LexborHTMLParser(safe.html.encode("utf-8", "replace"))
    for selector in exclude:
        for node in select(source, selector):
            if node.tag not in ("html", "body"):
                node.decompose()
    wanted = _Wanted([node for selector in include for node in select(source, selector)]) if include else None
    order, cut = _build(source.body, wanted)
    return Tree(order[0], _measured(order, unveil=unveil), source, cut or safe.cut)


def release(tree: Tree) -> None:
    """Let go of a tree at once: parents and children hold each other until the collector looks."""
    for element in tree.order:
        element.parent = None


class _Wanted:
    """The elements that were asked for, and those on the way to them."""

    def __init__(self, nodes: list[LexborNode]) -> None:
        self.nodes = {node.mem_id for node in nodes}
        self.ways: set[int] = set()
        for node in nodes:
            above = node.parent
            while above is not None and above.mem_id not in self.ways:
                self.ways.add(above.mem_id)
                above = above.parent
        self.all = self.nodes | self.ways


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


def _build(source: LexborNode | None, wanted: _Wanted | None) -> tuple[list[Element], bool]:
    """The body and the elements below it in document order, and whether something had to be left out."""
    body = Element("body", {} if source is None else source.attributes, None)
    order: list[Element] = []
    waiting = (
        [] if source is None else [(source, body, 1, False, wanted is None or source.mem_id in wanted.nodes)]
    )
    cut = False
    while waiting:
        node, parent, depth, verbatim, kept = waiting.pop()
        order.append(parent)
        first = len(waiting)
        child = node.first_child
        while child is not None:
            tag = child.tag or ""
            if tag == "-text":
                if kept:
                    _add_text(parent, child.text_content or "", verbatim)
            elif _is_dropped(child, tag) or not (kept or wanted is None or child.mem_id in wanted.all):
                pass
            elif depth >= DEEPEST or len(order) + len(waiting) > MOST:
                cut = True
                if kept:
                    _add_text(parent, _flat_text(child), verbatim)
            else:
                element = Element(tag, child.attributes, parent)
                parent.children.append(element)
                inside = kept or (wanted is not None and child.mem_id in wanted.nodes)
                if tag == "math":
                    element.children += [_formula(child)] if inside else []
                    order.append(element)
                    child = child.next
                    continue
                waiting.append((child, element, depth + 1, verbatim or tag in _PREFORMATTED, inside))
            child = child.next
        waiting[first:] = waiting[first:][::-1]
    return order or [body], cut


def _add_text(parent: Element, text: str, verbatim: bool) -> None:
    if verbatim:
        parent.children.append(text.replace("\r\n", "\n").replace("\r", "\n"))
        return
    words = text.split()
    if not words:
        if parent.children or parent.tag not in BLOCKS:
            parent.children.append(" ")
        return
    line = " ".join(words)
    if not line.isascii():
        line = _UNSEEN.sub("", line)
    parent.children.append(f"{' ' if text[0].isspace() else ''}{line}{' ' if text[-1].isspace() else ''}")


def _flat_text(node: LexborNode) -> str:
    pieces = [
        below.text_content or ""
        for below in node.traverse(include_text=True)
        if below.tag == "-text" and (below.parent is None or below.parent.tag not in _DROPPED)
    ]
    return f" {' '.join(pieces)} "


def _formula(math: LexborNode) -> str:
    """TeX where the author left it, else the symbols one after the other."""
    for annotation in math.css("annotation"):
        if "tex" in (annotation.attributes.get("encoding") or "").lower():
            return " ".join(annotation.text().split())
    return " ".join(
        "".join(node.text_content or "" for node in math.traverse(True) if node.tag == "-text").split()
    )


def _is_dropped(node: LexborNode, tag: str) -> bool:
    return tag in _DROPPED and not (tag == "script" and _is_formula(node))


def _is_formula(script: LexborNode) -> bool:
    return (script.attributes.get("type") or "").startswith("math/tex")


def _is_hidden(element: Element, *, strict: bool) -> bool:
    """Whether the page itself says that this is not to be seen; who is strict gives the doubt no benefit."""
    attributes = element.attributes
    hints, style = attributes.get("class"), attributes.get("style")
    unseen = bool(style) and _is_unseen(element, style or "", strict=strict)
    if (unseen and "math" not in (hints or "")) or "hidden" in attributes or "aria-hidden" in attributes:
        return _really_hidden(element, unseen=unseen, strict=strict)
    short = element.text < _LONG_FOR_READERS
    return (short and element.tag == "button") or (
        (short or strict) and bool(hints) and _is_for_readers(hints or "")
    )


def _is_unseen(element: Element, style: str, *, strict: bool) -> bool:
    if style_hides(style, strict=strict):
        return True
    return style_shrinks(style) and not any(
        "class" in one.attributes or "style" in one.attributes for one in element.walk() if one is not element
    )


def _really_hidden(element: Element, *, unseen: bool, strict: bool) -> bool:
    if element.tag in _NEVER_HIDDEN and not strict:
        return False
    attributes = element.attributes
    if "hidden" in attributes:
        return attributes["hidden"] != "until-found"
    if "aria-hidden" in attributes and attributes["aria-hidden"] != "true":
        return unseen
    return unseen or element.tag not in ("img", "math")


@lru_cache(maxsize=4096)
def _is_for_readers(hints: str) -> bool:
    return bool(_FOR_READERS.search(hints))


def _measured(order: list[Element], *, unveil: bool) -> list[Element]:
    """Count the text below every element and take the hidden ones out; what is left below the body."""
    before: list[tuple[Element, list[Element | str]]] = []
    concealed = 0
    for element in reversed(order):
        concealed += _sum(element, before, strict=not unveil)
    if not before:
        return order[1:]
    if unveil and concealed > HIDDEN_PAGE and order[0].text < concealed // 4:
        for parent, children in before:
            parent.children = children
        for element in reversed(order):
            _sum(element, None)
        return order[1:]
    return list(order[0].walk())[1:]


def _sum(
    element: Element, before: list[tuple[Element, list[Element | str]]] | None, *, strict: bool = False
) -> int:
    """Sum up the children, which have been summed up; the hidden ones are taken out, their text is told."""
    text = linked = concealed = 0
    blocks = False
    hidden: set[int] = set()
    for child in element.children:
        if isinstance(child, str):
            if child != " ":
                text += len(child)
        elif (
            before is not None
            and (child.attributes or child.tag == "button")
            and _is_hidden(child, strict=strict)
        ):
            hidden.add(id(child))
            concealed += child.text
        else:
            text += child.text
            linked += child.linked
            blocks = blocks or child.blocks or child.tag in BLOCKS
    element.text, element.blocks = text, blocks
    element.linked = text if element.tag == "a" else linked
    if before is not None and hidden:
        before.append((element, element.children))
        element.children = [child for child in element.children if id(child) not in hidden]
    return concealed
