"""Selectors: values that a caller points at by CSS, with `x-selector` in the schema.

`"h1"` is the text of the first match, `"a.more@href"` an attribute of it, `{"selector": "a", "attribute":
"href"}` the same in full. On a list every match is an item, and selectors inside an item or an object are
looked for inside it; `"@href"` and `""` then mean the element itself.
"""

import re
from typing import Any, Final

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.extract.record import MAX_VALUE_CHARS, Leaf
from gossamer.web.extract.selector_paths import SelectorPaths
from gossamer.web.extract.sources.microdata import value_of
from gossamer.web.html.links import Addresses
from gossamer.web.html.tree import select

MAX_SELECTOR_CHARS: Final = 500
MAX_MATCHES: Final = 1_000
_ATTRIBUTE: Final = re.compile(r"(.*)@([A-Za-z_][\w:.-]{0,60})", re.DOTALL)
_ADDRESSES: Final = frozenset({"href", "src", "action", "poster", "cite", "data-src"})


class Selector(Struct, frozen=True):
    css: str
    attribute: str = ""

    @classmethod
    def parse(cls, given: Any) -> "Selector":
        """Parse `x-selector`; raises `ValueError` with what was expected."""
        if isinstance(given, str):
            split = _ATTRIBUTE.fullmatch(given)
            given = {"selector": split[1], "attribute": split[2]} if split else {"selector": given}
        if not isinstance(given, dict) or not set(given) <= {"selector", "attribute"}:
            raise ValueError("`x-selector` is a text, or an object with `selector` and `attribute`")
        css, attribute = given.get("selector", ""), given.get("attribute", "")
        if not isinstance(css, str) or not isinstance(attribute, str):
            raise ValueError("`selector` and `attribute` are texts")
        if len(css) > MAX_SELECTOR_CHARS:
            raise ValueError(f"a selector has at most {MAX_SELECTOR_CHARS} characters")
        return cls(css.strip(), attribute)


class SelectorFinder:
    """Finds the elements of one page by selector."""

    def __init__(self, source: LexborHTMLParser, addresses: Addresses) -> None:
        self._source = source
        self._addresses = addresses
        self._paths = SelectorPaths()

    def nodes(self, selector: Selector, within: LexborNode | None) -> list[LexborNode]:
        if not selector.css:
            return [within] if within is not None else []
        return select(within if within is not None else self._source, selector.css)[:MAX_MATCHES]

    def value(self, node: LexborNode, selector: Selector, *, address: bool) -> Leaf | None:
        """Return the value of an element. If a URL is asked for, links and images give theirs."""
        if selector.attribute:
            return self._attribute(node, selector.attribute)
        if address:
            for name in ("href", "src", "content"):
                found = self._attribute(node, name)
                if found is not None:
                    return found
        if node.tag in ("meta", "time", "data", "meter", "img"):
            return value_of(node, self._addresses, self._paths)
        text = " ".join((node.text() or "").split())
        return Leaf(text[:MAX_VALUE_CHARS], self._paths.of(node)) if text else None

    def place(self, node: LexborNode) -> str:
        return self._paths.of(node)

    def _attribute(self, node: LexborNode, name: str) -> Leaf | None:
        text = (node.attributes.get(name) or "").strip()
        if not text:
            return None
        absolute = self._addresses.absolute(text) if name in _ADDRESSES else ""
        return Leaf((absolute or text)[:MAX_VALUE_CHARS], f"{self._paths.of(node)}@{name}")
