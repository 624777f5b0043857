"""The servers of a `Web`: one process on many addresses of loopback that keeps a line for each request.

    began ended address target status      seconds of the machine's monotonic clock; status 0: unanswered

An answer has ended before anyone can have received it, so who waits from there on is not early, however
busy the machine is.
"""

import asyncio
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

import uvloop

from tests.crawl.web import Answer, Web
from tests.servers.daemon import Daemon

BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Visit:
    began: float
    ended: float
    address: str
    target: str
    status: int

    @classmethod
    def parse(cls, line: str) -> "Visit":
        began, ended, address, target, status = line.split()
        return cls(float(began), float(ended), address, target, int(status))


class Origin(Daemon):
    """Starts, freezes and ends them, and reads what they have kept."""

    def __init__(self, folder: Path, web: Web) -> None:
        super().__init__(folder)
        self.port = web.port
        self.web = web
        self._kept = folder / "visits"

    def visits(self) -> list[Visit]:
        whole = self._kept.read_text().rpartition("\n")[0]
        return [Visit.parse(line) for line in whole.splitlines()]

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "tests.crawl.origin", self.web.text(), str(self._kept)]

    def _answers(self) -> bool:
        try:
            with socket.create_connection((self.web.address(self.web.hosts - 1), self.port), timeout=1):
                return True
        except OSError:
            return False


class _Servers:
    def __init__(self, web: Web, kept: TextIO) -> None:
        self.web = web
        self._kept = kept
        self._times: Counter[tuple[int, str]] = Counter()

    def answer(self, host: int, target: str) -> Answer | None:
        self._times[host, target] += 1
        return self.web.answer(host, target, times=self._times[host, target])

    def keep(self, began: float, address: str, target: str, status: int) -> None:
        self._kept.write(f"{began:.6f} {time.monotonic():.6f} {address} {target} {status}\n")


class _Connection(asyncio.Protocol):
    def __init__(self, servers: _Servers) -> None:
        self._servers = servers
        self._received = b""
        self._asked: tuple[float, str] | None = None  # not answered yet

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._address: str = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        self._received = rest
        target = head.split(b" ", 2)[1].decode()
        self._asked = time.monotonic(), target
        answer = self._servers.answer(self._servers.web.number(self._address), target)
        if answer is None:
            self._transport.close()
        elif self._servers.web.latency:
            asyncio.get_running_loop().call_later(self._servers.web.latency, self._send, answer)
        else:
            self._send(answer)

    def connection_lost(self, error: Exception | None) -> None:
        if self._asked:
            self._servers.keep(self._asked[0], self._address, self._asked[1], 0)
            self._asked = None

    def _send(self, answer: Answer) -> None:
        if not self._asked:
            return  # who asked is gone
        (began, target), self._asked = self._asked, None
        self._servers.keep(began, self._address, target, answer.status)
        fields = "".join(f"{line}\r\n" for line in (*answer.fields, f"Content-Length: {len(answer.body)}"))
        self._transport.write(f"HTTP/1.1 {answer.status} X\r\n{fields}\r\n".encode() + answer.body)


def listening(addresses: Iterable[str], port: int) -> list[socket.socket]:
    sockets = []
    for address in addresses:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((address, port))
        one.listen(BACKLOG)
        sockets.append(one)
    return sockets


async def serve(web: Web, kept: TextIO) -> None:
    servers = _Servers(web, kept)
    loop = asyncio.get_running_loop()
    for one in listening(map(web.address, range(web.hosts)), web.port):
        await loop.create_server(lambda: _Connection(servers), sock=one)
    await asyncio.Event().wait()


def main() -> None:
    web, kept = Web.parse(sys.argv[1]), Path(sys.argv[2])
    with kept.open("w", buffering=1) as lines:
        uvloop.run(serve(web, lines))


if __name__ == "__main__":
    main()
