"""WARC files: what is written can be checked, indexed and read again; hostile ones end in a reason."""

import gzip
import io
import random
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from gossamer.web.documents.warc import warc_reader
from gossamer.web.documents.warc.bad_archive import ArchiveRefused, BadArchive
from gossamer.web.documents.warc.cdxj import surt
from gossamer.web.documents.warc.imported_page import ImportedPage
from gossamer.web.documents.warc.warc_reader import ArchiveReader
from gossamer.web.documents.warc.warc_stream import ArchivedExchange, WarcStream
from gossamer.web.pages.page import Page

AT = 1_767_268_800_123
NOISE = random.Random(1).randbytes(5_000).hex().encode()
HTML = b"<title>Page</title><p>Text of the page"


def page_of(url: str, body: bytes = HTML, status: int = 200, **more: str) -> Page:
    headers = {"content-type": "text/html", "content-encoding": "gzip", **more}
    return Page(
        url=url,
        final_url=url,
        status=status,
        headers=tuple(headers.items()),
        body=body,
        media_type="text/html",
        charset="utf-8",
    )


def written(*pages: Page) -> tuple[bytes, WarcStream]:
    stream = WarcStream("data.warc.gz", {"software": "test"})
    whole = stream.begin()
    for page in pages:
        request = (("user-agent", "Test"), ("authorization", ""))
        records, indexed = stream.add(ArchivedExchange(page, AT, request))
        assert gzip.decompress(records[: indexed.length])  # one member by itself
        assert indexed.offset == len(whole)
        whole += records
    return whole, stream


def read(whole: bytes, folder: Path, reader: ArchiveReader | None = None) -> list[ImportedPage]:
    file = folder / "file"
    file.write_bytes(whole)
    with file.open("rb") as opened:
        return list((reader or ArchiveReader()).read(opened))


def test_records_pass_the_check_and_have_no_secrets(tmp_path: Path) -> None:
    pages = [page_of("https://a.test/1"), page_of("https://a.test/2"), page_of("https://a.test/3", b"other")]
    whole, stream = written(*pages)
    file = tmp_path / "out.warc.gz"
    file.write_bytes(whole)

    class Command:
        inputs = (str(file),)
        verbose = False

    assert Checker(Command()).process_all() in (0, None)
    records = [(one.rec_type, one.rec_headers) for one in ArchiveIterator(io.BytesIO(whole))]
    kinds = [kind for kind, _ in records]
    assert kinds == ["warcinfo", "response", "request", "revisit", "request", "response", "request"]
    assert stream.revisits == 1
    revisit = records[3][1]
    assert revisit.get_header("WARC-Profile").endswith("/1.1/revisit/identical-payload-digest")
    assert revisit.get_header("WARC-Refers-To-Target-URI") == "https://a.test/1"
    assert revisit.get_header("WARC-Date") == "2026-01-01T12:00:00.123Z"
    assert records[2][1].get_header("WARC-Concurrent-To") == records[1][1].get_header("WARC-Record-ID")
    requests = gzip.decompress(whole)
    assert b"authorization: [redacted]" in requests


def test_what_was_written_is_read_again_with_revisits_and_redirects(tmp_path: Path) -> None:
    redirect = page_of("https://a.test/old", b"", 301, location="/1")
    whole, _ = written(page_of("https://a.test/1"), page_of("https://a.test/2"), redirect)
    found = read(whole, tmp_path)
    assert [(one.page.url, one.page.status, one.page.body) for one in found] == [
        ("https://a.test/1", 200, HTML),
        ("https://a.test/2", 200, HTML),
        ("https://a.test/old", 301, b""),
    ]
    assert {one.at for one in found} == {AT}
    assert found[0].page.headers == (("content-type", "text/html"), ("content-encoding", "gzip"))
    assert dict(found[2].page.headers)["location"] == "/1"


def test_what_pages_load_is_passed_over(tmp_path: Path) -> None:
    script = page_of("https://a.test/x.js", b"alert(1)")
    script = replace(script, headers=(("content-type", "text/javascript"),))
    whole, _ = written(script, page_of("https://a.test/"))
    reader = ArchiveReader()
    assert [one.page.url for one in read(whole, tmp_path, reader)] == ["https://a.test/"]
    assert reader.skipped == {"kind": 1}


def in_zip(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, written(page_of("https://a.test/"))[0])
    return file.getvalue()


LYING = (
    b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nContent-Length: 99999999999\r\n"
    b"Content-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
)


@pytest.mark.parametrize(
    ("whole", "reason"),
    [
        (b"", BadArchive.NOT_AN_ARCHIVE),
        (b"no archive at all\n" * 50, BadArchive.NOT_AN_ARCHIVE),
        (gzip.compress(LYING + b"x" * 1_000_000), BadArchive.UNPACKS_TOO_LARGE),
        (in_zip("/archive/data.warc.gz"), BadArchive.UNSAFE_NAMES),
        (in_zip("archive/../../data.warc.gz"), BadArchive.UNSAFE_NAMES),
        (in_zip("pages/pages.jsonl"), BadArchive.NOT_AN_ARCHIVE),
        (in_zip("archive/data.warc.gz")[:300], BadArchive.NOT_AN_ARCHIVE),
        (in_zip(*(f"archive/{n}.warc" for n in range(1_001))), BadArchive.TOO_MANY_FILES),
        (written(page_of("https://a.test/", NOISE))[0][:-3_000], BadArchive.DAMAGED),
    ],
)
def test_hostile_files_end_in_a_reason(whole: bytes, reason: BadArchive, tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused) as refused:
        read(whole, tmp_path)
    assert refused.value.reason is reason


def test_records_and_bodies_are_bounded(tmp_path: Path) -> None:
    whole, _ = written(page_of("https://a.test/1", b"1" * 2_000), page_of("https://a.test/2"))
    reader = ArchiveReader(max_body=1_000)
    assert [one.page.url for one in read(whole, tmp_path, reader)] == ["https://a.test/2"]
    assert reader.skipped == {"too_large": 1}
    with pytest.raises(ArchiveRefused) as refused:
        read(whole, tmp_path, ArchiveReader(max_records=2))
    assert refused.value.reason is BadArchive.TOO_MANY_RECORDS
    assert warc_reader.MAX_RECORDS > 1_000_000


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.example.com/Path?b=2&a=1#x", "com,example)/path?a=1&b=2"),
        ("http://example.com:8080", "com,example:8080)/"),
        ("https://example.com:443/", "com,example)/"),
        ("http://127.0.0.1:81/a%20b", "127.0.0.1:81)/a%20b"),
    ],
)
def test_keys_of_an_index(url: str, key: str) -> None:
    assert surt(url) == key
