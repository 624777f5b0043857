"""Images: the URL of the picture that an image element shows, also if it is loaded lazily."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from gossamer.web.html.elements.element import Element
from gossamer.web.html.links import Addresses

_LAZY: Final = (
    "data-src",
    "data-original",
    "data-lazy-src",
    "data-lazy",
    "data-actualsrc",
    "data-hi-res-src",
)
_LAZY_SETS: Final = ("data-srcset", "data-lazy-srcset")
_MARKED_LAZY: Final = frozenset((*_LAZY, *_LAZY_SETS))
_NO_PICTURE: Final = re.compile(
    r"(?:^|[/_-])(?:pixel|spacer|blank|transparent|1x1|clear|placeholder|grey|loading)[^/]*\.(?:gif|png|svg)",
    re.I,
)
_NUMBER: Final = re.compile(r"[0-9]+")
_CANDIDATE: Final = re.compile(r"[\s,]*+(\S++)")
_DESCRIBED: Final = re.compile(r"\s*+(?:([0-9.]++)[wx])?+[^,]*+")


class Image(NamedTuple):
    url: str
    alt: str
    title: str


def image_of(element: Element, addresses: Addresses) -> Image | None:
    """Return the image, but None for a spacer, a tracking pixel or inline data."""
    if _is_tiny(element):
        return None
    for reference in _references(element):
        if reference.startswith("data:") or _NO_PICTURE.search(reference):
            continue
        url = addresses.absolute(reference)
        if url.startswith(("http:", "https:")):
            alt = " ".join(element.get("alt").split())
            return Image(url, alt, " ".join(element.get("title").split()))
    return None


def _references(element: Element) -> Iterator[str]:
    """Yield the references to the picture, the best first. Most often the first is enough."""
    return filter(None, map(str.strip, _stated(element)))


def _stated(element: Element) -> Iterator[str]:
    attributes = element.attributes
    if not _MARKED_LAZY.isdisjoint(attributes):
        yield from (element.get(name) for name in _LAZY)
        yield _best(element.get("data-srcset") or element.get("data-lazy-srcset"))
    if "srcset" in attributes:
        yield _best(element.get("srcset"))
    yield element.get("src")
    if element.parent is not None and element.parent.tag == "picture":
        for one in element.parent.elements:
            yield _best(one.get("srcset") or one.get("data-srcset"))


def _best(candidates: str) -> str:
    """Return the largest image of a `srcset`."""
    largest, best = -1.0, ""
    for url, size in _candidates(candidates[:8_192]):
        if size > largest:
            largest, best = size, url
    return best


def _candidates(text: str) -> Iterator[tuple[str, float]]:
    """Yield the candidates as browsers read them: a comma ends one only after its descriptor or at the end of
    its URL."""
    at = 0
    while (found := _CANDIDATE.match(text, at)) is not None:
        at, size = found.end(), None
        if not found[1].endswith(",") and (described := _DESCRIBED.match(text, at)) is not None:
            at, size = described.end(), described[1]
        yield found[1].rstrip(","), _number(size)


def _number(text: str | None) -> float:
    try:
        return float(text or 1)
    except ValueError:
        return 0


def _is_tiny(element: Element) -> bool:
    sizes = [_NUMBER.match(said) for name in ("width", "height") if (said := element.get(name).strip())]
    return any(size is not None and int(size[0][:6]) <= 2 for size in sizes)
