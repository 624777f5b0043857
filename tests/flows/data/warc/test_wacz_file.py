"""WACZ files, as their readers need them."""

import io
import struct
import zipfile

from tests.web.documents.warc.test_warc import AT, page_of

from gossamer.flows.data.warc.wacz_file import WARC_NAME, WaczFile
from gossamer.web.documents.warc.warc_stream import ArchivedExchange, WarcStream


def test_readers_of_ranges_find_where_each_file_begins() -> None:
    """ReplayWeb.page takes a file to begin after its name, unless the directory has extra fields for it."""
    file, stream = WaczFile("A site", "", "2026-01-01T12:00:00Z"), WarcStream(WARC_NAME, {})
    whole = file.add(stream.begin()) + file.add(*stream.add(ArchivedExchange(page_of("https://a.test/"), AT)))
    whole += b"".join(file.end())
    file.close()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        assert archive.testzip() is None
        infos = archive.infolist()
    assert len(infos) == 6
    for info in infos:
        (local,) = struct.unpack("<H", whole[info.header_offset + 28 : info.header_offset + 30])
        assert bool(local) == bool(info.extra), info.filename
