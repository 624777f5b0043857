"""The process that reads an archive (`python -m gossamer.flows.crawl.export.import_process FILE …`).

It has bounded memory and time, knows no secrets, and writes messages to its standard output: the length of a
body, and then a body of one of these shapes. The last one is an `ImportEnd`.
"""

import os
import resource
import sys
from typing import BinaryIO, Final

import msgspec

from gossamer.web.warc.bad_archive import BadArchive
from gossamer.web.warc.warc_reader import ArchiveReader, ArchiveRefused, ImportedPage

LENGTH_BYTES: Final = 4
MEMORY: Final = 512 * 1024**2


class ImportEnd(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """What was in the file, and why it was not read to its end."""

    records: int
    skipped: dict[str, int]
    reason: BadArchive | None = None


ImportMessage = ImportedPage | ImportEnd


def send(sink: BinaryIO, message: ImportMessage) -> None:
    body = msgspec.msgpack.encode(message)
    sink.write(len(body).to_bytes(LENGTH_BYTES) + body)
    sink.flush()


def main(path: str, seconds: int, max_body: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    reader, reason = ArchiveReader(max_body=max_body), None
    sink = sys.stdout.buffer
    try:
        with open(path, "rb") as file:
            for page in reader.read(file):
                send(sink, page)
    except ArchiveRefused as refused:
        reason = refused.reason
    except MemoryError:
        reason = BadArchive.TOO_MUCH_WORK
    send(sink, ImportEnd(reader.records, dict(reader.skipped), reason))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
