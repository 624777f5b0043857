"""What the bytes of pictures and prints say of themselves."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.documents.image_size import size_of
from gossamer.web.documents.printed_pdf import page_count

sides = st.integers(1, 16_000)


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


def jpeg(width: int, height: int, marker: int = 0xC0) -> bytes:
    """With fill bytes, a marker without a length and tables before the frame."""
    tables = b"\xff\xdb" + struct.pack(">H", 6) + b"\xff\xc0\x00\x01" + b"\xff\xff\xff\xc4\x00\x02"
    frame = struct.pack(">BBHBHH", 0xFF, marker, 17, 8, height, width)
    return b"\xff\xd8\xff\xe0\x00\x04ab\xff\x01" + tables + frame


def webp(kind: bytes, width: int, height: int) -> bytes:
    if kind == b"VP8X":
        rest = b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == b"VP8L":
        rest = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14 | 1 << 28)
    else:
        rest = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width | 1 << 14, height)
    return struct.pack("<4sI4s4sI", b"RIFF", 99, b"WEBP", kind, len(rest)) + rest


@given(sides, sides)
def test_the_size_is_the_one_in_the_file(width: int, height: int) -> None:
    files = [
        png(width, height),
        jpeg(width, height),
        jpeg(width, height, 0xC2),
        *(webp(kind, width, height) for kind in (b"VP8X", b"VP8L", b"VP8 ")),
    ]
    for file in files:
        assert size_of(file) == (width, height)
        for cut in range(len(file)):
            try:
                size_of(file[:cut])
            except ValueError:
                continue


@given(
    st.binary(max_size=60), st.sampled_from([b"", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8X", png(1, 1)[:16]])
)
def test_anything_else_is_no_picture_or_has_a_size(rest: bytes, start: bytes) -> None:
    try:
        width, height = size_of(start + rest)
    except ValueError:
        return
    assert min(width, height) >= 0


def pdf(*objects: bytes, root: int = 1) -> bytes:
    body, places = b"%PDF-1.4\n", [0]
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    entries = b"".join(
        b"%010d %05d %s \n" % (place, 0 if place else 65535, b"n" if place else b"f") for place in places
    )
    table = b"xref\n0 %d\n%s" % (len(places), entries)
    trailer = b"trailer\n<</Size %d\n/Root %d 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (
        len(places),
        root,
        len(body),
    )
    return body + table + trailer


CATALOG = b"<</Type /Catalog\n/Pages 2 0 R\n/Lang (/Pages 3 0 R)>>"
PAGES = b"<</Type /Pages\n/Count 7\n/Kids []>>"


def test_the_pages_of_a_print_are_counted_where_they_stand() -> None:
    said = b"<</URI (1 0 obj <</Type /Pages /Count 99 >> startxref 9 %%EOF)>>"
    assert page_count(pdf(CATALOG, PAGES)) == 7
    assert page_count(pdf(CATALOG, PAGES, said)) == 7
    assert page_count(pdf(said, PAGES, CATALOG, root=3)) == 7


@pytest.mark.parametrize(
    "file",
    [
        b"",
        b"%PDF-1.4 startxref 0 %%EOF",
        pdf(CATALOG),
        pdf(CATALOG, PAGES, root=9),
        pdf(PAGES, CATALOG),
        pdf(CATALOG, PAGES)[:-8],
        pdf(CATALOG, b"<</Kids [] /Type /Pages /Count 7>>"),
        pdf(CATALOG, PAGES).replace(b"00000 n", b"xxxxx n").replace(b"0000000009", b"00000000-9"),
    ],
)
def test_what_is_no_print_is_not_counted(file: bytes) -> None:
    assert page_count(file) is None


@given(st.binary(max_size=40), st.integers(0, 300))
def test_a_damaged_print_does_no_harm(noise: bytes, at: int) -> None:
    whole = pdf(CATALOG, PAGES)
    counted = page_count(whole[:at] + noise + whole[at + len(noise) :])
    assert counted is None or counted >= 0
