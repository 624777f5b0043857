"""The content as HTML again: only what it says, nothing that runs, loads or styles."""

from html import escape
from typing import Final

from gossamer.web.images import image_of
from gossamer.web.links import Addresses
from gossamer.web.tree import Element
from gossamer.web.vocabulary import tags

_KEPT: Final = tags(
    "h1 h2 h3 h4 h5 h6 p a b strong i em u s del ins mark small sub sup code pre kbd samp var blockquote "
    "q cite ul ol li dl dt dd table caption thead tbody tfoot tr td th figure figcaption img br hr abbr "
    "time details summary article section main div dfn bdi bdo ruby rt rp wbr"
)
_VOID: Final = frozenset(("br", "hr", "img", "wbr"))
_ATTRIBUTES: Final = tags(
    "title alt colspan rowspan headers scope start value reversed datetime lang dir cite open id"
)


def to_html(roots: list[Element], addresses: Addresses, left_out: set[int]) -> str:
    pieces: list[str] = []
    for root in roots:
        waiting: list[Element | str | None] = [root]
        ends: list[str] = []
        while waiting:
            node = waiting.pop()
            if node is None:
                pieces.append(ends.pop())
            elif isinstance(node, str):
                pieces.append(escape(node, quote=False))
            elif id(node) not in left_out:
                begin, end = _tags(node, addresses)
                pieces.append(begin)
                if end or node.tag not in _VOID:
                    ends.append(end)
                    waiting.append(None)
                    waiting.extend(reversed(node.children))
    return "".join(pieces).strip()


def _tags(element: Element, addresses: Addresses) -> tuple[str, str]:
    tag = element.tag
    if tag == "math":
        return "<code>", "</code>"
    if tag not in _KEPT:
        return "", ""
    written = "".join(f' {name}="{escape(text)}"' for name, text in _attributes(element, addresses))
    if tag == "img" and " src=" not in written:
        return "", ""
    return f"<{tag}{written}>", "" if tag in _VOID else f"</{tag}>"


def _attributes(element: Element, addresses: Addresses) -> list[tuple[str, str]]:
    found = [(name, text or "") for name, text in element.attributes.items() if name in _ATTRIBUTES]
    if element.tag == "a" and (url := addresses.absolute(element.get("href"))):
        found.insert(0, ("href", url))
    elif element.tag == "img" and (image := image_of(element, addresses)):
        found.insert(0, ("src", image.url))
    elif element.tag == "code" and element.get("class").startswith("language-"):
        found.append(("class", element.get("class").split()[0]))
    return found
