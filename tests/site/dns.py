"""A name server on loopback, UDP and TCP, that answers as it is told: also differently each time."""

import asyncio
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import cast

A, CNAME, SOA, TXT, AAAA = 1, 5, 6, 16, 28
KINDS = {4: A, 6: AAAA}
SERVFAIL, NXDOMAIN, REFUSED = 2, 3, 5


@dataclass(frozen=True)
class Reply:
    """One answer to the question for a name: its addresses of both kinds, or what goes wrong instead."""

    addresses: tuple[str, ...] = ()
    ttl: int = 0
    code: int = 0
    alias: str = ""  # the addresses belong to this name, which the asked one is an alias of
    silent: bool = False
    texts: tuple[str, ...] = ()
    truncated: bool = False  # over UDP, so that the question is asked again over TCP


class Clock:
    """What `Names` tells the time by; tests move it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class NameServer:
    def __init__(self) -> None:
        self.asked: Counter[tuple[str, int]] = Counter()
        self.asked_over_tcp = 0
        self.address = ""
        self._replies: dict[str, tuple[Reply, ...]] = {}

    def say(self, name: str, *replies: Reply | tuple[str, ...]) -> None:
        """The first time the first of `replies`, then the next, and the last one from then on."""
        self._replies[name] = tuple(
            reply if isinstance(reply, Reply) else Reply(tuple(reply)) for reply in replies
        )

    def respond(self, query: bytes, *, udp: bool) -> bytes | None:
        name, kind, end = _question(query)
        replies = self._replies.get(name, (Reply(code=NXDOMAIN),))
        reply = replies[min(self.asked[name, kind], len(replies) - 1)]
        truncated = reply.truncated and udp
        if not truncated:
            self.asked[name, kind] += 1
            self.asked_over_tcp += not udp
        if reply.silent:
            return None
        records = [] if truncated else _records(reply, kind)
        authority = [] if records or truncated else [_record(b"\xc0\x0c", SOA, 0, b"\0\0" + bytes(20))]
        flags = 0x8180 | (0x0200 if truncated else 0) | reply.code
        header = query[:2] + struct.pack(">HHHHH", flags, 1, len(records), len(authority), 0)
        return header + query[12:end] + b"".join(records + authority)

    def count(self, name: str) -> int:
        """How often the name was looked up."""
        return self.asked[name, A]


def _question(query: bytes) -> tuple[str, int, int]:
    labels, at = [], 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    (kind,) = struct.unpack_from(">H", query, at + 1)
    return ".".join(labels).lower(), kind, at + 5


def _records(reply: Reply, kind: int) -> list[bytes]:
    owner = _encoded(reply.alias) if reply.alias else b"\xc0\x0c"
    records = [_record(b"\xc0\x0c", CNAME, reply.ttl, owner)] if reply.alias else []
    addresses = [address for address in map(ip_address, reply.addresses) if kind == KINDS[address.version]]
    if kind == TXT:
        texts = [text.encode() for text in reply.texts]
        return records + [_record(owner, TXT, reply.ttl, bytes([len(text)]) + text) for text in texts]
    return records + [_record(owner, kind, reply.ttl, address.packed) for address in addresses]


def _record(owner: bytes, kind: int, ttl: int, data: bytes) -> bytes:
    return owner + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data


def _encoded(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._server.respond(data, udp=True)
        if answer is not None:
            self._transport.sendto(answer, addr)


@asynccontextmanager
async def name_server() -> AsyncIterator[NameServer]:
    server = NameServer()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                (length,) = struct.unpack(">H", await reader.readexactly(2))
                answer = server.respond(await reader.readexactly(length), udp=False)
                if answer is not None:
                    writer.write(struct.pack(">H", len(answer)) + answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    streams = await asyncio.start_server(stream, "127.0.0.1", 0)
    port = streams.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    datagrams, _ = await loop.create_datagram_endpoint(
        lambda: _Datagrams(server), local_addr=("127.0.0.1", port)
    )
    server.address = f"127.0.0.1:{port}"
    try:
        yield server
    finally:
        datagrams.close()
        streams.close()
        await streams.wait_closed()
