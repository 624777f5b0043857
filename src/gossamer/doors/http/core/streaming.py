"""Sends the body of an answer while it is being produced, and bounds how many streams of events are open."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, Final

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from gossamer import problems
from gossamer.problems import Problem

EVENTS: Final = "text/event-stream"
BEAT: Final = b": still here\n\n"  # a comment that keeps a stream open
BEAT_SECONDS: Final = 15.0  # between two of them
MAX_STREAMS: Final = 100  # of one key at a time, in one process
RETRY_SECONDS: Final = 5  # after a stream was refused


class Streaming(StreamingResponse):
    """If the client disconnects, the source of the body is cancelled once and awaited. Starlette would cancel
    it at every step, so that it could not clean up."""

    def __init__(
        self,
        content: AsyncIterator[bytes] | AsyncIterator[str],
        *,
        media_type: str | None = None,
        headers: Mapping[str, str] | None = None,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        """`at_end` is always called, even if `content` was never read."""
        super().__init__(content, headers=headers, media_type=media_type)
        self._at_end = at_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self.stream_response(send))
        going = asyncio.ensure_future(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait((sending, going), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            sending.cancel()
            going.cancel()
            await asyncio.gather(sending, going, return_exceptions=True)
            await self._close()

    async def _close(self) -> None:
        if self._at_end is not None:
            self._at_end()
        body: Any = self.body_iterator
        if hasattr(body, "aclose"):  # a generator that was left suspended
            await body.aclose()


class EventStreams:
    """The streams of server-sent events that are open in this process, counted by the caller's key."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def start(self, key_id: str, events: AsyncIterator[bytes]) -> Streaming:
        if self._open[key_id] >= MAX_STREAMS:
            raise _too_many_streams()
        self._open[key_id] += 1
        return Streaming(events, media_type=EVENTS, at_end=partial(self._end, key_id))

    def _end(self, key_id: str) -> None:
        self._open[key_id] -= 1
        if not self._open[key_id]:
            del self._open[key_id]


def _too_many_streams() -> Problem:
    return Problem(
        problems.RATE_LIMITED,
        f"{MAX_STREAMS} streams of events are open with this key, which is the maximum.",
        hint="Close streams that you no longer read, or ask for the events as JSON.",
        headers={"Retry-After": str(RETRY_SECONDS)},
        retryAfter=RETRY_SECONDS,
        details={"reason": "too_many_streams"},
        limit=MAX_STREAMS,
        used=MAX_STREAMS,
    )
