"""Small PDFs, written by hand."""

import zlib
from collections.abc import Sequence


def pdf(pages: Sequence[Sequence[str]], *, info: str = "", extra: str = "") -> bytes:
    """A document with a line of text for each line of each page."""
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for index, lines in enumerate(pages):
        objects += [_page(5 + 2 * index), _stream(lines)]
    objects.append(f"<< {info} >>".encode("latin-1"))
    return written_file(objects, extra)


def _page(contents: int) -> bytes:
    return (
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {contents} 0 R "
        "/Resources << /Font << /F1 3 0 R >> >> >>"
    ).encode()


def _stream(lines: Sequence[str]) -> bytes:
    shown = " ".join(f"({line}) Tj T*" for line in lines)
    data = zlib.compress(f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET".encode("cp1252"))
    return b"<< /Length %d /Filter /FlateDecode >> stream\n%s\nendstream" % (len(data), data)


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
