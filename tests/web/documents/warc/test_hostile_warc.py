"""Damaged and hostile files of web archives: each ends soon, with a reason."""

import gzip
import io
import random
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import brotli
import pytest
from tests.web.documents.warc.test_warc import HTML, page_of, read, written

from gossamer.web.documents.warc.bad_archive import ArchiveRefused, BadArchive
from gossamer.web.documents.warc.unpacked_file import MAX_SKIPPED
from gossamer.web.documents.warc.warc_reader import ArchiveReader

BOUND = 5.0  # seconds of the processor for one file; most take a hundredth
CHANCE = random.Random(7)
PAGE = b"<title>Page</title><p>" + CHANCE.randbytes(900).hex().encode()


def record(url: str, head: str, body: bytes, kind: str = "response", more: str = "") -> bytes:
    http = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{head}\r\n".encode() + body
    about = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"Content-Type: application/http\r\n{more}Content-Length: {len(http)}\r\n\r\n"
    )
    return about.encode() + http + b"\r\n\r\n"


def chunked(body: bytes, size: int = 500) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


CODED = {
    "gzip": gzip.compress(PAGE),
    "deflate": zlib.compress(PAGE),
    "br": brotli.compress(PAGE),
    "gzip, br": PAGE,  # unknown ones, and those that were taken off, are left as they are
    "br ": PAGE,
}


def sent_in_every_way() -> Iterator[bytes]:
    for at, (coding, body) in enumerate(CODED.items()):
        encoding = f"Content-Encoding: {coding}\r\n"
        yield record(f"https://a.test/{at}", encoding, body)
        yield record(f"https://a.test/{at}c", f"{encoding}Transfer-Encoding: chunked\r\n", chunked(body))


def reason_for(whole: bytes, folder: Path) -> BadArchive | None:
    begun = time.process_time()
    try:
        read(whole, folder, ArchiveReader(max_records=10_000, free_bytes=2_000_000))
        return None
    except ArchiveRefused as refused:
        return refused.reason
    finally:
        assert time.process_time() - begun < BOUND


def test_bodies_are_taken_out_of_every_coding(tmp_path: Path) -> None:
    packs: tuple[Callable[[bytes], bytes], ...] = (bytes, gzip.compress)
    for pack in packs:
        found = read(b"".join(map(pack, sent_in_every_way())), tmp_path)
        assert [one.page.body for one in found] == [PAGE] * 2 * len(CODED)


def test_a_file_that_is_cut_off_anywhere_is_damaged(tmp_path: Path) -> None:
    packed = [gzip.compress(one) for one in sent_in_every_way()]
    ends = {sum(map(len, packed[:count])) for count in range(len(packed) + 1)}
    whole = b"".join(packed)
    for cut in {
        *range(12, len(whole), 101),
        len(whole) - 1,
        *(end + 1 for end in ends if 0 < end < len(whole)),
    }:
        assert reason_for(whole[:cut], tmp_path) is (None if cut in ends else BadArchive.DAMAGED), cut
    plain = b"".join(sent_in_every_way())
    for cut in range(len(plain) // 2, len(plain) - 10, 211):
        assert reason_for(plain[:cut], tmp_path) is BadArchive.DAMAGED, cut


def test_a_file_with_wrong_bytes_or_a_hole_is_damaged(tmp_path: Path) -> None:
    whole = b"".join(map(gzip.compress, sent_in_every_way()))
    for _ in range(60):
        at = CHANCE.randrange(20, len(whole) - 20)
        wrong = whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]
        hole = whole[:at] + whole[at + CHANCE.randrange(1, 300) :]
        assert reason_for(hole, tmp_path) is BadArchive.DAMAGED
        assert reason_for(wrong, tmp_path) in (BadArchive.DAMAGED, None)  # some bytes of a head mean nothing


def in_wacz(*files: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, body in files:
            archive.writestr(name, body)
    return file.getvalue()


ZEROS = bytes(6_000_000)
BOMB = gzip.compress(record("https://a.test/", "", ZEROS), 9)
ENDLESS_HEAD = b"WARC/1.1\r\n" + b"A: b\r\n" * 40_000
PACKED_BODY = record("https://a.test/", "Content-Encoding: gzip\r\n", gzip.compress(bytes(900_000), 9))


@pytest.mark.parametrize(
    ("whole", "reason"),
    [
        (BOMB, BadArchive.UNPACKS_TOO_LARGE),
        (in_wacz(("archive/a.warc.gz", BOMB)), BadArchive.UNPACKS_TOO_LARGE),
        (in_wacz(("archive/a.warc", ZEROS), method=zipfile.ZIP_DEFLATED), BadArchive.UNPACKS_TOO_LARGE),
        (gzip.compress(BOMB), BadArchive.NOT_AN_ARCHIVE),
        (gzip.compress(PACKED_BODY) * 100, BadArchive.UNPACKS_TOO_LARGE),
        (b"WARC/1.1" + b"x" * 1_000_000, BadArchive.DAMAGED),
        (ENDLESS_HEAD, BadArchive.DAMAGED),
        (gzip.compress(ENDLESS_HEAD), BadArchive.DAMAGED),
        (next(sent_in_every_way()) + b"\n" * 250_000, BadArchive.DAMAGED),
        (gzip.compress(b"") * 20_001, BadArchive.TOO_MANY_RECORDS),
        (in_wacz(("archive/../a.warc.gz", b"")), BadArchive.UNSAFE_NAMES),
        (in_wacz(("archive/C:\\a.warc.gz", b""), ("\\a", b"")), BadArchive.UNSAFE_NAMES),
        (in_wacz(("archive/a.warc.gz", gzip.compress(PAGE)))[:-9], BadArchive.NOT_AN_ARCHIVE),
    ],
    ids=range(13),
)
def test_a_hostile_file_ends_soon_in_a_reason(whole: bytes, reason: BadArchive, tmp_path: Path) -> None:
    assert reason_for(whole, tmp_path) is reason


def test_revisits_are_resolved_in_every_kind_of_file(tmp_path: Path) -> None:
    first = record("https://a.test/1", "", PAGE, more="WARC-Payload-Digest: sha1:X\r\n")
    again = record("https://a.test/2", "", b"", "revisit", "WARC-Payload-Digest: sha1:X\r\n")
    far = record("https://a.test/0", "", CHANCE.randbytes(MAX_SKIPPED // 2).hex().encode() + b"1")
    packed = b"".join(map(gzip.compress, (far, first, again)))
    stored = in_wacz(("archive/other.warc.gz", gzip.compress(far)), ("archive/a.warc.gz", packed))
    for whole in (far + first + again, packed, gzip.compress(first + again), stored):
        assert [one.page.body for one in read(whole, tmp_path)][-2:] == [PAGE, PAGE]
    # Nobody can go back in these without unpacking most of the file again.
    for whole in (
        gzip.compress(far + first + again),
        in_wacz(("archive/a.warc.gz", packed), method=zipfile.ZIP_DEFLATED),
    ):
        assert [one.page.url for one in read(whole, tmp_path)][-1] == "https://a.test/1"


def test_zeros_at_the_end_are_no_damage(tmp_path: Path) -> None:
    whole, _ = written(page_of("https://a.test/1", HTML))
    assert len(read(whole + bytes(200_000), tmp_path)) == 1
