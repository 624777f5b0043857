"""HttpTransport: calls to a server over HTTP."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from gossamer import __version__
from gossamer.client.errors import ConnectionFailed
from gossamer.client.transport import Call, Reply, StreamedReply

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS: Final = 10.0
MAX_CONNECTIONS: Final = 100


class HttpTransport:
    """Keeps connections open between calls. Never follows redirects: the key is for this server alone."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        seconds: float,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        if find_spec("httpx") is None:
            raise ImportError("A client of a server needs httpx: pip install gossamer[client]")
        self._url = url.rstrip("/")
        self._headers: Mapping[str, str] = {"Authorization": f"Bearer {key}"} if key else {}
        self._seconds = seconds
        self._transport = transport
        self._opened: httpx.AsyncClient | None = None
        self._is_closed = False

    async def send(self, call: Call) -> Reply:
        async with self.stream(call) as streamed:
            body = b"".join([piece async for piece in streamed.body])
        return Reply(streamed.status, streamed.headers, body)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamedReply]:
        import httpx

        request = self._client().build_request(
            call.method,
            call.path,
            headers=dict(call.headers),
            content=call.pieces() if call.file is not None else call.body or None,
        )
        if call.body:
            request.headers.setdefault("Content-Type", "application/json")
        try:
            response = await self._client().send(request, stream=True)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise self._failure(error) from error
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            yield StreamedReply(response.status_code, headers, self._pieces(response))
        finally:
            await response.aclose()

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.aclose()
        self._is_closed = True

    async def _pieces(self, response: "httpx.Response") -> AsyncIterator[bytes]:
        import httpx

        try:
            async for piece in response.aiter_bytes():
                yield piece
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise self._failure(error) from error

    def _client(self) -> "httpx.AsyncClient":
        if self._is_closed:
            raise RuntimeError("The client is closed.")
        if self._opened is None:
            import httpx

            self._opened = httpx.AsyncClient(
                base_url=self._url,
                headers={"User-Agent": f"gossamer-python/{__version__}", **self._headers},
                timeout=httpx.Timeout(self._seconds, connect=CONNECT_SECONDS),
                limits=httpx.Limits(max_connections=MAX_CONNECTIONS),
                transport=self._transport,
                follow_redirects=False,
            )
        return self._opened

    def _failure(self, error: Exception) -> ConnectionFailed:
        why = str(error) or type(error).__name__
        return ConnectionFailed(
            f"{self._url} does not answer ({why})", "Check the address, and that the server is running."
        )
