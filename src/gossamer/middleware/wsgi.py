"""The middleware for WSGI applications."""

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlsplit

from gossamer.middleware.breaker import FrontBreaker
from gossamer.middleware.rules import RenderReply, SiteOptions, SiteVisit, has_failed, status
from gossamer.middleware.wire import Broken, ReplyReader, render_request

Environ = dict[str, Any]
App = Callable[[Environ, Any], Iterable[bytes]]

CHUNK: Final = 65_536
STREAM: Final = socket.SOCK_STREAM


class ServeBotsWsgi:
    def __init__(self, app: App, **options: Any) -> None:
        """The options are the fields of `rules.SiteOptions`."""
        self._app = app
        self._site = SiteOptions(**options)
        self._breaker = FrontBreaker(self._site.failures, self._site.pause, time.monotonic)
        secure = self._site.url.startswith("https:")
        self._tls = ssl.create_default_context() if secure else None

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        visit = _visit(environ)
        if self._site.wants(visit) and self._breaker.allows():
            served = self._serve(visit, start_response)
            if served is not None:
                return served
        if self._site.varies(visit):
            start_response = _add_vary(start_response, self._site.site_varies())
        return self._app(environ, start_response)

    def _serve(self, visit: SiteVisit, start_response: Any) -> Iterable[bytes] | None:
        """None: Gossamer has nothing for this visit, and nothing was sent."""
        asking = RenderConnection(self._site, self._tls)
        try:
            answer = asking.ask(visit)
        except (OSError, Broken):
            answer = None
        if answer is None or has_failed(answer):
            self._breaker.record_failure()
            asking.close()
            return None
        self._breaker.record_success()
        if not self._site.is_page(answer, visit):
            asking.close()
            return None
        start_response(_line(status(answer)), self._site.headers_to_pass_on(answer))
        if visit.method == "HEAD":
            asking.close()
            return ()
        return asking


class RenderConnection:
    """One request on its own connection; iterating yields the body of the answer."""

    def __init__(self, site: SiteOptions, tls: ssl.SSLContext | None) -> None:
        self._site = site
        self._tls = tls
        self._socket = socket.socket()
        self._until = time.monotonic() + site.patience
        self._reading = ReplyReader()

    def ask(self, visit: SiteVisit) -> RenderReply | None:
        self._connect()
        self._socket.settimeout(self._left())
        self._socket.sendall(render_request(self._site, visit))
        while self._reading.answer is None:
            self._receive()
        return self._reading.answer

    def __iter__(self) -> Iterator[bytes]:
        """An error here cuts the visitor's connection: a part must not look like the whole."""
        while True:
            if part := self._reading.take():
                yield part
            if self._reading.done:
                return
            self._until = time.monotonic() + self._site.deadline
            self._receive()

    def close(self) -> None:
        self._socket.close()

    def _connect(self) -> None:
        parts = urlsplit(self._site.url)
        port = parts.port or (443 if self._tls else 80)
        refused = OSError("no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(parts.hostname, port, type=STREAM):
            self._socket.close()
            self._socket = socket.socket(family, kind, protocol)
            self._socket.settimeout(self._left())
            try:
                self._socket.connect(address)
                break
            except OSError as error:
                refused = error
        else:
            raise refused
        if self._tls is not None:
            self._socket = self._tls.wrap_socket(self._socket, server_hostname=parts.hostname)

    def _receive(self) -> None:
        self._socket.settimeout(self._left())
        self._reading.feed(self._socket.recv(CHUNK))

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def _add_vary(start_response: Any, field: tuple[str, str]) -> Any:
    """Mark the site's own answer as one that depends on who asks."""

    def send_varying(line: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        return start_response(line, [*headers, field], *more)

    return send_varying


def _line(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"{code} Status"


def _visit(environ: Environ) -> SiteVisit:
    headers = {
        name[5:].replace("_", "-").lower(): text for name, text in environ.items() if name.startswith("HTTP_")
    }
    target = str(environ.get("REQUEST_URI") or environ.get("RAW_URI") or "")
    if not target.startswith("/"):  # decoded by the server, as the specification has it
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        query = environ.get("QUERY_STRING", "")
        target = quote(path.encode("latin-1"), safe="/:@!$&'()*+,;=~-._") + (f"?{query}" if query else "")
    return SiteVisit(environ["REQUEST_METHOD"], target.encode("latin-1"), headers)
