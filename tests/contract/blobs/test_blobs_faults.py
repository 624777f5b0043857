"""What Blobs do when what is beneath them is away, frozen, full, read-only, gone or not ours."""

import asyncio
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from tests.servers.postgres import UNPRIVILEGED
from tests.servers.s3 import KEY, S3, Moto, Rclone

from gossamer.problems import Unavailable
from gossamer.state.blobs.blobs import Blobs, open_blobs
from gossamer.state.blobs.blobs_folder import LEFT_BEHIND, THREADS, FolderBlobs
from gossamer.state.blobs.blobs_s3 import Bucket

BODY = b"what was there before"
LARGE = bytes(3_000_000)
SOON = 20.0  # seconds, on a busy machine: what is not bounded takes much longer


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def attempts(blobs: Blobs) -> list[Callable[[], Awaitable[object]]]:
    return [
        blobs.ping,
        lambda: blobs.put("pages/new", b"x"),
        lambda: blobs.get("pages/a"),
        lambda: anext(blobs.stream("pages/a")),
        lambda: blobs.drop(["pages/a"]),
    ]


async def away(blobs: Blobs, why: str) -> None:
    """Whatever is asked, it says that it is away, and why."""
    with within(SOON):
        answers = await asyncio.gather(*(attempt() for attempt in attempts(blobs)), return_exceptions=True)
    for answer in answers:
        assert isinstance(answer, Unavailable), answer
        assert answer.service == "blobs"
        assert re.search(why, answer.detail)


# A bucket.


@pytest.fixture
async def remote(own_s3: S3) -> AsyncIterator[Blobs]:
    blobs = open_blobs(own_s3.url, own_s3.environ, deadline=1.0)
    await blobs.put("pages/a", BODY)
    yield blobs
    await blobs.close()


async def test_server_stopped_and_started(remote: Blobs, own_s3: S3) -> None:
    own_s3.kill()
    await away(remote, "no connection|no answer")
    own_s3.start()
    assert await remote.get("pages/a") == BODY
    await remote.ping()


async def test_server_restarted_between_two_uses_nobody_notices(remote: Blobs, own_s3: S3) -> None:
    own_s3.kill()
    own_s3.start()
    await asyncio.gather(*(remote.put(f"pages/{number}", BODY) for number in range(10)))
    assert await remote.get("pages/a") == BODY


async def test_server_frozen(remote: Blobs, own_s3: S3) -> None:
    own_s3.stop()
    await away(remote, "no answer")
    with within(SOON):
        asked = [remote.get("pages/a") for _ in range(100)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(answer, Unavailable) for answer in answers)
    own_s3.cont()
    async with asyncio.timeout(60):  # until the threads that were given up have come back
        while True:
            with suppress(Unavailable):
                if await remote.get("pages/b") is None:
                    break


async def test_secret_that_is_wrong(rclone: Rclone) -> None:
    environ = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": "wrong"}
    blobs = open_blobs(rclone.url, environ, deadline=1.0)
    await away(blobs, "access is denied")
    await blobs.close()


async def test_secret_that_is_right(rclone: Rclone) -> None:
    blobs = open_blobs(rclone.url, rclone.environ)
    for name in ("a", "pages/with-dots.and_more/0", "z" * 200):
        await blobs.put(name, BODY, media_type="text/html; charset=utf-8", coding="gzip")
        assert await blobs.get(name) == BODY
        assert [chunk async for chunk in blobs.stream(name)] == [BODY]
    await blobs.drop(["a", "nothing"])
    assert await blobs.get("a") is None
    await blobs.close()


async def test_bucket_that_is_missing_is_not_an_empty_one(moto: Moto) -> None:
    blobs = open_blobs(moto.url_of("nowhere"), moto.environ)
    await away(blobs, "the bucket is missing")
    moto.make_bucket("nowhere")
    assert await blobs.get("pages/a") is None
    await blobs.put("pages/a", BODY)
    assert await blobs.get("pages/a") == BODY
    await blobs.close()


async def test_what_is_kept_says_what_it_is(s3_url: str, moto: Moto) -> None:
    blobs = open_blobs(s3_url, moto.environ)
    await blobs.put("pages/a", BODY, media_type="text/html; charset=utf-8", coding="gzip")
    await blobs.close()
    kept = Bucket.parse(s3_url, moto.environ).store(longest=5, silence=5).get("pages/a").attributes
    assert kept["Content-Type"] == "text/html; charset=utf-8"
    assert kept["Content-Encoding"] == "gzip"
    assert "no-transform" in kept["Cache-Control"]


