"""Encoding: a result as JSON, a bounded amount of work in each turn of the event loop.

The encoder takes 70 ms for ten megabytes of quotes, and nothing else runs meanwhile. A thread would not help:
the encoder keeps the interpreter's lock. So long texts are encoded by pieces, with turns for others between.
"""

import asyncio
from typing import Final

import msgspec
from msgspec.structs import replace

from gossamer import problems
from gossamer.problems import Problem

MAX_ANSWER_BYTES: Final = 10_000_000  # bytes
PIECE: Final = 256 * 1024  # characters


async def encode_by_pieces(value: msgspec.Struct, most: int = MAX_ANSWER_BYTES) -> bytes:
    """JSON of at most `most` bytes. Raises `Problem` for more, before the rest is encoded."""
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    long = {name: text for name, text in fields.items() if isinstance(text, str) and len(text) > PIECE}
    length = sum(map(len, long.values()))
    refuse_longer(length, most)
    encoded: dict[str, msgspec.Raw] = {}
    for name, text in long.items():
        length -= len(text)  # its real length is counted instead
        written = await _encode(text, length, most)
        length += len(written)
        encoded[name] = msgspec.Raw(written)
    return bounded(msgspec.json.encode(replace(value, **encoded) if encoded else value), most)


async def _encode(text: str, beside: int, most: int) -> bytearray:
    encoded = bytearray(b'"')
    for start in range(0, len(text), PIECE):
        piece = msgspec.json.encode(text[start : start + PIECE])
        encoded += memoryview(piece)[1:-1]  # without its quotes
        refuse_longer(beside + len(encoded), most)
        await asyncio.sleep(0)
    encoded += b'"'
    return encoded


def bounded(body: bytes, most: int = MAX_ANSWER_BYTES) -> bytes:
    """The body of an answer. Raises `Problem` if it is too large: nothing is ever cut silently."""
    refuse_longer(len(body), most)
    return body


def refuse_longer(length: int, most: int = MAX_ANSWER_BYTES) -> None:
    if length > most:
        raise Problem(
            problems.CONTENT_TOO_LARGE,
            f"The answer would have more than {most:,} bytes.",
            hint="Ask for fewer formats, or for the format llm with maxTokens.",
            details={"reason": "answer_too_large", "maxBytes": most},
        )
