"""The body of an archived answer, as it was before it was sent: not chunked, and not packed.

Some tools have decoded bodies and kept the headers that described their coding. So what cannot be decoded is
taken as it is.
"""

from collections.abc import Iterator
from typing import Any, Final

from gossamer.web.documents.decoders import CORRUPT, DECODERS, PIECE_BYTES

MAX_LINE: Final = 64  # bytes of a line that gives the size of a chunk


def read_payload(record: Any, max_bytes: int) -> bytes | None:
    """None: it is larger than that, before or after it is unpacked."""
    sent = _bounded(_sent(record), max_bytes)
    decode = DECODERS.get(_header(record, "content-encoding"))
    if not sent or decode is None:
        return sent
    try:
        return _bounded(decode().pieces(sent), max_bytes)
    except CORRUPT:
        return sent


def _sent(record: Any) -> Iterator[bytes]:
    stream = record.raw_stream
    if _header(record, "transfer-encoding") == "chunked":
        line = stream.readline(MAX_LINE)
        size = _chunk_size(line)
        if size is None:
            yield line
        else:
            yield from _chunks(stream, size)
            return
    while piece := stream.read(PIECE_BYTES):
        yield piece


def _chunks(stream: Any, size: int | None) -> Iterator[bytes]:
    """What is there, if they do not end as they should."""
    while size:
        piece = stream.read(min(size, PIECE_BYTES))
        if not piece:
            return
        yield piece
        size -= len(piece)
        if not size:
            stream.readline(2)
            size = _chunk_size(stream.readline(MAX_LINE))


def _chunk_size(line: bytes) -> int | None:
    digits = line.partition(b";")[0].strip()
    try:
        return int(digits, 16) if line.endswith(b"\n") and digits.isalnum() else None
    except ValueError:
        return None


def _bounded(pieces: Iterator[bytes], max_bytes: int) -> bytes | None:
    whole = bytearray()
    for piece in pieces:
        whole += piece
        if len(whole) > max_bytes:
            return None
    return bytes(whole)


def _header(record: Any, name: str) -> str:
    head = record.http_headers
    return ((head.get_header(name) if head is not None else "") or "").strip().lower()
