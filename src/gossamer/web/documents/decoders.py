"""Decoders of content codings, which hand out what they decode in bounded pieces.

None is asked for more than `PIECE_BYTES` at once, and none may keep a larger window than the standard of its
coding allows.
"""

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES: Final = 256 * 1024
MAX_MEMBERS: Final = 1_000  # of a gzip or zstd stream that is several in a row
ZSTD_WINDOW: Final = 23  # log2 of 8 MiB, the most that RFC 9659 allows a sender


class Decoder(Protocol):
    @property
    def complete(self) -> bool:
        """Whether the stream may end here."""

    def pieces(self, data: bytes) -> Iterator[bytes]: ...


class Inflate:
    """One zlib stream, of the format that `wbits` names; what follows it is in `rest`."""

    def __init__(self, wbits: int) -> None:
        self._stream = zlib.decompressobj(wbits)
        self.complete = False
        self.rest = b""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        stream = self._stream
        while not stream.eof:
            piece = stream.decompress(data, PIECE_BYTES)
            yield piece
            data = stream.unconsumed_tail
            if not data and len(piece) < PIECE_BYTES:
                break
        self.complete = stream.eof
        self.rest = stream.unused_data


class Gzip:
    """Several members in a row. Other data after the last one is ignored, as in browsers."""

    MAGIC: Final = b"\x1f\x8b"

    def __init__(self) -> None:
        self._member = Inflate(wbits=31)
        self._members = 1
        self._between = b""  # what follows a member, until it is known whether it begins another
        self.complete = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._member.complete:
                data = self._between + data
                self._between = data if len(data) < len(self.MAGIC) else b""
                if not data.startswith(self.MAGIC):
                    return
                self._begin_member()
            yield from self._member.pieces(data)
            data = self._member.rest
            self.complete = self._member.complete

    def _begin_member(self) -> None:
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise zlib.error("too many members")
        self._member = Inflate(wbits=31)


class Deflate:
    """`deflate` as zlib, which is the standard, or as a bare stream, which some servers send."""

    def __init__(self) -> None:
        self._stream: Inflate | None = None
        self._start = b""

    @property
    def complete(self) -> bool:
        return self._stream is not None and self._stream.complete

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            data = self._start = self._start + data
            if len(data) < 2:
                return
            is_zlib = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
            self._stream = Inflate(wbits=15 if is_zlib else -15)
        yield from self._stream.pieces(data)


class Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    @property
    def complete(self) -> bool:
        return bool(self._stream.is_finished())

    def pieces(self, data: bytes) -> Iterator[bytes]:
        stream = self._stream
        while True:
            piece = stream.process(data, output_buffer_limit=PIECE_BYTES)
            yield piece
            # All input may be taken in while there is still output to come.
            if stream.is_finished() or (stream.can_accept_more_data() and len(piece) < PIECE_BYTES):
                return
            data = b""


class Zstd:
    """Frames in a row."""

    OPTIONS: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW}

    def __init__(self) -> None:
        self._frame = zstd.ZstdDecompressor(options=self.OPTIONS)
        self._frames = 1

    @property
    def complete(self) -> bool:
        return self._frame.eof

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._frame.eof:
                if not data:
                    return
                self._begin_frame()
            yield self._frame.decompress(data, max_length=PIECE_BYTES)
            data = self._frame.unused_data if self._frame.eof else b""
            if not self._frame.eof and self._frame.needs_input:
                return

    def _begin_frame(self) -> None:
        self._frames += 1
        if self._frames > MAX_MEMBERS:
            raise zstd.ZstdError("too many frames")
        self._frame = zstd.ZstdDecompressor(options=self.OPTIONS)


DECODERS: Final[dict[str, Callable[[], Decoder]]] = {
    "gzip": Gzip,
    "x-gzip": Gzip,
    "deflate": Deflate,
    "br": Brotli,
    "zstd": Zstd,
}
CORRUPT: Final[tuple[type[Exception], ...]] = (zlib.error, brotli.error, zstd.ZstdError)
