"""Transport: how a call reaches a server, over HTTP or in the same process."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct, field

PIECE_BYTES: Final = 1_000_000  # of a file


class Call(Struct, frozen=True):
    """A request to the API."""

    method: str
    path: str  # with its query
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    file: Path | None = None  # whose content is the body; it is read while it is sent

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The body, in pieces."""
        if self.file is None:
            yield self.body
            return
        with await asyncio.to_thread(self.file.open, "rb") as opened:
            while piece := await asyncio.to_thread(opened.read, PIECE_BYTES):
                yield piece


class Reply(Struct, frozen=True):
    """The answer to a call, received completely."""

    status: int
    headers: Mapping[str, str]  # names are in lower case; values of one name are joined by commas
    body: bytes


class StreamedReply(Struct, frozen=True):
    """The answer to a call, whose body is still arriving."""

    status: int
    headers: Mapping[str, str]
    body: AsyncIterator[bytes]


class Transport(Protocol):
    async def send(self, call: Call) -> Reply: ...

    def stream(self, call: Call) -> AbstractAsyncContextManager[StreamedReply]: ...

    async def close(self) -> None: ...
