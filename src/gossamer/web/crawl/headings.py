"""Marks where the headings of a page begin, and finds the ids that links to them can use."""

from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.search.passages import MARK, MAX_HEADING_CHARS, MAX_HEADINGS, PERMALINKS, MarkedHeading

_HEADINGS: Final = "h1,h2,h3,h4,h5,h6"
_UNSEEN: Final = frozenset(("script", "style", "noscript", "template", "svg"))
_HIGHEST: Final = 4  # elements around a heading whose id may stand for it


def mark_headings(source: LexborHTMLParser) -> list[MarkedHeading]:
    """Put a mark before each heading of the tree, and return the headings."""
    body = source.body
    marked: list[MarkedHeading] = []
    taken: set[str] = set()  # ids that an earlier heading has
    for node in body.css(_HEADINGS)[:MAX_HEADINGS] if body is not None else ():
        text = " ".join(node.text(separator=" ").split()).rstrip(PERMALINKS)
        if not text or len(text) > MAX_HEADING_CHARS or _is_unseen(node):
            continue
        anchor = _anchor_of(node, taken)
        taken.add(anchor)
        node.insert_before(MARK)
        marked.append(MarkedHeading(text, int((node.tag or "h6")[1:]), anchor))
    return marked


def _anchor_of(heading: LexborNode, taken: set[str]) -> str:
    """Its own id, that of an element in it, or that of the section that it opens."""
    if own := heading.attributes.get("id"):
        return own
    inner = heading.css_first("[id],a[name]")
    if inner is not None and (found := inner.attributes.get("id") or inner.attributes.get("name")):
        return found
    around = heading.parent
    for _ in range(_HIGHEST):
        if around is None or around.tag in ("body", "main"):
            break
        if (found := around.attributes.get("id")) and found not in taken:
            return found
        around = around.parent
    return ""


def _is_unseen(node: LexborNode) -> bool:
    """Whether it will be removed with an element around it."""
    around = node.parent
    while around is not None:
        if around.tag in _UNSEEN:
            return True
        around = around.parent
    return False
