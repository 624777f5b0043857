"""The first answer over standard output, before the SDK and the engine are loaded.

Loading takes seconds, in which clients call a server broken. So the first request, by which a client learns
who we are, is answered at once. The SDK then gets it too, and its equal answer is dropped.
"""

import os
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final, Self

import msgspec
from msgspec import Struct

from gossamer.doors.mcp.identity import EXTENSIONS, INSTRUCTIONS, NAME, TITLE, VERSION

_CHUNK: Final = 65_536
_MAX_FIRST_LINE: Final = 1_000_000
_LISTED: Final = {"listChanged": False}
_CAPABILITIES: Final[dict[str, Any]] = {
    "resources": {**_LISTED, "subscribe": False},
    "tools": _LISTED,
}
_SERVER: Final = {"name": NAME, "title": TITLE, "version": VERSION}
_PREFIX: Final = "io.modelcontextprotocol/"


class StandardStreams(Struct):
    """Standard input and output, which belong to the protocol alone from now on."""

    incoming: int
    outgoing: int
    received: bytes = b""  # and not given to the SDK yet
    has_greeted: bool = False

    @classmethod
    def claim(cls) -> Self:
        """Whatever else prints to standard output now reaches standard error, and nobody else reads."""
        incoming, outgoing = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return cls(incoming, outgoing)

    def greet(self) -> None:
        """Wait for the first line, and answer it if it asks who we are."""
        while b"\n" not in self.received and len(self.received) < _MAX_FIRST_LINE:
            piece = os.read(self.incoming, _CHUNK)
            self.received += piece
            if not piece:
                return
        answer = greeting(self.received.partition(b"\n")[0])
        if answer is not None:
            self.write(answer + b"\n")
            self.has_greeted = True

    def write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self.outgoing, rest) :]


def greeting(line: bytes) -> bytes | None:
    """None for everything that the SDK shall answer."""
    try:
        message = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    match message:
        case {
            "jsonrpc": "2.0",
            "id": str() | int() as number,
            "method": "initialize",
            "params": {"protocolVersion": str() as asked, "capabilities": dict(), "clientInfo": dict()},
        }:
            return _answer(number, _initialize(asked))
        case {
            "jsonrpc": "2.0",
            "id": str() | int() as number,
            "method": "server/discover",
            "params": {"_meta": dict() as meta},
        }:
            return _answer(number, _discover(meta))
        case _:
            return None


def _initialize(asked: str) -> dict[str, Any]:
    revisions = _revisions()
    return {
        "capabilities": _CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "protocolVersion": asked
        if asked in revisions.HANDSHAKE_PROTOCOL_VERSIONS
        else revisions.LATEST_HANDSHAKE_VERSION,
        "serverInfo": _SERVER,
    }


def _discover(meta: dict[str, Any]) -> dict[str, Any] | None:
    known = _revisions().MODERN_PROTOCOL_VERSIONS
    if meta.get(f"{_PREFIX}protocolVersion") not in known:
        return None
    if not isinstance(meta.get(f"{_PREFIX}clientCapabilities"), dict):
        return None
    return {
        "_meta": {f"{_PREFIX}serverInfo": _SERVER},
        "cacheScope": "private",
        "capabilities": {"extensions": EXTENSIONS, **_CAPABILITIES},
        "instructions": INSTRUCTIONS,
        "resultType": "complete",
        "supportedVersions": list(known),
        "ttlMs": 0,
    }


def _revisions() -> Any:
    """The SDK's own list, without the package around it, which takes a third of a second to import."""
    package = find_spec("mcp_types")
    folder = (package.submodule_search_locations or [""])[0] if package is not None else ""
    spec = spec_from_file_location("mcp_revisions", Path(folder) / "version.py")
    assert spec is not None  # noqa: S101  (the command has looked for the package)
    assert spec.loader is not None  # noqa: S101  (it is a file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _answer(number: str | int, result: dict[str, Any] | None) -> bytes | None:
    if result is None:
        return None
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "result": result})