async def test_what_the_url_says_counts_more_than_the_environment(
    s3_url: str, moto: Moto, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    blobs = open_blobs(s3_url, {**os.environ, **moto.environ})
    await blobs.ping()
    await blobs.close()


class Scripted:
    """A server that answers every request with the same bytes, and then is silent or hangs up."""

    def __init__(self, answer: bytes, *, hang_up: bool) -> None:
        self._answer = answer
        self._hang_up = hang_up
        self._over = asyncio.Event()

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return f"s3://bucket?endpoint=http://127.0.0.1:{port}"

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(self._answer)
            await writer.drain()
            if not self._hang_up:
                await self._over.wait()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


HEAD = (
    b'HTTP/1.1 200 OK\r\nContent-Length: 900000\r\nETag: "a"\r\n'
    b"Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
)
OTHER = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": "any"}


async def test_server_that_never_answers() -> None:
    async with Scripted(b"", hang_up=False) as url:
        blobs = open_blobs(url, OTHER, deadline=0.3)
        await away(blobs, "no answer")
        await blobs.close()


async def take_all(blobs: Blobs, received: list[bytes]) -> None:
    async for chunk in blobs.stream("pages/a"):
        received.append(chunk)  # noqa: PERF401 - what came before the fault counts


@pytest.mark.parametrize("hang_up", [True, False])
async def test_server_that_breaks_off_never_gives_a_part_for_the_whole(hang_up: bool) -> None:
    async with Scripted(HEAD + bytes(400_000), hang_up=hang_up) as url:
        blobs = open_blobs(url, OTHER, deadline=0.5)
        with within(SOON), pytest.raises(Unavailable, match=r"no answer|no connection|it answers"):
            await blobs.get("pages/a")
        received: list[bytes] = []
        with within(SOON), pytest.raises(Unavailable, match=r"no answer|no connection|it answers"):
            await take_all(blobs, received)
        assert 0 < sum(map(len, received)) < 900_000
        await blobs.close()


async def test_server_that_is_overloaded() -> None:
    answer = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    async with Scripted(answer, hang_up=True) as url:
        blobs = open_blobs(url, OTHER, deadline=1.0)
        await away(blobs, "it answers with 503|no answer")
        await blobs.close()


ENDS = """
import asyncio, sys
from gossamer.state.blobs.blobs import open_blobs
from gossamer.problems import Unavailable

async def main():
    asyncio.get_running_loop().slow_callback_duration = 60  # the machine may be busy
    blobs = open_blobs(sys.argv[1], {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}, deadline=0.5)
    asked = [asyncio.create_task(blobs.get("pages/a")) for _ in range(50)]
    await asyncio.sleep(0.2)
    for task in asked:
        task.cancel()
    await blobs.close()

asyncio.run(main())
"""


async def test_a_process_ends_well_while_the_server_is_silent() -> None:
    async with Scripted(b"", hang_up=False) as url:
        done = await asyncio.create_subprocess_exec(
            sys.executable, "-X", "dev", "-c", ENDS, url, stderr=subprocess.PIPE
        )
        async with asyncio.timeout(60):
            _, said = await done.communicate()
    assert (done.returncode, said) == (0, b"")


def test_the_client_is_loaded_only_where_it_is_chosen(tmp_path: Path) -> None:
    code = "import sys; from gossamer.state.blobs.blobs import open_blobs; "
    code += f"open_blobs('file://{tmp_path}/blobs', {{}}); print('obstore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


# A folder.


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can reach too, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name) / "blobs"


@pytest.fixture
async def local(folder: Path) -> AsyncIterator[Blobs]:
    blobs = open_blobs(folder.as_uri(), {}, deadline=2.0)
    await blobs.put("pages/a", BODY)
    yield blobs
    await blobs.close()


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_disk_that_fills_up_while_writing_shows_nothing_of_it(local: Blobs, folder: Path) -> None:
    before = files(folder)
    with full_disk(1_000_000):
        for name in ("pages/a", "pages/new"):
            with pytest.raises(Unavailable, match="larger than may be written"):
                await local.put(name, LARGE)
        assert await local.get("pages/a") == BODY
    assert await local.get("pages/new") is None
    assert files(folder) == before
    await local.put("pages/a", LARGE)
    assert await local.get("pages/a") == LARGE


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write everywhere; whoever is not root already is what we need."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(UNPRIVILEGED)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


