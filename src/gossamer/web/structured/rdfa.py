"""RDFa Lite (`vocab`, `typeof`, `property`, `resource`) as records.

Prefixes are taken off names without being looked up: `schema:name` and `name` are one property here.
"""

from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.links import Addresses
from gossamer.web.structured.microdata import value_of
from gossamer.web.structured.place import Places
from gossamer.web.structured.record import LONGEST, MOST, Leaf, Record, kinds_of

_HEAD: Final = frozenset({"meta", "head", "html", "link"})


def records(tree: LexborHTMLParser, addresses: Addresses) -> list[Record]:
    """Every typed thing, outer before inner; properties of the page itself are those of its head's metas."""
    places = Places()
    typed = [node for node in tree.css("[typeof]")[:MOST] if node.attributes.get("typeof")]
    found = {node.mem_id: _record(node, places) for node in typed}
    if not found:
        return []
    for node in tree.css("[property]")[: MOST * 10]:
        owner = _owner(node, found)
        if owner is None or (node.tag == "meta" and owner.path in _HEAD):
            continue
        value = found.get(node.mem_id) or _value(node, addresses, places)
        for name in (node.attributes.get("property") or "").split()[:10]:
            owner.add(name, value)
    return list(found.values())


def _record(node: LexborNode, places: Places) -> Record:
    attributes = node.attributes
    record = Record(
        kinds_of((attributes.get("typeof") or "").split()),
        "rdfa",
        places.of(node),
        depth=1 if "property" in attributes else 0,
    )
    for name in ("resource", "about"):
        if attributes.get(name):
            record.add("@id", Leaf((attributes[name] or "")[:LONGEST], f"{record.path}@{name}"))
    return record


def _owner(node: LexborNode, found: dict[int, Record]) -> Record | None:
    above = node.parent
    while above is not None:
        if above.mem_id in found:
            return found[above.mem_id]
        above = above.parent
    return None


def _value(node: LexborNode, addresses: Addresses, places: Places) -> Leaf:
    """As in microdata, but `resource` and `href` count on every element."""
    attributes = node.attributes
    for name in ("content", "datetime", "href", "src", "resource"):
        text = (attributes.get(name) or "").strip()
        if text:
            absolute = addresses.absolute(text) if name in ("href", "src", "resource") else ""
            return Leaf((absolute or text)[:LONGEST], f"{places.of(node)}@{name}")
    return value_of(node, addresses, places)
