"""Small PDFs, written by hand."""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import pypdfium2

_FONTS = ("Helvetica", "Helvetica-Bold", "Courier")  # F1, F2 and F3


class Shown(NamedTuple):
    """A text at a place: points from the left, and from below."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = "F1"


def pdf(pages: Sequence[Sequence[str]], *, info: str = "", extra: str = "") -> bytes:
    """A document with a line of text for each line of each page."""
    return _document([_lines(lines) for lines in pages], info, extra)


def laid_out(*pages: Sequence[Shown]) -> bytes:
    """A document with texts at their places."""
    return _document([" ".join(map(_show, page)) for page in pages])


def scanned(body: bytes, count: int = 1) -> bytes:
    """A document whose pages are a picture of the first page of another."""
    document = pypdfium2.PdfDocument(body)
    bitmap = document[0].render(scale=2, grayscale=True)
    pixels = zlib.compress(bytes(bitmap.buffer), 1)
    about = f"/Width {bitmap.stride} /Height {bitmap.height} /BitsPerComponent 8 /ColorSpace /DeviceGray"
    document.close()
    kids = " ".join(f"{5 + index} 0 R" for index in range(count))
    return written_file(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
            _stream(b"612 0 0 792 0 0 cm /I Do"),
            _packed(pixels, f"/Type /XObject /Subtype /Image {about}"),
            *[_page(3, "/XObject << /I 4 0 R >>")] * count,
            b"<< >>",
        ]
    )


def _document(contents: Sequence[str], info: str = "", extra: str = "") -> bytes:
    first = 3 + len(_FONTS)
    kids = " ".join(f"{first + 2 * index} 0 R" for index in range(len(contents)))
    about = "/Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding /BaseFont"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} >>".encode(),
        *(f"<< {about} /{name} >>".encode() for name in _FONTS),
    ]
    fonts = "/Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >>"
    for index, content in enumerate(contents):
        objects += [_page(first + 1 + 2 * index, fonts), _stream(content.encode("cp1252"))]
    objects.append(f"<< {info} >>".encode("latin-1"))
    return written_file(objects, extra)


def _page(contents: int, resources: str) -> bytes:
    return (
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {contents} 0 R "
        f"/Resources << {resources} >> >>"
    ).encode()


def _lines(lines: Sequence[str]) -> str:
    shown = " ".join(f"({line}) Tj T*" for line in lines)
    return f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET"


def _show(shown: Shown) -> str:
    text = shown.text.replace("(", "\\(").replace(")", "\\)")
    return f"BT /{shown.font} {shown.size} Tf {shown.x} {shown.y} Td ({text}) Tj ET"


def _stream(content: bytes) -> bytes:
    return _packed(zlib.compress(content))


def _packed(data: bytes, about: str = "") -> bytes:
    head = f"<< {about} /Length {len(data)} /Filter /FlateDecode >> stream\n".encode()
    return head + data + b"\nendstream"


def written_file(objects: Sequence[bytes], extra: str = "") -> bytes:
    written, offsets = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R {extra} >>"
    return (
        b"%sxref\n0 %d\n0000000000 65535 f \n%s" % (written, len(objects) + 1, table)
        + trailer.encode()
        + b"\nstartxref\n%d\n%%%%EOF" % len(written)
    )
