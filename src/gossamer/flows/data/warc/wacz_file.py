"""WaczFile: a WACZ 1.1.1 file that is written while the records of its WARC file arrive.

    archive/data.warc.gz        stored, so that a reader can take one record out of it
    indexes/index.cdx.gz        CDXJ in blocks, stored
    indexes/index.idx           where each block begins
    pages/pages.jsonl           a line for each page
    datapackage.json            name, size and SHA-256 of the others
    datapackage-digest.json     SHA-256 of that

Only the index and the list of pages wait in temporary files until the WARC file is complete.
"""

import gzip
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from typing import IO, Any, Final

import msgspec

from gossamer import __version__
from gossamer.flows.data.warc.sorted_lines import SortedLines
from gossamer.web.documents.warc.cdxj import IndexedRecord
from gossamer.web.documents.warc.outgoing_file import OutgoingFile

MEDIA_TYPE: Final = "application/wacz"
WACZ_VERSION: Final = "1.1.1"
WARC_NAME: Final = "data.warc.gz"
LINES_IN_BLOCK: Final = 300
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
# The same as an extended timestamp. ReplayWeb.page looks at the extra fields before a file, where zip64 has
# some, only if the directory at the end has some for it, too.
_EXTRA: Final = struct.pack("<HHBl", 0x5455, 5, 1, 315_532_800)
_PAGES_HEAD: Final = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}


class WaczPage(msgspec.Struct, omit_defaults=True):
    """A line of the list of pages."""

    id: str
    url: str
    ts: str
    title: str = ""
    status: int = 0
    depth: int = 0


class WaczFile:
    """Blocks: not for the event loop's thread. `add` and the others return the bytes that are ready."""

    def __init__(self, title: str, description: str, created: str) -> None:
        self._about = {"title": title, "description": description, "created": created}
        self._main: WaczPage | None = None
        self._out = OutgoingFile()
        self._zip = zipfile.ZipFile(self._out, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._resources: list[dict[str, Any]] = []
        self._index = SortedLines()
        self._pages: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._pages.write(msgspec.json.encode(_PAGES_HEAD) + b"\n")
        self._warc: _Entry | None = self._open(f"archive/{WARC_NAME}")

    def add(
        self, records: bytes, indexed: IndexedRecord | None = None, page: WaczPage | None = None
    ) -> bytes:
        if self._warc is None:
            raise ValueError("the WARC file is complete")
        self._warc.write(records)
        if indexed is not None:
            self._index.add(indexed.line())
        if page is not None:
            self._main = self._main or page
            self._pages.write(msgspec.json.encode(page) + b"\n")
        return self._out.take()

    def end(self) -> Iterator[bytes]:
        """Everything that follows the WARC file."""
        if self._warc is not None:
            self._close_entry(self._warc)
            self._warc = None
        yield from self._write_index()
        pages = self._open("pages/pages.jsonl", zipfile.ZIP_DEFLATED)
        self._pages.seek(0)
        while piece := self._pages.read(1_000_000):
            pages.write(piece)
            yield self._out.take()
        self._close_entry(pages)
        package = msgspec.json.format(msgspec.json.encode(self._package()), indent=2)
        self._whole("datapackage.json", package)
        digest = {"path": "datapackage.json", "hash": _hash_of(package)}
        self._whole("datapackage-digest.json", msgspec.json.encode(digest))
        self._zip.close()
        yield self._out.take()

    def close(self) -> None:
        """Remove what is left on the disk."""
        self._pages.close()
        self._index.__exit__(None, None, None)

    def _write_index(self) -> Iterator[bytes]:
        blocks = self._open("indexes/index.cdx.gz")
        about = {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
        directory = [b"!meta 0 " + msgspec.json.encode(about)]
        lines = iter(self._index)
        while block := list(islice(lines, LINES_IN_BLOCK)):
            packed = gzip.compress(b"".join(block), mtime=0)
            place = {"offset": blocks.size, "length": len(packed), "digest": _hash_of(packed)}
            key, timestamp, _ = block[0].split(b" ", 2)
            directory.append(b" ".join((key, timestamp, msgspec.json.encode(place))))
            blocks.write(packed)
            yield self._out.take()
        self._close_entry(blocks)
        index = self._open("indexes/index.idx")
        index.write(b"\n".join((*directory, b"")))
        self._close_entry(index)

    def _package(self) -> dict[str, Any]:
        main = {"mainPageUrl": self._main.url, "mainPageDate": self._main.ts} if self._main else {}
        return {
            "profile": "data-package",
            "wacz_version": WACZ_VERSION,
            "software": f"Gossamer/{__version__}",
            **self._about,
            **main,
            "resources": self._resources,
        }

    def _open(self, path: str, method: int = zipfile.ZIP_STORED) -> "_Entry":
        info = zipfile.ZipInfo(path, _EPOCH)
        info.compress_type = method
        info.extra = _EXTRA
        info.external_attr = 0o644 << 16
        return _Entry(path, self._zip.open(info, "w", force_zip64=True))

    def _close_entry(self, entry: "_Entry") -> None:
        entry.file.close()
        name = entry.path.rpartition("/")[2]
        self._resources.append(
            {
                "name": name,
                "path": entry.path,
                "hash": f"sha256:{entry.hash.hexdigest()}",
                "bytes": entry.size,
            }
        )

    def _whole(self, path: str, body: bytes) -> None:
        info = zipfile.ZipInfo(path, _EPOCH)
        info.external_attr = 0o644 << 16
        self._zip.writestr(info, body)


class _Entry:
    """A file in the archive, whose size and hash are taken while it is written."""

    def __init__(self, path: str, file: IO[bytes]) -> None:
        self.path, self.file = path, file
        self.size = 0
        self.hash = sha256()

    @property
    def digest(self) -> str:
        return f"sha256:{self.hash.hexdigest()}"

    def write(self, piece: bytes) -> None:
        self.file.write(piece)
        self.size += len(piece)
        self.hash.update(piece)


def _hash_of(body: bytes) -> str:
    return f"sha256:{sha256(body).hexdigest()}"


def iso_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
