"""Office documents: which program's document a package is, and its conversion."""

from collections.abc import Callable
from typing import Final

from gossamer.web.documents.office.converted import Converted
from gossamer.web.documents.office.docx import convert_docx
from gossamer.web.documents.office.epub import convert_epub
from gossamer.web.documents.office.odf import convert_odf
from gossamer.web.documents.office.package import Package, refuse
from gossamer.web.documents.office.pptx import convert_pptx
from gossamer.web.documents.office.xlsx import convert_xlsx

_OLD_FORMATS: Final = b"\xd0\xcf\x11\xe0"  # DOC, XLS and PPT; also encrypted documents of the new formats
_CONVERTERS: Final[tuple[tuple[str, Callable[[Package], Converted]], ...]] = (
    ("word/document.xml", convert_docx),
    ("xl/workbook.xml", convert_xlsx),
    ("ppt/presentation.xml", convert_pptx),
    ("META-INF/container.xml", convert_epub),
    ("content.xml", convert_odf),
)


def convert_office(body: bytes) -> Converted:
    """Raises `Problem` for what is no such document, is encrypted, damaged or too large."""
    if body.startswith(_OLD_FORMATS):
        raise refuse("The document is encrypted, or in a format from before 2007", "unsupported_content")
    package = Package(body)
    for name, convert in _CONVERTERS:
        if name in package.names:
            return convert(package)
    raise refuse("The document is of no format that can be read", "unsupported_content")
