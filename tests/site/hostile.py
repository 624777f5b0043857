"""Pages that are made to cost whoever reads them memory or time, one for each known kind of attack."""

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.site.bombs import bomb
from tests.web.documents.pdf_files import written_file

MEGABYTE: Final = 1_000_000
SENTENCE: Final = b"<p>A sentence of some length, with a comma, and then another one. It goes on and on.</p>"
LINKED: Final = b'<script type="application/ld+json">'
ENTITY: Final = b'<!DOCTYPE a [<!ENTITY b "&c;&c;&c;">]>'
ITEM: Final = b"<item><title>x</title><link>http://x.example/</link></item>"
_FONT: Final = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


@dataclass(frozen=True)
class Hostile:
    body: bytes
    media_type: str = "text/html"
    one_byte_chunks: bool = False


def filled(piece: bytes, size: int) -> bytes:
    return piece * (size // len(piece))


def html(piece: bytes, size: int, before: bytes = b"", after: bytes = b"") -> Callable[[], Hostile]:
    return lambda: Hostile(b"<!doctype html><title>x</title>" + before + filled(piece, size) + after)


def other(
    media_type: str, piece: bytes, size: int, before: bytes = b"", after: bytes = b""
) -> Callable[[], Hostile]:
    return lambda: Hostile(before + filled(piece, size) + after, media_type)


# Documents of PDF.


def squeezed(data: bytes, times: int) -> bytes:
    """A stream that is packed several times over."""
    for _ in range(times):
        data = zlib.compress(data, 6)
    filters = b"/FlateDecode " * times
    return b"<< /Length %d /Filter [%b] >> stream\n%b\nendstream" % (len(data), filters, data)


def page_of(
    contents: bytes, *, box: bytes = b"0 0 612 792", resources: bytes = b"", more: tuple[bytes, ...] = ()
) -> bytes:
    resources = resources or b"/Font << /F1 5 0 R >>"
    return written_file(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [%b] /Contents 4 0 R /Resources << %b >> >>"
            % (box, resources),
            contents,
            _FONT,
            *more,
            b"<< >>",
        ]
    )


def text_of(shown: bytes) -> bytes:
    return b"BT /F1 12 Tf 14 TL 72 720 Td " + shown + b" ET"


def packed_pdf() -> Hostile:
    """1.5 kB that become 100 MB of text."""
    shown = filled(b"(xxxxxxxxxxxxxxxxxxxx) Tj ", 100 * MEGABYTE)
    return Hostile(page_of(squeezed(text_of(shown), 3)), "application/pdf")


def blank_pdf() -> Hostile:
    """A few kB that become 1 GiB of nothing."""
    data = zlib.compress(zlib.compress(bomb("deflate"), 9), 9)
    filters = b"/FlateDecode " * 3
    contents = b"<< /Length %d /Filter [%b] >> stream\n%b\nendstream" % (len(data), filters, data)
    return Hostile(page_of(contents), "application/pdf")


def boxed_pdf() -> Hostile:
    return Hostile(
        page_of(squeezed(text_of(b"(x) Tj"), 1), box=b"-2000000000 -2000000000 2000000000 2000000000"),
        "application/pdf",
    )


def font_pdf() -> Hostile:
    """A font whose program and widths are enormous."""
    more = (
        b"<< /Type /Font /Subtype /TrueType /BaseFont /F /FontDescriptor 7 0 R /FirstChar 0 /LastChar 255 >>",
        b"<< /Type /FontDescriptor /FontName /F /FontFile2 8 0 R /Flags 4 >>",
        squeezed(b"\0\1\0\0" + bytes(100 * MEGABYTE), 2),
    )
    return Hostile(
        page_of(squeezed(text_of(b"(x) Tj"), 1), resources=b"/Font << /F1 6 0 R >>", more=more),
        "application/pdf",
    )


