"""npm's `prerender`: a server in Node with a Chromium behind it, and threads that ask it."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from bench.contenders.chromium import DEADLINE, flags
from bench.contenders.rendered import keep
from bench.contenders.worker import Read, serve_threads
from bench.servers import free_port

SCRIPT = Path(__file__).with_name("prerender.cjs")
START_SECONDS = 30.0


@contextmanager
def reader(package: Path, binary: str) -> Iterator[Read]:
    port = free_port()
    home = Path.cwd() / "profile"
    command = ["node", str(SCRIPT), str(package), str(port), binary, f"--user-data-dir={home}", *flags()]
    node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sys.stderr, start_new_session=True)
    try:
        _wait(f"http://127.0.0.1:{port + 1}/json/version")

        def read(url: str) -> str:
            html = _render(f"http://127.0.0.1:{port}/render?url={quote(url, safe='')}")
            keep(url, html)
            return html

        yield read
    finally:
        _stop(node)


def _wait(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            _get(url)
        except OSError:
            time.sleep(0.1)
        else:
            time.sleep(2)  # it looks for its browser once a second
            return
    raise RuntimeError("prerender did not start its browser")


def _render(url: str) -> str:
    """Nothing if it says that it failed, or says nothing."""
    try:
        return _get(url)
    except (urllib.error.HTTPError, TimeoutError):
        return ""


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
        return str(answer.read().decode())


def _stop(node: subprocess.Popen[bytes]) -> None:
    """With its browser, which is in its group."""
    with suppress(ProcessLookupError):
        os.killpg(node.pid, signal.SIGKILL)
    node.wait()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with reader(folder, sys.argv[2]) as read:
        serve_threads(json.loads((folder / "package.json").read_text())["version"], read)
