"""Follows lines of JSON that a server writes while it works, across as many connections as that takes."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TypeVar

import msgspec

from gossamer.client.errors import error_of
from gossamer.client.transport import Call, Reply, Transport

T = TypeVar("T")


async def read_lines(transport: Transport, path: str, answers: type[T]) -> AsyncGenerator[T]:
    """What one connection brings. Raises `ConnectionFailed` if it breaks."""
    decoder = msgspec.json.Decoder(answers)
    async with transport.stream(Call("GET", path, {"Accept": "application/x-ndjson"})) as streamed:
        if streamed.status >= 400:
            body = b"".join([piece async for piece in streamed.body])
            raise error_of(Reply(streamed.status, streamed.headers, body))
        async with aclosing(_split(streamed.body)) as lines:
            async for line in lines:
                yield decoder.decode(line)


async def read_bytes(transport: Transport, path: str) -> AsyncGenerator[bytes]:
    """A file, piece by piece. Raises `ConnectionFailed` if it breaks."""
    async with transport.stream(Call("GET", path, {"Accept": "*/*"})) as streamed:
        if streamed.status >= 400:
            body = b"".join([piece async for piece in streamed.body])
            raise error_of(Reply(streamed.status, streamed.headers, body))
        async for piece in streamed.body:
            yield piece


async def _split(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    rest = bytearray()
    async for piece in pieces:
        rest += piece
        *lines, last = rest.split(b"\n")
        for line in lines:
            if line:
                yield bytes(line)
        rest = bytearray(last)
    if rest:
        yield bytes(rest)