async def test_folder_that_may_only_be_read(local: Blobs, folder: Path) -> None:
    inside = [path for path in folder.rglob("*") if path.is_dir()]
    for path in [folder, *inside]:
        path.chmod(0o555)
    for path in files(folder):
        path.chmod(0o444)
    with as_nobody():
        assert await local.get("pages/a") == BODY
        assert [chunk async for chunk in local.stream("pages/a")] == [BODY]
        for attempt in (local.ping, lambda: local.put("pages/a", b"x"), lambda: local.drop(["pages/a"])):
            with pytest.raises(Unavailable, match=r"denied|read-only"):
                await attempt()
    for path in [folder, *inside]:
        path.chmod(0o755)
    await local.put("pages/a", b"new")
    assert await local.get("pages/a") == b"new"


async def test_folder_that_is_gone_is_not_an_empty_one(local: Blobs, folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    await away(local, "the folder is gone")
    folder.with_name("elsewhere").rename(folder)
    assert await local.get("pages/a") == BODY


async def test_what_is_in_the_way_of_the_folder(folder: Path) -> None:
    folder.write_bytes(b"")
    blobs = open_blobs(folder.as_uri(), {})
    await away(blobs, "not a folder|File exists")
    folder.unlink()
    await blobs.put("pages/a", BODY)
    assert await blobs.get("pages/a") == BODY
    await blobs.close()


async def test_what_is_kept_is_for_its_owner_alone(local: Blobs, folder: Path) -> None:
    assert [path.stat().st_mode & 0o077 for path in folder.rglob("*")] == [0] * 3


async def test_disk_that_hangs(folder: Path) -> None:
    """A pipe that nobody writes to: opening it waits for ever, as a file on a lost network disk does."""
    blobs = FolderBlobs(folder, deadline=0.3)
    await blobs.put("pages/a", BODY)
    [file] = files(folder)
    file.unlink()
    os.mkfifo(file)
    with within(SOON):
        asked = [blobs.get("pages/a") for _ in range(THREADS // 2)]
        asked += [anext(blobs.stream("pages/a")) for _ in range(THREADS // 2)]
        answers = await asyncio.gather(*asked, blobs.put("pages/b", BODY), return_exceptions=True)
    assert [str(answer) for answer in answers] == [
        "The blobs is not answering right now (no answer within 0.3 s)."
    ] * (THREADS + 1)
    writer = os.open(file, os.O_WRONLY)  # it is back: every thread's call ends, and nothing stays open
    os.close(writer)
    async with asyncio.timeout(60):
        while True:
            with suppress(Unavailable):
                await blobs.put("pages/b", BODY)
                break
    assert not [one for one in psutil.Process().open_files() if str(folder) in one.path]
    await blobs.close()


WRITES = """
import asyncio, sys
from pathlib import Path
from gossamer.state.blobs.blobs_folder import FolderBlobs

async def main():
    blobs = FolderBlobs(Path(sys.argv[1]))
    while True:
        await asyncio.gather(*(blobs.put(f"pages/{number}", bytes(8_000_000)) for number in range(4)))

asyncio.run(main())
"""


async def test_killed_while_writing_then_tidied_up(folder: Path) -> None:
    incoming = folder / ".incoming"
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITES, str(folder)])
        async with asyncio.timeout(60):
            while not (incoming.exists() and any(incoming.iterdir())):
                await asyncio.sleep(0.001)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    # What looks as if somebody were writing it is left alone until nobody can be.
    fresh = open_blobs(folder.as_uri(), {})
    seen = [await fresh.get(f"pages/{number}") for number in range(4)]
    assert all(body is None or body == bytes(8_000_000) for body in seen)
    left = {path.name for path in incoming.iterdir()}
    assert left
    later = FolderBlobs(folder, clock=lambda: time.time() + LEFT_BEHIND + 60)
    await later.ping()
    assert list(incoming.iterdir()) == []
    assert [await later.get(f"pages/{number}") for number in range(4)] == seen
    await fresh.close()
    await later.close()
