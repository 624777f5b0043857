"""Package: the files inside a document, which is a ZIP archive, with bounds against bombs.

    what        bound                  beyond it
    files       `MAX_FILES`            the document is refused
    one file    `MAX_FILE_BYTES`       the document is refused
    together    `MAX_UNPACKED_BYTES`   the document is refused

The sizes are those that the archive declares; no more than that is ever unpacked. XML with entities of its
own is refused: no program writes it into a document.
"""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final, TypedDict
from urllib.parse import unquote
from xml.etree.ElementTree import Element, ParseError, XMLParser

from gossamer.problems import CONTENT_UNREADABLE, Problem

MAX_FILES: Final = 10_000
MAX_FILE_BYTES: Final = 48 * 1024**2
MAX_UNPACKED_BYTES: Final = 256 * 1024**2
_MEDIA: Final = (
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".tif",
    ".tiff",
    ".emf",
    ".wmf",
    ".mp4",
    ".mp3",
    ".wav",
    ".ttf",
)


class CoreProperties(TypedDict):
    """The keys are fields of Converted."""

    title: str
    author: str
    description: str
    created: str
    language: str


class Package:
    def __init__(self, body: bytes) -> None:
        self._body = body
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(body))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            raise refuse("The document is damaged and cannot be read") from None
        files = self._archive.infolist()
        read = [file for file in files if not file.filename.lower().endswith(_MEDIA)]
        if any(file.flag_bits & 0x1 for file in read):
            raise refuse(
                "The document is encrypted and cannot be read without its password", "encrypted_content"
            )
        if (
            len(files) > MAX_FILES
            or any(file.file_size > MAX_FILE_BYTES for file in read)
            or sum(file.file_size for file in read) > MAX_UNPACKED_BYTES
        ):
            raise refuse("The document unpacks to more than can be read")
        self.names = frozenset(file.filename for file in files)

    def whole(self) -> io.BytesIO:
        """For libraries that open the archive themselves."""
        return io.BytesIO(self._body)

    def read(self, name: str) -> bytes:
        """Empty if there is no such file."""
        if name not in self.names:
            return b""
        try:
            return self._archive.read(name)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError):
            raise refuse("The document is damaged and cannot be read") from None

    def xml(self, name: str) -> Element | None:
        """None if there is no such file."""
        content = self.read(name)
        return parse_xml(content) if content else None

    def refuse_entities(self) -> None:
        """Before a library parses the XML."""
        for name in self.names:
            if name.endswith((".xml", ".rels")) and b"<!ENTITY" in self.read(name):
                raise refuse("The document declares entities and is not read")

    def core_properties(self) -> CoreProperties:
        """What Microsoft's formats say about a document."""
        about = self.xml("docProps/core.xml")
        return {
            "title": text_of(about, "title"),
            "author": text_of(about, "creator"),
            "description": text_of(about, "description") or text_of(about, "subject"),
            "created": text_of(about, "created"),
            "language": text_of(about, "language"),
        }

    def related(self, name: str) -> dict[str, str]:
        """The files that another refers to, by the id of the reference."""
        folder, base = posixpath.split(name)
        root = self.xml(f"{folder}/_rels/{base}.rels")
        found = [] if root is None else list(root)
        return {
            one.get("Id", ""): resolve(folder, one.get("Target", ""))
            for one in found
            if one.get("TargetMode") != "External"
        }


def parse_xml(content: bytes) -> Element:
    if b"<!ENTITY" in content:
        raise refuse("The document declares entities and is not read")
    try:
        parser = XMLParser()  # noqa: S314  (entities are refused, and expat fetches nothing)
        parser.feed(content)
        root: Element = parser.close()
        return root
    except (ParseError, ValueError, LookupError, RecursionError):
        raise refuse("The document is damaged and cannot be read") from None


def resolve(folder: str, reference: str) -> str:
    """The name of a file that another in this folder refers to."""
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", folder, path)).lstrip("/")


def local(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """An attribute, whatever its namespace."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def find_all(element: Element | None, *names: str) -> Iterator[Element]:
    """All elements below it with one of these names, in document order."""
    return (one for one in ([] if element is None else element.iter()) if local(one) in names)


def text_of(element: Element | None, name: str) -> str:
    """The text of the first element of this name."""
    found = next(find_all(element, name), None)
    return " ".join("".join(found.itertext()).split())[:1_000] if found is not None else ""


def refuse(detail: str, reason: str = "unreadable_content") -> Problem:
    return Problem(CONTENT_UNREADABLE, detail, details={"reason": reason, "kind": "office"})
