"""Real S3 servers on free ports of loopback: Moto knows all of S3, rclone checks signatures."""

import itertools
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from tests.servers.daemon import Daemon

KEY, SECRET = "test-key", "test-secret"
BUCKET = "pages"


class S3(Daemon):
    @property
    def url(self) -> str:
        return self.url_of(BUCKET)

    @property
    def environ(self) -> Mapping[str, str]:
        return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}

    def url_of(self, bucket: str, prefix: str = "") -> str:
        return f"s3://{bucket}/{prefix}?endpoint=http://127.0.0.1:{self.port}&region=us-east-1"

    def start(self) -> None:
        super().start()
        self.make_bucket(BUCKET)

    def make_bucket(self, name: str) -> None:
        raise NotImplementedError

    def _environ(self) -> Mapping[str, str]:
        return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "RCLONE_"))}

    def _answers(self) -> bool:
        try:
            _ask("GET", self.port, "/")
        except HTTPError as answer:
            answer.close()
        except OSError:
            return False
        return True


class Moto(S3):
    """Keeps everything in memory: what was there before a `kill` is not there after it."""

    def make_bucket(self, name: str) -> None:
        _ask("PUT", self.port, f"/{name}")

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]


class Rclone(S3):
    """Keeps objects as files, and refuses whoever does not know the secret."""

    def make_bucket(self, name: str) -> None:
        (self._folder / "buckets" / name).mkdir(parents=True, exist_ok=True)

    def _command(self) -> list[str]:
        self.make_bucket(BUCKET)
        program = Path(sys.executable).with_name("rclone")
        listen = ["--addr", f"127.0.0.1:{self.port}", "--auth-key", f"{KEY},{SECRET}", "--config", ""]
        return [str(program), "serve", "s3", *listen, str(self._folder / "buckets")]


def _ask(method: str, port: int, path: str) -> None:
    request = Request(f"http://127.0.0.1:{port}{path}", method=method)
    build_opener(ProxyHandler({})).open(request, timeout=5).close()


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    """One for all tests, which keep apart by their buckets or prefixes."""
    server = Moto(tmp_path_factory.mktemp("moto"))
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="session")
def rclone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rclone]:
    server = Rclone(tmp_path_factory.mktemp("rclone"))
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture
def own_s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """One that the test may break; what it holds is there again after `kill` and `start`."""
    server = Rclone(tmp_path_factory.mktemp("rclone"))
    try:
        server.start()
        yield server
    finally:
        server.kill()


_numbers = itertools.count()


@pytest.fixture
def s3_url(moto: Moto) -> str:
    """A place in a bucket that only the running test uses."""
    return moto.url_of(BUCKET, f"test{next(_numbers)}")
