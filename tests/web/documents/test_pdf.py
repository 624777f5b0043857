"""PDFs: what unpacks to more than can be read is known before PDFium is asked; the rest is read as before."""

import time
import zlib
from itertools import count

import pytest
from tests.site.hostile import MAKERS, page_of, squeezed, text_of
from tests.web.documents.pdf_files import pdf

from gossamer.problems import CONTENT_UNREADABLE, Problem
from gossamer.web.documents.pdf.bombs import MAX_COMPRESSIONS, MAX_STREAM_BYTES, MAX_UNPACKED_BYTES, is_bomb
from gossamer.web.documents.pdf.pdf import MAX_CPU_SECONDS, MAX_PAGES, MAX_TEXT_CHARS, read_pdf

MEGABYTE = 1_000_000
MOST_SECONDS = 3.0  # of CPU time, to refuse it


@pytest.mark.parametrize("name", ["pdf_packed", "pdf_blank", "pdf_font"])
def test_a_bomb_is_refused_before_it_goes_off(name: str) -> None:
    body = MAKERS[name]().body
    assert len(body) < 5_000
    before = time.thread_time()
    with pytest.raises(Problem) as caught:
        read_pdf(body)
    assert time.thread_time() - before < MOST_SECONDS
    assert caught.value.kind is CONTENT_UNREADABLE
    assert caught.value.members["details"] == {"reason": "unreadable_content", "kind": "pdf"}


@pytest.mark.parametrize("name", ["pdf_box", "pdf_image"])
def test_what_takes_no_memory_to_read_is_read(name: str) -> None:
    assert read_pdf(MAKERS[name]().body).complete


@pytest.mark.parametrize("times", range(1, MAX_COMPRESSIONS))
def test_it_is_seen_through_all_that_is_around_it(times: int) -> None:
    assert is_bomb(page_of(squeezed(bytes(MAX_STREAM_BYTES + 1), times)))
    assert not is_bomb(page_of(squeezed(text_of(b"(x) Tj"), times)))


def test_many_streams_count_together() -> None:
    packed = b"<< /Length 1 >> stream\n%b\nendstream\n" % zlib.compress(bytes(MAX_STREAM_BYTES // 2))
    assert not is_bomb(packed)
    assert is_bomb(packed * (MAX_UNPACKED_BYTES // (MAX_STREAM_BYTES // 2) + 1))


def test_pictures_and_attachments_may_be_large() -> None:
    data = zlib.compress(bytes(MAX_STREAM_BYTES + 1))
    for described in (b"/Subtype /Image", b"/Subtype/Image /Width 9", b"/Type /EmbeddedFile"):
        assert not is_bomb(b"9 0 obj << %b >> stream\n%b\nendstream" % (described, data))
    assert is_bomb(b"9 0 obj << /Subtype /Image >> endobj 10 0 obj << >> stream\n%b\nendstream" % data)


@pytest.mark.parametrize("body", [
    b"", b"stream\n", b"stream\n\x78", b"stream\n\x78\x9c", b"stream\r\n\x78\x9cnonsense", b"endstream\n\x78",
    b"stream\n" + zlib.compress(b"cut off, and then nothing")[:-9], b"stream\n" + zlib.compress(b"\x78\x9cx"),
])  # fmt: skip
def test_nonsense_is_no_bomb(body: bytes) -> None:
    assert not is_bomb(body)


def test_a_dense_book_is_no_bomb() -> None:
    line = "A line of a book, as it stands on a page, with some words in it"
    book = read_pdf(pdf([[line] * 120] * 200))
    assert (book.page_count, len(book.pages), book.complete) == (200, 200, True)
    assert all(line in text for text in book.pages)


def test_of_many_pages_the_first_are_read() -> None:
    read = read_pdf(pdf([["x"]] * (MAX_PAGES + 1)))
    assert (read.page_count, len(read.pages), read.complete) == (MAX_PAGES + 1, MAX_PAGES, False)


def test_of_much_text_the_first_pages_are_read() -> None:
    read = read_pdf(pdf([["x" * 1000] * 500] * 6))
    assert MAX_TEXT_CHARS <= sum(map(len, read.pages)) < MAX_TEXT_CHARS + 600_000
    assert not read.complete


def test_when_time_is_up_there_is_what_was_read() -> None:
    ticks = count()
    read = read_pdf(pdf([["x"]] * 100), clock=lambda: next(ticks) * MAX_CPU_SECONDS / 10)
    assert 5 < len(read.pages) < 15
    assert (read.page_count, read.complete) == (100, False)
