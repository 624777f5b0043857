"""Selectors: what a caller points at by CSS, with `x-selector` in his schema.

`"h1"` is the text of the first match, `"a.more@href"` an attribute of it, `{"selector": "a", "attribute":
"href"}` the same in full. On a list every match is an item, and selectors inside an item or an object are
looked for inside it; `"@href"` and `""` then mean the element itself.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.links import Addresses
from gossamer.web.structured.microdata import value_of
from gossamer.web.structured.place import Places
from gossamer.web.structured.record import LONGEST, Leaf
from gossamer.web.tree import select

LONGEST_CSS: Final = 500
MOST: Final = 1_000  # matches
_ATTRIBUTE: Final = re.compile(r"(.*)@([A-Za-z_][\w:.-]{0,60})", re.DOTALL)
_ADDRESSES: Final = frozenset({"href", "src", "action", "poster", "cite", "data-src"})


@dataclass(frozen=True, slots=True)
class Selector:
    css: str
    attribute: str = ""

    @classmethod
    def parse(cls, given: Any) -> "Selector":
        """Raises `ValueError` that says what was expected."""
        if isinstance(given, str):
            split = _ATTRIBUTE.fullmatch(given)
            given = {"selector": split[1], "attribute": split[2]} if split else {"selector": given}
        if not isinstance(given, dict) or not set(given) <= {"selector", "attribute"}:
            raise ValueError("`x-selector` is a text, or an object with `selector` and `attribute`")
        css, attribute = given.get("selector", ""), given.get("attribute", "")
        if not isinstance(css, str) or not isinstance(attribute, str):
            raise ValueError("`selector` and `attribute` are texts")
        if len(css) > LONGEST_CSS:
            raise ValueError(f"a selector has at most {LONGEST_CSS} characters")
        return cls(css.strip(), attribute)


class Finder:
    """Finds by selectors in one page."""

    def __init__(self, source: LexborHTMLParser, addresses: Addresses) -> None:
        self._source = source
        self._addresses = addresses
        self._places = Places()

    def nodes(self, selector: Selector, within: LexborNode | None) -> list[LexborNode]:
        if not selector.css:
            return [within] if within is not None else []
        return select(within if within is not None else self._source, selector.css)[:MOST]

    def value(self, node: LexborNode, selector: Selector, *, address: bool) -> Leaf | None:
        """What is meant of the element; of a link or a picture that is to be an address, that."""
        if selector.attribute:
            return self._attribute(node, selector.attribute)
        if address:
            for name in ("href", "src", "content"):
                found = self._attribute(node, name)
                if found is not None:
                    return found
        if node.tag in ("meta", "time", "data", "meter", "img"):
            return value_of(node, self._addresses, self._places)
        text = " ".join((node.text() or "").split())
        return Leaf(text[:LONGEST], self._places.of(node)) if text else None

    def place(self, node: LexborNode) -> str:
        return self._places.of(node)

    def _attribute(self, node: LexborNode, name: str) -> Leaf | None:
        text = (node.attributes.get(name) or "").strip()
        if not text:
            return None
        absolute = self._addresses.absolute(text) if name in _ADDRESSES else ""
        return Leaf((absolute or text)[:LONGEST], f"{self._places.of(node)}@{name}")