def image_pdf() -> Hostile:
    more = (
        b"<< /Type /XObject /Subtype /Image /Width 60000 /Height 60000 /BitsPerComponent 8"
        b" /ColorSpace /DeviceRGB /Filter [/FlateDecode /FlateDecode] /Length %d >> stream\n%b\nendstream"
        % (len(data := zlib.compress(zlib.compress(bytes(100 * MEGABYTE), 9), 9)), data),
    )
    contents = squeezed(b"q 600 0 0 600 0 0 cm /I Do Q", 1)
    return Hostile(page_of(contents, resources=b"/XObject << /I 6 0 R >>", more=more), "application/pdf")


def many_pages_pdf() -> Hostile:
    """One page that is named 500,000 times."""
    kids = filled(b"4 0 R ", 3 * MEGABYTE)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /MediaBox [0 0 612 792] /Kids [%b] /Count 500000 >>" % kids,
        _FONT,
        b"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
        squeezed(text_of(filled(b"(word and word) Tj T* ", 20_000)), 1),
        b"<< >>",
    ]
    return Hostile(written_file(objects), "application/pdf")


def form_pdf() -> Hostile:
    """Forms that draw each other ten times, ten deep."""
    forms = []
    for level in range(9):
        called = filled(b"/X Do ", 60) if level < 8 else text_of(b"(deep) Tj")
        resources = b"/XObject << /X %d 0 R >> /Font << /F1 5 0 R >>" % (level + 7)
        forms.append(
            b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << %b >> /Length %d >>"
            b" stream\n%b\nendstream" % (resources, len(called), called)
        )
    return Hostile(
        page_of(squeezed(b"/X Do", 1), resources=b"/XObject << /X 6 0 R >>", more=tuple(forms)),
        "application/pdf",
    )


# Everything.


def linked_data(document: object) -> Callable[[], Hostile]:
    return lambda: Hostile(LINKED + json.dumps(document).encode() + b"</script>" + SENTENCE * 9)


def attributes() -> Hostile:
    return Hostile(b"<div " + b" ".join(b"a%d=%d" % (n, n) for n in range(300_000)) + b">x</div>")


def emoji(size: int) -> Callable[[], Hostile]:
    """One character that makes every other one four bytes wide."""
    return lambda: Hostile("\N{SPIDER WEB}".encode() + filled(SENTENCE, size))


def wide_json() -> Hostile:
    return Hostile(b"[" + filled(b'{"a":[1,2,3],"b":"c"},', 9 * MEGABYTE) + b"0]", "application/json")


def chunks(body: bytes) -> Callable[[], Hostile]:
    return lambda: Hostile(body, one_byte_chunks=True)


