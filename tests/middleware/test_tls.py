"""Gossamer behind https, and behind a certificate that nobody has signed."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.integrations.servers import PAGE, Server, gossamer

from gossamer.middleware import asgi, wsgi

HEADERS = [(b"host", b"www.example.com"), (b"user-agent", b"GPTBot/1.0")]
SCOPE = {
    "type": "http",
    "method": "GET",
    "scheme": "https",
    "path": "/",
    "query_string": b"",
    "headers": HEADERS,
}
ENVIRON = {
    "REQUEST_METHOD": "GET",
    "PATH_INFO": "/",
    "wsgi.url_scheme": "https",
    "HTTP_HOST": "www.example.com",
    "HTTP_USER_AGENT": "GPTBot/1.0",
}


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    server = Server(gossamer, tls=context)
    await server.start()
    yield server
    await server.stop()


async def over_asgi(url: str) -> bytes:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nobody asks")

    async def site(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.body", "body": b"site"})

    await asgi.ServeBotsAsgi(site, url=url, key="sk_live_test", origin="https://www.example.com")(
        dict(SCOPE), receive, send
    )
    return b"".join(message.get("body", b"") for message in sent)


async def over_wsgi(url: str) -> bytes:
    def ask() -> bytes:
        served: Any = wsgi.ServeBotsWsgi(
            lambda *_: [b"site"], url=url, key="sk_live_test", origin="https://www.example.com"
        )
        answer = served(dict(ENVIRON), lambda *_: None)
        try:
            return b"".join(answer)
        finally:
            getattr(answer, "close", lambda: None)()

    return await asyncio.to_thread(ask)


@pytest.mark.parametrize("over", [over_asgi, over_wsgi])
async def test_a_certificate_that_is_good(server: Server, over: Any) -> None:
    assert await over(server.url) == PAGE.encode()
    assert server.asked[0].url == "https://www.example.com/"


@pytest.mark.parametrize("over", [over_asgi, over_wsgi])
async def test_a_certificate_that_is_not(server: Server, over: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    assert await over(server.url) == b"site"
    assert server.asked == []
