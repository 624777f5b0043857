"""UnpackedFile: a WARC file without its compression, which is read once from its beginning.

A compressed WARC file is a row of gzip members, most often one for each record. They are unpacked in small
pieces, so that no member can fill the memory. A file that ends in a member is damaged.
"""

import zlib
from collections import deque
from collections.abc import Callable
from typing import IO, Final, NamedTuple

from gossamer.web.documents.warc.bad_archive import ArchiveRefused, BadArchive

PIECE: Final = 65_536  # packed bytes that are read at a time
MAX_SKIPPED: Final = 1_000_000  # bytes of a member that are read again to get to a record in it
_GZIP: Final = b"\x1f\x8b"
_REMEMBERED: Final = 2_000  # members; those of the records that a reader may have in its buffer


class RecordPlace(NamedTuple):
    """Where a record can be read again."""

    packed: int  # offset of the member
    skipped: int  # unpacked bytes of the member before the record


class UnpackedFile:
    """`count` is told how much was unpacked, and raises when it is too much."""

    def __init__(self, file: IO[bytes], count: Callable[[int], None], max_members: int) -> None:
        self._file, self._count = file, count
        self._members_left = max_members
        self._packed = file.read(PIECE)  # what is not unpacked yet
        self._packed_end = len(self._packed)  # where that ends in the file
        self._is_packed = self._packed.startswith(_GZIP)
        self._unpacker: zlib._Decompress | None = None
        self._at = 0
        self._starts: deque[tuple[int, int]] = deque([(0, 0)], maxlen=_REMEMBERED)  # unpacked and packed

    @property
    def position(self) -> int:
        """How far the file was read."""
        return self._packed_end - len(self._packed)

    def tell(self) -> int:
        return self._at

    def read(self, size: int = PIECE) -> bytes:
        """Empty at the end. Raises `ArchiveRefused`."""
        piece = self._unpack(size) if self._is_packed else self._take(size)
        self._at += len(piece)
        self._count(len(piece))
        return piece

    def read_past(self, size: int) -> None:
        while size > 0 and (piece := self.read(min(size, PIECE))):
            size -= len(piece)

    def place_of(self, offset: int) -> RecordPlace | None:
        """Where a record with this offset in the unpacked file begins; None if it is too far to go there."""
        if not self._is_packed:
            return RecordPlace(offset, 0)
        for unpacked, packed in reversed(self._starts):
            if unpacked <= offset:
                return RecordPlace(packed, offset - unpacked) if offset - unpacked <= MAX_SKIPPED else None
        return None

    def _take(self, size: int) -> bytes:
        if not self._packed:
            self._fill()
        piece, self._packed = self._packed[:size], self._packed[size:]
        return piece

    def _unpack(self, size: int) -> bytes:
        while True:
            if self._unpacker is None and not self._begin_member():
                return b""
            unpacker = self._unpacker
            assert unpacker is not None  # noqa: S101 - a member was begun
            try:
                piece = unpacker.decompress(self._packed, size)
            except zlib.error as error:
                raise ArchiveRefused(BadArchive.DAMAGED) from error
            self._packed = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            if unpacker.eof:
                self._unpacker = None
            if piece:
                return piece
            if not unpacker.eof and not self._packed and not self._fill():
                raise ArchiveRefused(BadArchive.DAMAGED)  # it ends in a member

    def _begin_member(self) -> bool:
        """False: there is no other one. Zeros at the end are none."""
        if not self._packed and not self._fill():
            return False
        while not self._packed.strip(b"\0"):
            if not self._fill():
                return False
        self._members_left -= 1
        if self._members_left < 0:
            raise ArchiveRefused(BadArchive.TOO_MANY_RECORDS)
        if self._starts[-1][0] == self._at:  # the last one was empty
            self._starts.pop()
        self._starts.append((self._at, self.position))
        self._unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
        return True

    def _fill(self) -> bool:
        """Only when everything before is used."""
        self._packed = self._file.read(PIECE)
        self._packed_end += len(self._packed)
        return bool(self._packed)
