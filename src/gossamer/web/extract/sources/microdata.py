"""Microdata (HTML's `itemscope` and `itemprop`) as records, with the mistakes in it."""

from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.extract.record import MAX_RECORDS, MAX_VALUE_CHARS, Leaf, Record, kinds_of
from gossamer.web.extract.selector_paths import SelectorPaths
from gossamer.web.html.links import Addresses

# The attribute that holds the value of an element; the value of other elements is their text.
_ATTRIBUTES: Final = {
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("data", "meter"), "value"),
    "meta": "content",
    "object": "data",
    "time": "datetime",
}
_ADDRESSES: Final = frozenset({"src", "href", "data"})


class Microdata(NamedTuple):
    records: list[Record]  # of every item, outer before inner
    errors: list[str]


def read(tree: LexborHTMLParser, addresses: Addresses) -> Microdata:
    scopes = tree.css("[itemscope]")[:MAX_RECORDS]
    paths = SelectorPaths()
    records = {scope.mem_id: _record(scope, paths) for scope in scopes}
    referrers = _referrers(scopes, records)
    errors: list[str] = []
    for node in tree.css("[itemprop]")[: MAX_RECORDS * 10]:
        names = (node.attributes.get("itemprop") or "").split()
        owners, within = _owners(node, records, referrers)
        value = records.get(node.mem_id) or value_of(node, addresses, paths)
        for owner in owners:
            for name in names[:10]:
                owner.add(name, value)
        if names and not owners and not within and len(scopes) < MAX_RECORDS:
            errors.append(f"itemprop={names[0][:60]} is in no itemscope")
    for scope in scopes:
        kinds = (scope.attributes.get("itemtype") or "").split()
        errors += [f"itemtype={kind[:80]} is no absolute address" for kind in kinds if "://" not in kind]
    return Microdata(list(records.values()), errors)


def _record(scope: LexborNode, paths: SelectorPaths) -> Record:
    attributes = scope.attributes
    record = Record(
        kinds_of((attributes.get("itemtype") or "").split()),
        "microdata",
        paths.of(scope),
        depth=1 if "itemprop" in attributes else 0,
    )
    if attributes.get("itemid"):
        record.add("@id", Leaf((attributes["itemid"] or "")[:MAX_VALUE_CHARS], f"{record.path}@itemid"))
    return record


def _referrers(scopes: list[LexborNode], records: dict[int, Record]) -> dict[str, list[Record]]:
    """Map the id of an element to the records that include it by `itemref`."""
    found: dict[str, list[Record]] = {}
    for scope in scopes:
        for name in (scope.attributes.get("itemref") or "").split()[:MAX_RECORDS]:
            found.setdefault(name, []).append(records[scope.mem_id])
    return found


def _owners(
    node: LexborNode, records: dict[int, Record], referrers: dict[str, list[Record]]
) -> tuple[list[Record], bool]:
    """Return the items that own a property, and whether it is inside an item or referred to by one."""
    found: list[Record] = []
    above: LexborNode | None = node
    own = records.get(node.mem_id)
    within = False
    while above is not None:
        name = (above.attributes.get("id") or "") if referrers else ""
        if name in referrers:
            within = True
            found += [one for one in referrers[name] if one is not own]
        above = above.parent
        if above is not None and above.mem_id in records:
            return [*found, records[above.mem_id]], True
    return found, within


def value_of(node: LexborNode, addresses: Addresses, paths: SelectorPaths) -> Leaf:
    """Return the machine-readable value of an element; like search engines, accept `content` on any."""
    attributes = node.attributes
    path = paths.of(node)
    for name in ("content", _ATTRIBUTES.get(node.tag or "", "")):
        text = (attributes.get(name) or "").strip()
        if name and text:
            absolute = addresses.absolute(text) if name in _ADDRESSES else ""
            return Leaf((absolute or text)[:MAX_VALUE_CHARS], f"{path}@{name}")
    return Leaf(" ".join((node.text() or "").split())[:MAX_VALUE_CHARS], path)