MAKERS: Final[dict[str, Callable[[], Hostile]]] = {
    "deep_blocks": html(b"<div>", MEGABYTE),
    "deep_formatting": html(b"<b><i><u><p>x</b>", 300_000),
    "deep_lists": html(b"<ul><li>", MEGABYTE),
    "deep_quotes": html(b"<blockquote>", MEGABYTE, after=b"x"),
    "deep_tables": html(b"<table><tr><td>", MEGABYTE),
    "many_attributes": attributes,
    "long_attribute": html(b"a", 9 * MEGABYTE, b'<a href="', b'">x</a>'),
    "many_blocks": html(b"<p>x", 9 * MEGABYTE),
    "many_cells": html(b"<td>x", 5 * MEGABYTE, b"<table><tr>"),
    "many_rows": html(b"<tr><td>x<td>y", 5 * MEGABYTE, b"<table>"),
    "many_links": html(b"<a href=/a/b/c>x</a> ", 9 * MEGABYTE),
    "many_pictures": html(b"<img src=a.png srcset='a 1x, b 2x' alt=x>", 9 * MEGABYTE),
    "many_headings": html(b"<h2>x</h2>", 5 * MEGABYTE),
    "many_options": html(b"<option>x", 5 * MEGABYTE, b"<select>"),
    "many_scripts": html(b"<script>a</script>", 5 * MEGABYTE),
    "prose": html(SENTENCE, 9 * MEGABYTE),
    "wide_prose": emoji(9 * MEGABYTE),
    "less_wide_prose": emoji(3 * MEGABYTE),  # a second to read, so that a busy machine is in time
    "ideographs": html("<p>世界你好。今天天气很好。".encode(), 9 * MEGABYTE),
    "entities": html(b"&amp;", 9 * MEGABYTE),
    "number_entities": html(b"&#x1F600;", 9 * MEGABYTE),
    "one_word": html(b"a", 9 * MEGABYTE),
    "one_text": html(b"ab ", 9 * MEGABYTE),
    "blanks": html(b" ", 9 * MEGABYTE),
    "line_ends": html(b"\n", 9 * MEGABYTE),
    "comments": html(b"<!--x-->", 9 * MEGABYTE),
    "one_comment": html(b"-", 9 * MEGABYTE, b"<!--", b"-->"),
    "less_than": html(b"<", 5 * MEGABYTE),
    "less_than_small": html(b"<", 60_000),
    "no_text": html(b"\xff", 9 * MEGABYTE),
    "markdown_signs": html(b"*_`[](", 9 * MEGABYTE),
    "deep_linked_data": html(b"[", 400_000, LINKED, b"</script>x"),
    "nested_linked_data": html(b'{"a":', 4_500, LINKED, b"1" + b"}" * 900 + b"</script>x"),
    "wide_linked_data": linked_data([{"@type": "Product", "name": "x", "offers": {"price": 1}}] * 60_000),
    "microdata": html(b"<div itemscope itemprop=a itemtype=http://schema.org/Product>", MEGABYTE),
    "json_deep": other("application/json", b"[", MEGABYTE),
    "json_deep_objects": other("application/json", b'{"a":', MEGABYTE),
    "json_wide": wide_json,
    "json_numbers": other("application/json", b"1,", 9 * MEGABYTE, b"[", b"1]"),
    "json_number": other("application/json", b"1", MEGABYTE),
    "xml_deep": other("application/xml", b"<a>", 3 * MEGABYTE),
    "xml_wide": other("application/xml", b"<a b='c'>d</a>", 9 * MEGABYTE, b"<x>", b"</x>"),
    "xml_entities": other("application/rss+xml", b"&b;", MEGABYTE, ENTITY + b"<rss><channel><title>"),
    "feed": other("application/rss+xml", ITEM, 9 * MEGABYTE, b"<rss><channel>", b"</channel></rss>"),
    "feed_deep": other("application/rss+xml", b"<item>", 3 * MEGABYTE, b"<rss><channel>"),
    "csv_wide": other("text/csv", b"a,", 9 * MEGABYTE),
    "csv_long": other("text/csv", b"a,b,c\n", 9 * MEGABYTE),
    "csv_quotes": other("text/csv", b'"', 5 * MEGABYTE),
    "text": other("text/plain", b"some words and more\n", 9 * MEGABYTE),
    "markdown": other("text/markdown", b"# ", 5 * MEGABYTE),
    "quotes": html(b'"', 4_900_000, b"<p>"),
    "undefined_bytes": other("text/html; charset=windows-1252", b"\x81", 9 * MEGABYTE, b"<p>"),
    "broken_utf16": other("text/html; charset=utf-16le", b"\x00\xd8", 3 * MEGABYTE, b"<\0p\0>\0"),
    "pdf_packed": packed_pdf,
    "pdf_blank": blank_pdf,
    "pdf_box": boxed_pdf,
    "pdf_font": font_pdf,
    "pdf_image": image_pdf,
    "pdf_pages": many_pages_pdf,
    "pdf_forms": form_pdf,
    "pdf_objects": other("application/pdf", b"obj<<", 3 * MEGABYTE, b"%PDF-1.7"),
    "one_byte_chunks": chunks(filled(SENTENCE, 200_000)),
    "one_byte_chunks_large": chunks(filled(SENTENCE, 1_700_000)),
}  # fmt: skip
