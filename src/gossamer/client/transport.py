"""Transport: how a call reaches a server, over HTTP or in the same process."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the API."""

    method: str
    path: str  # with its query
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a call, received completely."""

    status: int
    headers: Mapping[str, str]  # names are in lower case; values of one name are joined by commas
    body: bytes


@dataclass(frozen=True, slots=True)
class StreamedReply:
    """The answer to a call, whose body is still arriving."""

    status: int
    headers: Mapping[str, str]
    body: AsyncIterator[bytes]


class Transport(Protocol):
    async def send(self, call: Call) -> Reply: ...

    def stream(self, call: Call) -> AbstractAsyncContextManager[StreamedReply]: ...

    async def close(self) -> None: ...
