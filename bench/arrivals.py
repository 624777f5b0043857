"""Requests that arrive when it is their time, whether or not earlier ones are answered.

So a server that falls behind is seen to: the time of an answer counts from when its request was due.
"""

import http.client
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

ANSWER_SECONDS: Final = 60.0

Then = Callable[[float, bytes], None]  # when the request was due, and what it was answered


class AnswerError(Exception):
    """An answer that is not the one asked for: then the numbers mean nothing."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    body: bytes | None = None
    status: int = 200
    cache: str | None = None  # what `X-Cache` must say


@dataclass(slots=True)
class Caller:
    """A client with a kept connection for each thread."""

    address: str
    headers: Mapping[str, str]
    _mine: threading.local = field(default_factory=threading.local)

    def ask(self, request: Request) -> bytes:
        connection = self._connection()
        connection.request(request.method, request.path, request.body, dict(self.headers))
        answer = connection.getresponse()
        body = answer.read()
        cache = answer.getheader("X-Cache")
        if answer.status != request.status or (request.cache and cache != request.cache):
            told = body[:500].decode(errors="replace")
            raise AnswerError(f"{request.method} {request.path}: {answer.status} {cache}: {told}")
        return body

    def _connection(self) -> http.client.HTTPConnection:
        if not hasattr(self._mine, "connection"):
            where = urlsplit(self.address)
            assert where.hostname is not None
            self._mine.connection = http.client.HTTPConnection(
                where.hostname, where.port, timeout=ANSWER_SECONDS
            )
        connection: http.client.HTTPConnection = self._mine.connection
        return connection


def arrive(caller: Caller, requests: Sequence[Request], rate: float, then: Then | None = None) -> list[float]:
    """Milliseconds until each was answered. `then` goes on from there in the same thread, off the clock."""

    def ask(request: Request, due: float) -> float:
        body = caller.ask(request)
        took = time.perf_counter() - due
        if then is not None:
            then(due, body)
        return took * 1000

    began = time.perf_counter()
    with ThreadPoolExecutor(len(requests) if then else 32) as threads:
        waiting = []
        for number, request in enumerate(requests):
            due = began + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            waiting.append(threads.submit(ask, request, due))
        return [each.result() for each in waiting]
