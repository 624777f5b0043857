"""The process that reads an archive (`python -m gossamer.flows.data.warc.import_process FILE …`).

It has bounded memory and time, knows no secrets, and writes messages to its standard output: the length of a
body, and then a body of one of these shapes. The last one is an `ImportEnd`.
"""

import os
import resource
import sys
import time
from typing import BinaryIO, Final

import msgspec

from gossamer.web.documents.warc.bad_archive import ArchiveRefused, BadArchive
from gossamer.web.documents.warc.imported_page import ImportedPage

LENGTH_BYTES: Final = 4
MEMORY: Final = 512 * 1024**2
TELL_SECONDS: Final = 1.0  # between two words about progress


class ImportProgress(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """How far the file was read. It also says that the process is alive."""

    position: int


class ImportEnd(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """What was in the file, and why it was not read to its end."""

    records: int
    skipped: dict[str, int]
    reason: BadArchive | None = None


ImportMessage = ImportedPage | ImportProgress | ImportEnd


class Sender:
    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._told = 0.0

    def send(self, message: ImportMessage) -> None:
        body = msgspec.msgpack.encode(message)
        self._sink.write(len(body).to_bytes(LENGTH_BYTES) + body)
        self._sink.flush()

    def tell(self, position: int) -> None:
        now = time.monotonic()
        if now >= self._told + TELL_SECONDS:
            self._told = now
            self.send(ImportProgress(position))


def main(path: str, seconds: int, max_body: int) -> None:
    from gossamer.web.documents.warc.warc_reader import ArchiveReader  # only this process reads

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    sender = Sender(sys.stdout.buffer)
    reader, reason = ArchiveReader(max_body=max_body, on_progress=sender.tell), None
    try:
        with open(path, "rb") as file:
            for page in reader.read(file):
                sender.send(page)
    except ArchiveRefused as refused:
        reason = refused.reason
    except MemoryError:
        reason = BadArchive.TOO_MUCH_WORK
    sender.send(ImportEnd(reader.records, dict(reader.skipped), reason))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
