"""The middleware for WSGI applications."""

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlsplit

from gossamer.middleware.breaker import Breaker
from gossamer.middleware.rules import Answer, Site, Visit, is_page, passed_on, status
from gossamer.middleware.wire import Broken, Reading, question

Environ = dict[str, Any]
App = Callable[[Environ, Any], Iterable[bytes]]

CHUNK: Final = 65_536
STREAM: Final = socket.SOCK_STREAM


class ServeBots:
    def __init__(self, app: App, **options: Any) -> None:
        """The options are the fields of `rules.Site`."""
        self._app = app
        self._site = Site(**options)
        self._breaker = Breaker(self._site.failures, self._site.pause, time.monotonic)
        secure = self._site.url.startswith("https:")
        self._tls = ssl.create_default_context() if secure else None

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        visit = _visit(environ)
        if self._site.wants(visit) and self._breaker.allows():
            served = self._serve(visit, start_response)
            if served is not None:
                return served
        return self._app(environ, start_response)

    def _serve(self, visit: Visit, start_response: Any) -> Iterable[bytes] | None:
        """None: Gossamer has nothing for this visit, and nothing was sent."""
        asking = Asking(self._site, self._tls)
        try:
            answer = asking.ask(visit)
        except (OSError, Broken):
            answer = None
        if answer is None or answer.status >= 500:
            self._breaker.failed()
            asking.close()
            return None
        self._breaker.succeeded()
        if not is_page(answer, visit):
            asking.close()
            return None
        start_response(_line(status(answer)), passed_on(answer))
        if visit.method == "HEAD":
            asking.close()
            return ()
        return asking


class Asking:
    """One question on a connection of its own; iterating gives the body of the answer."""

    def __init__(self, site: Site, tls: ssl.SSLContext | None) -> None:
        self._site = site
        self._tls = tls
        self._socket = socket.socket()
        self._until = time.monotonic() + site.deadline
        self._reading = Reading()

    def ask(self, visit: Visit) -> Answer | None:
        self._connect()
        self._socket.settimeout(self._left())
        self._socket.sendall(question(self._site, visit))
        while self._reading.answer is None:
            self._receive()
        return self._reading.answer

    def __iter__(self) -> Iterator[bytes]:
        """What goes wrong here cuts the visitor's connection: a part must not look like the whole."""
        while True:
            if part := self._reading.taken():
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


def _line(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"{code} Status"


def _visit(environ: Environ) -> Visit:
    headers = {
        name[5:].replace("_", "-").lower(): text for name, text in environ.items() if name.startswith("HTTP_")
    }
    target = str(environ.get("REQUEST_URI") or environ.get("RAW_URI") or "")
    if not target.startswith("/"):  # decoded by the server, as the specification has it
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        query = environ.get("QUERY_STRING", "")
        target = quote(path.encode("latin-1"), safe="/:@!$&'()*+,;=~-._") + (f"?{query}" if query else "")
    scheme = environ.get("wsgi.url_scheme", "http")
    return Visit(environ["REQUEST_METHOD"], scheme, target.encode("latin-1"), headers)
