"""Microdata (HTML's `itemscope` and `itemprop`) as records, and what is put together wrongly in it."""

from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.links import Addresses
from gossamer.web.structured.place import Places
from gossamer.web.structured.record import LONGEST, MOST, Leaf, Record, kinds_of

# Which attribute of which element is its value; all others have their text.
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
    scopes = tree.css("[itemscope]")[:MOST]
    places = Places()
    records = {scope.mem_id: _record(scope, places) for scope in scopes}
    referrers = _referrers(scopes, records)
    errors: list[str] = []
    for node in tree.css("[itemprop]")[: MOST * 10]:
        names = (node.attributes.get("itemprop") or "").split()
        owners, within = _owners(node, records, referrers)
        value = records.get(node.mem_id) or value_of(node, addresses, places)
        for owner in owners:
            for name in names[:10]:
                owner.add(name, value)
        if names and not owners and not within and len(scopes) < MOST:
            errors.append(f"itemprop={names[0][:60]} is in no itemscope")
    for scope in scopes:
        kinds = (scope.attributes.get("itemtype") or "").split()
        errors += [f"itemtype={kind[:80]} is no absolute address" for kind in kinds if "://" not in kind]
    return Microdata(list(records.values()), errors)


def _record(scope: LexborNode, places: Places) -> Record:
    attributes = scope.attributes
    record = Record(
        kinds_of((attributes.get("itemtype") or "").split()),
        "microdata",
        places.of(scope),
        depth=1 if "itemprop" in attributes else 0,
    )
    if attributes.get("itemid"):
        record.add("@id", Leaf((attributes["itemid"] or "")[:LONGEST], f"{record.path}@itemid"))
    return record


def _referrers(scopes: list[LexborNode], records: dict[int, Record]) -> dict[str, list[Record]]:
    """By the id of the element that they count as their own, wherever it stands."""
    found: dict[str, list[Record]] = {}
    for scope in scopes:
        for name in (scope.attributes.get("itemref") or "").split()[:MOST]:
            found.setdefault(name, []).append(records[scope.mem_id])
    return found


def _owners(
    node: LexborNode, records: dict[int, Record], referrers: dict[str, list[Record]]
) -> tuple[list[Record], bool]:
    """The items that it is a property of, and whether it is referred to at all."""
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


def value_of(node: LexborNode, addresses: Addresses, places: Places) -> Leaf:
    """What an element says to machines; `content` on any element, as search engines read it."""
    attributes = node.attributes
    path = places.of(node)
    for name in ("content", _ATTRIBUTES.get(node.tag or "", "")):
        text = (attributes.get(name) or "").strip()
        if name and text:
            absolute = addresses.absolute(text) if name in _ADDRESSES else ""
            return Leaf((absolute or text)[:LONGEST], f"{path}@{name}")
    return Leaf(" ".join((node.text() or "").split())[:LONGEST], path)
