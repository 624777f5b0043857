"""Gossamer over HTTP: a server under load, and clients that cost as little as they can."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from threading import local
from typing import Final
from urllib.parse import urlsplit

import msgspec

from bench.contenders.worker import Run, run_in_threads
from bench.contenders.worker_process import WARM_UP
from bench.servers import Server

END_OF_HEAD: Final = b"\r\n\r\n"
LENGTH: Final = b"content-length:"
CHUNK: Final = 1 << 18
CACHED_PASSES: Final = 20  # over the pages


class Answer(msgspec.Struct):
    outcome: str
    content: str = ""


class ApiError(Exception):
    """An answer that is not the one asked for: then the numbers mean nothing."""


@dataclass(frozen=True, slots=True)
class Api:
    name: str
    server: Server
    key: str
    cached: bool = False

    @property
    def pid(self) -> int:
        return self.server.pid

    def warm_up(self, urls: Sequence[str], at_once: int) -> None:
        """With a cache all of them, so that what follows are hits."""
        self._run(urls if self.cached else urls[:WARM_UP], at_once, b"")

    def run(self, urls: Sequence[str], at_once: int) -> Run:
        if self.cached:  # soon given, so more of them
            return self._run([*urls] * CACHED_PASSES, at_once, b"hit")
        return self._run(urls, at_once, b"bypass")

    def _run(self, urls: Sequence[str], at_once: int, cache_status: bytes) -> Run:
        decoder = msgspec.json.Decoder(Answer)
        requests = {url: self._request(url) for url in urls}
        mine = local()

        def read(url: str) -> str:
            if not hasattr(mine, "client"):
                mine.client = Client(self.server.address)
            head, body = mine.client.ask(requests[url])
            if not head.startswith(b"http/1.1 200 ") or b"x-cache-status: " + cache_status not in head:
                raise ApiError(f"{url}: {head.decode()}\n{body[:1000].decode()}")
            answer = decoder.decode(body)
            return answer.content if answer.outcome == "ok" else ""

        return run_in_threads(read, urls, at_once)

    def _request(self, url: str) -> bytes:
        body = msgspec.json.encode({"url": url, "cache": self.cached})
        head = (
            f"POST /fetch HTTP/1.1\r\nhost: {urlsplit(self.server.address).netloc}\r\n"
            f"authorization: Bearer {self.key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


class Client:
    """One kept connection. The head it gives back is in lower case."""

    def __init__(self, address: str) -> None:
        where = urlsplit(address)
        self._socket = socket.create_connection((where.hostname, where.port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> tuple[bytes, bytes]:
        self._socket.sendall(request)
        received = bytearray()
        while END_OF_HEAD not in received:
            received += self._more()
        head, _, start = received.partition(END_OF_HEAD)
        head = head.lower()
        length = int(head.partition(LENGTH)[2].partition(b"\r\n")[0])
        body = bytearray(start)
        while len(body) < length:
            body += self._more()
        return bytes(head), bytes(body)

    def _more(self) -> bytes:
        received = self._socket.recv(CHUNK)
        if not received:
            raise ApiError("the server closed the connection")
        return received
