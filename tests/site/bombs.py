"""1 GiB of zeros in every coding, made without ever having 1 GiB."""

import sys
import zlib
from functools import cache

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["bomb", "zstd"]

BLOCK = bytes(1024 * 1024)
BLOCKS = 1024


@cache
def bomb(coding: str) -> bytes:
    match coding:
        case "gzip":
            return (
                b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + _deflated() + _checksum().to_bytes(4, "little") + _length()
            )
        case "deflate":
            return b"\x78\x9c" + _deflated() + _adler().to_bytes(4)
        case "br":
            stream = brotli.Compressor(quality=5, lgwin=24)
            return b"".join([*(stream.process(BLOCK) for _ in range(BLOCKS)), stream.finish()])
        case "zstd":
            compressor = zstd.ZstdCompressor(level=1)
            return b"".join(compressor.compress(BLOCK) for _ in range(BLOCKS)) + compressor.flush()
    raise ValueError(coding)


def _deflated() -> bytes:
    """A block that leaves nothing behind (full flush) may simply be repeated."""
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = stream.compress(BLOCK) + stream.flush(zlib.Z_FULL_FLUSH)
    return block * BLOCKS + stream.flush()


def _checksum() -> int:
    value = 0
    for _ in range(BLOCKS):
        value = zlib.crc32(BLOCK, value)
    return value


def _adler() -> int:
    value = 1
    for _ in range(BLOCKS):
        value = zlib.adler32(BLOCK, value)
    return value


def _length() -> bytes:
    return (len(BLOCK) * BLOCKS % 2**32).to_bytes(4, "little")
