"""RDFa Lite (`vocab`, `typeof`, `property`, `resource`) as records.

Prefixes are taken off names without being looked up: `schema:name` and `name` are one property here.
"""

from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.extract.record import MAX_RECORDS, MAX_VALUE_CHARS, Leaf, Record, kinds_of
from gossamer.web.extract.selector_paths import SelectorPaths
from gossamer.web.extract.sources.microdata import value_of
from gossamer.web.html.links import Addresses

_HEAD: Final = frozenset({"meta", "head", "html", "link"})


def records(tree: LexborHTMLParser, addresses: Addresses) -> list[Record]:
    """Return every typed record, outer before inner; properties in the head belong to the page."""
    paths = SelectorPaths()
    typed = [node for node in tree.css("[typeof]")[:MAX_RECORDS] if node.attributes.get("typeof")]
    found = {node.mem_id: _record(node, paths) for node in typed}
    if not found:
        return []
    for node in tree.css("[property]")[: MAX_RECORDS * 10]:
        owner = _owner(node, found)
        if owner is None or (node.tag == "meta" and owner.path in _HEAD):
            continue
        value = found.get(node.mem_id) or _value(node, addresses, paths)
        for name in (node.attributes.get("property") or "").split()[:10]:
            owner.add(name, value)
    return list(found.values())


def _record(node: LexborNode, paths: SelectorPaths) -> Record:
    attributes = node.attributes
    record = Record(
        kinds_of((attributes.get("typeof") or "").split()),
        "rdfa",
        paths.of(node),
        depth=1 if "property" in attributes else 0,
    )
    for name in ("resource", "about"):
        if attributes.get(name):
            record.add("@id", Leaf((attributes[name] or "")[:MAX_VALUE_CHARS], f"{record.path}@{name}"))
    return record


def _owner(node: LexborNode, found: dict[int, Record]) -> Record | None:
    above = node.parent
    while above is not None:
        if above.mem_id in found:
            return found[above.mem_id]
        above = above.parent
    return None


def _value(node: LexborNode, addresses: Addresses, paths: SelectorPaths) -> Leaf:
    """Return a value as in microdata, but accept `resource` and `href` on every element."""
    attributes = node.attributes
    for name in ("content", "datetime", "href", "src", "resource"):
        text = (attributes.get(name) or "").strip()
        if text:
            absolute = addresses.absolute(text) if name in ("href", "src", "resource") else ""
            return Leaf((absolute or text)[:MAX_VALUE_CHARS], f"{paths.of(node)}@{name}")
    return value_of(node, addresses, paths)
