"""Open Graph and the other meta elements of a page's head."""

from typing import Final

from selectolax.lexbor import LexborHTMLParser

from gossamer.web.structured.record import LONGEST, Leaf

MOST: Final = 500


def metas(tree: LexborHTMLParser) -> dict[str, list[Leaf]]:
    """By name in lower case, in the order of the page."""
    found: dict[str, list[Leaf]] = {}
    for node in tree.css("meta[content]")[:MOST]:
        attributes = node.attributes
        text = (attributes.get("content") or "").strip()[:LONGEST]
        for kind in ("property", "name", "http-equiv") if text else ():
            for name in (attributes.get(kind) or "").lower().split()[:4]:
                found.setdefault(name, []).append(Leaf(text, f'meta[{kind}="{name}"]'))
    return found


def form_of(name: str) -> str:
    """Which vocabulary a name belongs to."""
    prefix = name.partition(":")[0]
    known = ("og", "article", "product", "book", "profile", "video", "music", "place", "business", "event")
    return "open-graph" if ":" in name and prefix in known else "meta"
