"""Image size: read the width and height of a PNG, JPEG or WebP from its bytes."""

import struct
from typing import Final, NamedTuple

_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})  # JPEG markers with a size
_BARE: Final = frozenset({0x01, *range(0xD0, 0xD9)})  # JPEG markers without a length


class Size(NamedTuple):
    width: int
    height: int


def size_of(picture: bytes) -> Size:
    """Return the size in pixels; raises ValueError for other formats."""
    try:
        if picture.startswith(b"\x89PNG\r\n\x1a\n") and picture[12:16] == b"IHDR":
            return Size(*struct.unpack_from(">II", picture, 16))
        if picture.startswith(b"\xff\xd8"):
            return _size_of_jpeg(picture)
        if picture.startswith(b"RIFF") and picture[8:12] == b"WEBP":
            return _size_of_webp(picture)
    except (struct.error, IndexError):
        raise ValueError("the picture ends before it says how large it is") from None
    raise ValueError("neither PNG nor JPEG nor WebP")


def _size_of_jpeg(picture: bytes) -> Size:
    at = 2
    while picture[at] == 0xFF:
        marker = picture[at + 1]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", picture, at + 5)
            return Size(width, height)
        if marker == 0xFF:  # padding
            at += 1
        elif marker in _BARE:
            at += 2
        else:
            at += 2 + max(2, struct.unpack_from(">H", picture, at + 2)[0])
    raise ValueError("a JPEG without a frame")


def _size_of_webp(picture: bytes) -> Size:
    match picture[12:16]:
        case b"VP8X":
            width, height = (int.from_bytes(picture[at : at + 3], "little") + 1 for at in (24, 27))
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", picture, 21)
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", picture, 26))
        case _:
            raise ValueError("a WebP of an unknown kind")
    return Size(width, height)
