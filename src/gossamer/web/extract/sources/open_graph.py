"""Open Graph and the other meta elements of a page's head."""

from typing import Final

from selectolax.lexbor import LexborHTMLParser

from gossamer.web.extract.record import MAX_VALUE_CHARS, Leaf

MAX_METAS: Final = 500


def metas(tree: LexborHTMLParser) -> dict[str, list[Leaf]]:
    """Return the meta elements by their name in lower case, in page order."""
    found: dict[str, list[Leaf]] = {}
    for node in tree.css("meta[content]")[:MAX_METAS]:
        attributes = node.attributes
        text = (attributes.get("content") or "").strip()[:MAX_VALUE_CHARS]
        for kind in ("property", "name", "http-equiv") if text else ():
            for name in (attributes.get(kind) or "").lower().split()[:4]:
                found.setdefault(name, []).append(Leaf(text, f'meta[{kind}="{name}"]'))
    return found


def form_of(name: str) -> str:
    """Return the vocabulary that a name belongs to."""
    prefix = name.partition(":")[0]
    known = ("og", "article", "product", "book", "profile", "video", "music", "place", "business", "event")
    return "open-graph" if ":" in name and prefix in known else "meta"
