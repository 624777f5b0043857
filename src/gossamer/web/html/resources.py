"""Resources: the images, scripts and styles that a page loads."""

from typing import Final, Literal, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from gossamer.web.html.links import Addresses

MAX_RESOURCES: Final = 1_000  # of a page
_LOADED: Final = (
    "link[rel~='stylesheet' i][href], script[src], img[src], input[type='image' i][src], video[poster]"
)
_ATTRIBUTES: Final = {"link": "href", "video": "poster"}
_KINDS: Final[dict[str | None, "ResourceKind"]] = {"link": "style", "script": "script"}

ResourceKind = Literal["style", "script", "image"]


class Resource(NamedTuple):
    url: str
    kind: ResourceKind


def resources_of(tree: LexborHTMLParser, addresses: Addresses) -> tuple[Resource, ...]:
    """Return each resource once, in page order."""
    found: dict[str, Resource] = {}
    for node in tree.css(_LOADED)[:MAX_RESOURCES]:
        reference = node.attributes.get(_ATTRIBUTES.get(node.tag or "", "src")) or ""
        url = addresses.absolute(reference).partition("#")[0]
        if url.startswith(("http:", "https:")):
            found.setdefault(url, Resource(url, _KINDS.get(node.tag, "image")))
    return tuple(found.values())
