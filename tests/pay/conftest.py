"""Nothing here may ever ask a public chain or facilitator, not even for its address."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.npm import install_packages

NODE = Path(__file__).parent / "node"
_LOOPBACK = ("127.", "::1", "localhost")
_guarded = False


def _refuse_others(event: str, arguments: tuple[Any, ...]) -> None:
    if not _guarded or event not in ("socket.connect", "socket.getaddrinfo"):
        return
    to = arguments[1] if event == "socket.connect" else arguments
    host = to[0] if isinstance(to, tuple) else None  # else it is a socket of this machine's
    if isinstance(host, bytes):
        host = host.decode("ascii")
    if isinstance(host, str) and not host.startswith(_LOOPBACK):
        raise PermissionError(f"a test of payments wanted to reach {host}")


sys.addaudithook(_refuse_others)


@pytest.fixture(scope="session")
def node_clients() -> Path:
    install_packages(NODE)
    return NODE / "pay.mjs"


@pytest.fixture(autouse=True)
def loopback_only() -> Iterator[None]:
    global _guarded
    _guarded = True
    yield
    _guarded = False
