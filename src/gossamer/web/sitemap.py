"""Sitemaps: what a site says that it has. No DOCTYPE, no entities, bounded in size, depth and number."""

import zlib
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

LARGEST: Final = 50_000_000  # bytes, unpacked
MOST: Final = 50_000  # entries of one file
DEEPEST: Final = 256
LONGEST: Final = 2_048  # characters of an address
_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Entries:
    """The addresses in a sitemap: of pages, or in an index of further sitemaps."""

    urls: tuple[str, ...]
    is_index: bool = False
    problem: str = ""  # why it could not be read to its end


class _Stop(Exception):
    pass


def read(body: bytes) -> Entries:
    """Never raises; what is wrong with the file is in `problem`."""
    try:
        text = _unpacked(body)
    except (zlib.error, _Stop) as error:
        return Entries((), problem=str(error) or "it cannot be unpacked")
    if text.lstrip()[:1] != b"<":
        return _lines(text)
    return _Reader().read(text)


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return body
    inflating = zlib.decompressobj(wbits=31)
    text = inflating.decompress(body, LARGEST + 1)
    if len(text) > LARGEST:
        raise _Stop("it is larger than 50 MB")
    return text


def _lines(text: bytes) -> Entries:
    """The plain form: an address a line."""
    lines = text.decode("utf-8", "replace").split()
    urls = tuple(line for line in lines[:MOST] if line.startswith(("http://", "https://")))
    return Entries(urls, problem="" if urls else "it is not a sitemap")


class _Reader:
    def __init__(self) -> None:
        self._urls: list[str] = []
        self._path: list[str] = []
        self._text: list[str] | None = None

    def read(self, text: bytes) -> Entries:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse
        self._root = ""
        problem = ""
        try:
            parser.Parse(text, True)
        except expat.ExpatError as error:
            problem = f"it is not well formed: {expat.errors.messages.get(error.code, 'error')}"
        except _Stop as stop:
            problem = str(stop)
        if not problem and self._root not in ("urlset", "sitemapindex"):
            problem = "it is not a sitemap"
        return Entries(tuple(self._urls), self._root == "sitemapindex", problem)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        self._root = self._root or local
        self._path.append(local)
        if len(self._path) > DEEPEST:
            raise _Stop("it is nested too deeply")
        if self._path[1:] in (["url", "loc"], ["sitemap", "loc"]):
            self._text = []

    def _end(self, name: str) -> None:
        self._path.pop()
        if self._text is None:
            return
        if len(self._urls) >= MOST:
            raise _Stop("it has more than 50,000 entries")
        self._urls.append("".join(self._text).strip()[:LONGEST])
        self._text = None

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _refuse(self, *_: object) -> None:
        raise _Stop("it has a DOCTYPE")
