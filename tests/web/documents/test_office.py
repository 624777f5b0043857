"""Office documents and books become Markdown, and hostile ones are refused."""

import io
from datetime import date, datetime
from typing import Any

import openpyxl
import pytest
from tests.web.documents.office_files import docx, epub, odf, packed, paragraph, pptx, shape
from tests.web.documents.test_documents import document, got

from gossamer.problems import Problem
from gossamer.web.documents.documents import Document
from gossamer.web.documents.kind import ContentKind
from gossamer.web.documents.office import package, xlsx
from gossamer.web.pages.reading import read
from gossamer.web.pages.reading_options import ReadingOptions

ANY = "application/octet-stream"


def sheet(rows: list[list[Any]], title: str = "Costs") -> bytes:
    book = openpyxl.Workbook()
    first = book.active
    assert first is not None
    first.title = title
    for row in rows:
        first.append(row)
    book.create_sheet("Empty")
    book.properties.title = "Yearly report"
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def refusal(body: bytes) -> dict[str, Any]:
    with pytest.raises(Problem) as caught:
        document(body, ANY)
    return {"code": caught.value.kind.code, **caught.value.details}


def test_docx_has_headings_lists_tables_and_links() -> None:
    row = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("Rope", "12"))
    linked = '<w:p><w:hyperlink r:id="l1"><w:r><w:t>the shop</w:t></w:r></w:hyperlink></w:p>'
    made = document(
        docx(
            paragraph("Chapter one", "Heading1")
            + paragraph("Plain &amp; simple words.")
            + f"<w:tbl><w:tr>{row}</w:tr><w:tr>{row}</w:tr></w:tbl>"
            + linked,
            l1="https://shop.example/",
        ),
        ANY,
    )
    assert made.kind is ContentKind.OFFICE
    assert (made.title, made.author, made.published) == (
        "Yearly report",
        "Ada Brandt",
        "2026-03-04T09:00:00Z",
    )
    assert made.markdown.startswith("# Chapter one\n\nPlain & simple words.")
    assert "| Rope | 12 |" in made.markdown
    assert "[the shop](https://shop.example/)" in made.markdown
    assert [link.url for link in made.links] == ["https://shop.example/"]


def test_xlsx_has_a_table_for_each_sheet_with_dates_and_numbers_as_people_read_them() -> None:
    rows: list[list[Any]] = [
        ["Item", "Cost", "Paid", "Day"],
        ["Rope", 12.5, True, date(2026, 3, 4)],
        ["<b>", 0.1 + 0.2, None, datetime(2026, 3, 4, 9, 30)],  # noqa: DTZ001  (cells have no time zone)
    ]
    made = document(sheet(rows), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
    lines = made.markdown.splitlines()
    assert lines[0] == "## Costs"
    assert "| Item | Cost | Paid | Day |" in lines
    assert "| Rope | 12.5 | TRUE | 2026-03-04 |" in lines
    assert any("\\<b>" in line and "0.3 |" in line and "2026-03-04T09:30:00" in line for line in lines)
    assert "Empty" not in made.markdown
    assert (made.title, made.page_count, made.truncated) == ("Yearly report", 2, False)


def test_a_large_sheet_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MAX_CELLS", 100)
    made = document(sheet([[f"row {n}", n] for n in range(80)]), ANY)
    assert "row 49" in made.markdown
    assert "row 60" not in made.markdown
    assert made.truncated


def test_pptx_has_slides_in_order_with_nested_lists_and_notes() -> None:
    first = shape("title", (0, "Why rope")) + shape("body", (0, "Strong"), (1, "Even wet"), (0, "Cheap"))
    second = shape("ctrTitle", (0, "Thanks")) + shape("sldNum", (0, "2"))
    made = document(pptx(first, second, notes=shape("body", (0, "Speak slowly."))), ANY)
    assert made.markdown == ("## Why rope\n\n- Strong\n  - Even wet\n- Cheap\n\n> Speak slowly.\n\n## Thanks")
    assert made.page_count == 2


def test_opendocument_texts_and_sheets() -> None:
    text = document(
        odf(
            '<text:h text:outline-level="1">One</text:h><text:p>Some<text:s/>words '
            '<text:a xlink:href="https://a.example/">here</text:a>.<text:note><text:note-citation>1'
            "</text:note-citation><text:note-body><text:p>Said twice.</text:p></text:note-body></text:note>"
            "</text:p>"
            "<text:list><text:list-item><text:p>first</text:p></text:list-item></text:list>"
        ),
        "application/vnd.oasis.opendocument.text",
    )
    assert text.markdown == "# One\n\nSome words [here](https://a.example/). (Said twice.)\n\n- first"
    assert (text.title, text.author, text.language) == ("Yearly report", "Ada Brandt", "en")
    cells = "".join(f"<table:table-cell><text:p>{one}</text:p></table:table-cell>" for one in ("a", "b"))
    filler = '<table:table-cell table:number-columns-repeated="16000"/>'
    sheets = document(
        odf(
            f'<table:table table:name="Costs"><table:table-row>{cells}{filler}</table:table-row>'
            f"<table:table-row>{cells}</table:table-row></table:table>",
            "spreadsheet",
        ),
        ANY,
    )
    assert "## Costs" in sheets.markdown
    assert "| a | b |" in sheets.markdown
    assert "|  |" not in sheets.markdown


def test_epub_has_its_chapters_in_reading_order() -> None:
    book = document(
        epub("<h1>One</h1><p>It began.</p>", "<h1>Two</h1><p>It ended.</p>"), "application/epub+zip"
    )
    assert book.markdown == "# One\n\nIt began.\n\n# Two\n\nIt ended."
    assert (book.title, book.author, book.published, book.page_count) == (
        "The Salt Road",
        "Ursula Hart",
        "2024-03-14",
        2,
    )


def test_a_document_is_read_like_a_page() -> None:
    reading = read(got(epub("<p>It began at sea.</p>"), ANY), ReadingOptions(max_tokens=100))
    assert (reading.kind, reading.words, reading.judgement.outcome) == (ContentKind.OFFICE, 4, "ok")
    assert reading.brief is not None


@pytest.mark.parametrize("name", ["word/document.xml", "ppt/presentation.xml", "content.xml"])
def test_entities_are_refused(name: str) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><a>&y;</a>'
    assert refusal(packed({"[Content_Types].xml": "", name: bomb}))["kind"] == "office"


def test_what_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_FILE_BYTES", 1_000_000)
    body = packed({"[Content_Types].xml": "", "word/document.xml": b"<a>" + b" " * 2_000_000})
    assert len(body) < 5_000
    assert refusal(body)["reason"] == "unreadable_content"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"PK\x03\x04[Content_Types].xml" + bytes(100), "unreadable_content"),
        (docx("")[:-30], "unreadable_content"),
        (packed({"[Content_Types].xml": "", "word/document.xml": "<a><b></a>"}), "unreadable_content"),
        (packed({"[Content_Types].xml": "", "xl/workbook.xml": "<a/>"}), "unreadable_content"),
        (packed({"[Content_Types].xml": "", "other.xml": "<a/>"}), "unsupported_content"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "unsupported_content"),
    ],
)
def test_damaged_documents_and_old_formats_are_problems(body: bytes, reason: str) -> None:
    assert refusal(body) == {"code": "CONTENT_UNREADABLE", "reason": reason, "kind": "office"}


def test_documents_of_a_document_are_bounded() -> None:
    made: Document = document(odf("<text:section>" * 400 + "deep" + "</text:section>" * 400), ANY)
    assert made.truncated
