"""One request to Gossamer and its answer, as bytes of HTTP/1.1. It opens no sockets."""

import json
import re
from collections.abc import Generator
from typing import Final
from urllib.parse import urlsplit

from gossamer.middleware.rules import MARK, ROBOT, RenderReply, SiteOptions, SiteVisit

MAX_LINE_BYTES: Final = 16_384
MAX_HEADERS: Final = 100
_Steps = Generator[None, None, None]


class Broken(Exception):
    """The bytes are not a complete answer."""


def render_request(site: SiteOptions, visit: SiteVisit) -> bytes:
    parts = urlsplit(site.url)
    body = json.dumps(site.asks(visit)).encode()
    headers = [
        ("Host", parts.netloc.rpartition("@")[2]),
        ("Authorization", f"Bearer {site.key}"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Accept", site.media_type(visit)),
        ("Accept-Encoding", "gzip" if _takes_gzip(visit) else "identity"),
        ("User-Agent", "Gossamer-Middleware"),
        (MARK, "middleware"),
        ("Connection", "close"),
    ]
    if robot := site.robot(visit):
        headers.append((ROBOT, robot))  # counted in the report of the site
    if known := visit.headers.get("if-none-match"):
        headers.append(("If-None-Match", known.replace("\r", " ").replace("\n", " ")))
    head = [
        f"POST {parts.path.rstrip('/')}{site.endpoint(visit)} HTTP/1.1",
        *(f"{name}: {text}" for name, text in headers),
    ]
    return "\r\n".join([*head, "", ""]).encode("latin-1", "replace") + body


def _takes_gzip(visit: SiteVisit) -> bool:
    accepted = visit.headers.get("accept-encoding", "").lower()
    codings = [coding.replace(" ", "").partition(";") for coding in accepted.split(",")]
    return any(name == "gzip" and not re.fullmatch(r"q=0(\.0*)?", quality) for name, _, quality in codings)


class ReplyReader:
    """Reads an answer while it arrives: `feed` it the bytes of the socket, and b"" at the end.

    `answer` is set when the headers are complete, `take()` returns the new bytes of the body, and `done` is
    true at its end. An answer that ends too early is `Broken`.
    """

    def __init__(self) -> None:
        self.answer: RenderReply | None = None
        self.done = False
        self._buffer = bytearray()
        self._ended = False
        self._body = bytearray()
        self._steps = self._read()
        next(self._steps)

    def feed(self, data: bytes) -> None:
        self._buffer += data
        self._ended = self._ended or not data
        try:
            next(self._steps)
        except StopIteration:
            self.done = True
        except ValueError as error:
            raise Broken(str(error)) from error

    def take(self) -> bytes:
        body = bytes(self._body)
        self._body.clear()
        return body

    def _read(self) -> _Steps:
        yield
        answer = yield from self._head()
        while 100 <= answer.status < 200:
            answer = yield from self._head()
        self.answer = answer
        if answer.status in (204, 304):
            return
        if answer.header("transfer-encoding").lower() == "chunked":
            yield from self._chunks()
        elif length := answer.header("content-length"):
            yield from self._bytes(int(length))
        else:
            yield from self._rest()

    def _head(self) -> Generator[None, None, RenderReply]:
        version, _, status = (yield from self._line()).partition(" ")
        if not version.startswith("HTTP/1."):
            raise Broken("that is not HTTP/1")
        headers = []
        while line := (yield from self._line()):
            name, _, value = line.partition(":")
            headers.append((name.strip().lower(), value.strip()))
            if len(headers) > MAX_HEADERS:
                raise Broken("too many headers")
        return RenderReply(int(status[:3]), tuple(headers))

    def _chunks(self) -> _Steps:
        while size := int((yield from self._line()).partition(";")[0], 16):
            yield from self._bytes(size)
            yield from self._line()
        while (yield from self._line()):
            pass

    def _bytes(self, count: int) -> _Steps:
        if count < 0:
            raise Broken("a negative length")
        while count:
            while not self._buffer:
                yield from self._more()
            part = self._buffer[:count]
            del self._buffer[: len(part)]
            self._body += part
            count -= len(part)

    def _rest(self) -> _Steps:
        while not self._ended:
            self._body += self._buffer
            self._buffer.clear()
            yield
        self._body += self._buffer

    def _line(self) -> Generator[None, None, str]:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > MAX_LINE_BYTES:
                raise Broken("too long a line")
            yield from self._more()
        line = self._buffer[:end].rstrip(b"\r").decode("latin-1")
        del self._buffer[: end + 1]
        return line

    def _more(self) -> _Steps:
        if self._ended:
            raise Broken("it ended too early")
        yield
