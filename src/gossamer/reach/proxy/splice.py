"""A tunnel between two connections. It counts the bytes and does not read them."""

import asyncio
from collections.abc import Callable
from typing import cast

from gossamer.reach.proxy.credentials import VisitCredentials
from gossamer.reach.proxy.wire import ESTABLISHED


class SpliceEnd(asyncio.Protocol):
    """One end of a tunnel. Its input is written to the other end."""

    __slots__ = ("_count", "_early", "_ended", "_is_lost", "moved", "other", "transport")

    def __init__(self, count: Callable[[int], None], ended: Callable[[], None]) -> None:
        self.moved = 0
        self.transport: asyncio.Transport
        self.other: SpliceEnd
        self._count = count
        self._ended = ended
        self._early: list[bytes] | None = []  # what came before the ends were joined
        self._is_lost = False  # before that

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.pause_reading()  # uvloop begins to read all the same

    def join(self) -> None:
        early, self._early = self._early, None
        for data in early or ():
            self.data_received(data)
        if self._is_lost:
            self.connection_lost(None)
        elif not self.transport.is_closing():
            self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._early is not None:
            self._early.append(data)
            self.transport.pause_reading()
            return
        size = len(data)
        self.moved += size
        self._count(size)
        if not self.other.transport.is_closing():
            self.other.transport.write(data)

    def pause_writing(self) -> None:
        if not self.other.transport.is_closing():
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if self._early is not None:
            self._is_lost = True
            return
        # Written bytes still arrive. If they do not, the end of the visit or a timeout cuts the other end.
        self.other.transport.close()
        self._ended()


class Tunnel:
    """Created before the origin is dialled, and joined when it answers. No byte moves before that."""

    head_since: None = None  # a tunnel has no request heads

    def __init__(
        self, visit: VisitCredentials, browser: asyncio.Transport, ended: Callable[["Tunnel"], None]
    ) -> None:
        self._visit = visit
        self._ended = ended
        self._open = 2
        self.browser = SpliceEnd(visit.give, self._end_lost)
        self.origin = SpliceEnd(visit.take, self._end_lost)
        self.browser.other, self.origin.other = self.origin, self.browser
        self.browser.transport = browser

    @property
    def moved(self) -> int:
        return self.browser.moved + self.origin.moved

    def join(self) -> None:
        self._visit.hold(self)
        self.browser.transport.set_protocol(self.browser)
        self.browser.transport.write(ESTABLISHED)
        self.origin.join()
        self.browser.join()

    def cut(self) -> None:
        self.browser.transport.abort()
        self.origin.transport.abort()

    def _end_lost(self) -> None:
        self._open -= 1
        if not self._open:
            self._visit.let_go(self)
            self._ended(self)
