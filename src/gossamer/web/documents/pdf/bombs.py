"""Bombs: know before PDFium runs that a PDF would unpack to more than can be read.

A kilobyte can unpack to a hundred megabytes of instructions, and PDFium makes an object of each,
which would take all the memory of the process. Compressed streams are top-level parts of the file, so they
are found and unpacked here first, a chunk at a time and without keeping anything. Images and attached files
are skipped, because PDFium does not unpack them for their text. Streams that are encrypted or compressed in
another way, are not seen here; the limits of the process hold for them.
"""

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

MAX_STREAM_BYTES: Final = 32 * 1024**2  # of one unpacked stream
MAX_UNPACKED_BYTES: Final = 128 * 1024**2
MAX_MEMORY_BYTES: Final = 256 * 1024**2
BYTES_PER_CHAR: Final = 220  # of memory, as measured
BYTES_PER_OPERATOR: Final = 500
MAX_COMPRESSIONS: Final = 8  # nested in each other
CHUNK_BYTES: Final = 256 * 1024
DICTIONARY_BYTES: Final = 4096  # before a stream, which may describe it

_STREAM: Final = re.compile(rb"(?<!end)stream\r?\n")
_NOT_UNPACKED: Final = re.compile(rb"/Subtype\s*/Image\b|/Type\s*/EmbeddedFile\b")
_TEXT_SHOWN: Final = re.compile(rb"\((?:[^()\\]|\\.)*+\)|<[0-9A-Fa-f]++>", re.DOTALL)
_OPERATOR: Final = re.compile(rb"[\s)\]>](?:T[jJ]|[SsfFbB]\*?|Do|['\"])(?=\s)")


def is_bomb(body: bytes) -> bool:
    whole = 0
    for stream in _streams(body):
        size = memory = 0
        for chunk in _unpack(stream):
            size += len(chunk)
            memory += _estimate(chunk)
            if size > MAX_STREAM_BYTES or memory > MAX_MEMORY_BYTES or whole + size > MAX_UNPACKED_BYTES:
                return True
        whole += size
    return False


def _streams(body: bytes) -> Iterator[memoryview]:
    """Yield each compressed stream from its beginning; it contains its own end."""
    whole = memoryview(body)
    for match in _STREAM.finditer(body):
        described = body[max(0, match.start() - DICTIONARY_BYTES) : match.start()].rpartition(b" obj")[2]
        if _is_compressed(body[match.end() : match.end() + 2]) and not _NOT_UNPACKED.search(described):
            yield whole[match.end() :]


def _unpack(stream: memoryview) -> Iterable[bytes]:
    """Unpack a stream chunk by chunk, through nested compressions, as far as it is well-formed."""
    chunks = _inflate(stream[at : at + CHUNK_BYTES] for at in range(0, len(stream), CHUNK_BYTES))
    for _ in range(MAX_COMPRESSIONS):
        first = next(chunks, b"")
        together = chain([first], chunks)
        if not _is_compressed(first):
            return together
        chunks = _inflate(together)
    return chunks


def _inflate(chunks: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    inflating = zlib.decompressobj()
    try:
        for chunk in chunks:
            left: bytes | memoryview = chunk
            while not inflating.eof and (out := inflating.decompress(left, CHUNK_BYTES)):
                yield out
                left = inflating.unconsumed_tail
            if inflating.eof:
                return
    except zlib.error:
        return


def _is_compressed(start: bytes) -> bool:
    """Whether these are the first two bytes of a zlib stream."""
    return len(start) > 1 and start[0] & 0x0F == 8 and int.from_bytes(start[:2]) % 31 == 0


def _estimate(chunk: bytes) -> int:
    operators = len(_OPERATOR.findall(chunk))
    shown = sum(map(len, _TEXT_SHOWN.findall(chunk))) if operators else 0
    return operators * BYTES_PER_OPERATOR + shown * BYTES_PER_CHAR
