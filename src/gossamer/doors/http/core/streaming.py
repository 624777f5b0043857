"""Sends the body of an answer while it is being produced."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


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
