"""Each integration as a server of its own, between a robot and a site."""

import asyncio
import io
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
import uvicorn

from gossamer.middleware import asgi, wsgi
from tests.integrations.servers import Server, gossamer, site
from tests.npm import install_packages
from tests.servers.daemon import free_port

KINDS = ("asgi", "wsgi", "express", "nextjs", "cloudflare", "nginx")
SNIPPETS = Path(__file__).parents[2] / "docs" / "integrations"
NODE = Path(__file__).parent / "node"
KEY = "sk_live_test"
ORIGIN = "https://www.example.com"
START_SECONDS = 20.0


class Place:
    """A Gossamer, a site, and what stands in front of it at `url`."""

    url: str

    def __init__(self, kind: str, folder: Path, stack: AsyncExitStack) -> None:
        self.kind = kind
        self.gossamer = Server(gossamer)
        self.site = Server(site)
        self._folder = folder
        self._stack = stack

    async def open(self, deadline: float = 10.0, pause: int = 30, url: str = "", key: str = KEY) -> None:
        for server in (self.gossamer, self.site):
            await server.start()
            self._stack.push_async_callback(server.stop)
        self._asks, self._key = url or self.gossamer.url, key
        start = {"asgi": self._asgi, "wsgi": self._wsgi, "nginx": self._nginx}.get(self.kind, self._node)
        port = await start(deadline, pause)
        self.url = f"http://127.0.0.1:{port}"

    def _options(self, deadline: float, pause: int) -> dict[str, Any]:
        return {"url": self._asks, "key": self._key, "origin": ORIGIN, "deadline": deadline, "pause": pause}

    async def _asgi(self, deadline: float, pause: int) -> int:
        app: Any = asgi.ServeBots(_asgi_site, **self._options(deadline, pause))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
        task = asyncio.create_task(server.serve())

        async def stop() -> None:
            server.should_exit = server.force_exit = True
            await task

        self._stack.push_async_callback(stop)
        async with asyncio.timeout(START_SECONDS):
            while not server.started:
                await asyncio.sleep(0.01)
        return int(server.servers[0].sockets[0].getsockname()[1])

    async def _wsgi(self, deadline: float, pause: int) -> int:
        app: Any = wsgi.ServeBots(_wsgi_site, **self._options(deadline, pause))
        server = make_server("127.0.0.1", 0, app, _Threads, _Quiet)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        self._stack.push_async_callback(asyncio.to_thread, stop)
        return server.server_port

    async def _node(self, deadline: float, pause: int) -> int:
        folder = self._folder / "snippets"
        shutil.copytree(SNIPPETS, folder)
        (folder / "package.json").write_text('{"type": "module"}')
        given = {
            "deadline = 2000": f"deadline = {int(deadline * 1000)}",
            "pause = 30_000": f"pause = {pause}000",
        }
        _replace(folder / "gossamer-bots.js", given)
        options = {"url": self._asks, "key": self._key, "origin": ORIGIN}
        command = [
            "node",
            str(NODE / "serve.mjs"),
            self.kind,
            str(folder),
            self.site.url,
            json.dumps(options),
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=_environ())
        self._stack.callback(_end, process)
        assert process.stdout is not None
        return int(await asyncio.to_thread(process.stdout.readline))

    async def _nginx(self, deadline: float, pause: int) -> int:
        program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
        assert program, "nginx is needed: on Debian and Ubuntu, apt-get install nginx-light"
        port, snippet = free_port(), self._folder / "nginx.conf"
        shutil.copy(SNIPPETS / "nginx.conf", snippet)
        given = {
            "listen 80;": f"listen 127.0.0.1:{port};",
            "127.0.0.1:3000": f"127.0.0.1:{self.site.port}",
            "127.0.0.1:8080": self._asks.removeprefix("http://"),
            "/run/gossamer-bots.sock": f"{self._folder}/bots.sock",
            "sk_live_KEY": self._key,
            "fail_timeout=30s": f"fail_timeout={pause}s",
            "timeout 2s": f"timeout {int(deadline * 1000)}ms",
        }
        _replace(snippet, given)
        whole = self._folder / "whole.conf"
        whole.write_text(NGINX.format(folder=self._folder, snippet=snippet))
        process = subprocess.Popen([program, "-p", str(self._folder), "-c", str(whole), "-e", "stderr"])
        self._stack.callback(_end, process, signal.SIGTERM)
        await _until_open(port)
        return port


NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log /dev/null;
events {{ worker_connections 256; }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {snippet};
}}
"""


class _Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that is cut on purpose is nothing to write about."""


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def get_stderr(self) -> Any:
        return io.StringIO()


async def _asgi_site(scope: Any, receive: Any, send: Any) -> None:
    target = scope["raw_path"].decode() + (
        f"?{scope['query_string'].decode()}" if scope["query_string"] else ""
    )
    body = f"site: {scope['method']} {target}".encode()
    headers = [(b"content-type", b"text/html"), (b"x-site", b"yes"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""})


def _wsgi_site(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    query = environ["QUERY_STRING"]
    target = environ["PATH_INFO"] + (f"?{query}" if query else "")
    start_response("200 OK", [("Content-Type", "text/html"), ("X-Site", "yes")])
    return [f"site: {environ['REQUEST_METHOD']} {target}".encode("latin-1")]


def _replace(file: Path, given: dict[str, str]) -> None:
    text = file.read_text()
    for old, new in given.items():
        assert old in text, f"{file.name} no longer has {old!r}"
        text = text.replace(old, new)
    file.write_text(text)


def _end(process: subprocess.Popen[Any], how: signal.Signals = signal.SIGKILL) -> None:
    process.send_signal(how)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("GOSSAMER_", "NODE_"))}


async def _until_open(port: int) -> None:
    async with asyncio.timeout(START_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.01)
            else:
                writer.close()
                await writer.wait_closed()
                return


@pytest.fixture(scope="session")
def node_packages() -> None:
    install_packages(NODE)


OpenPlace = Callable[..., Awaitable[Place]]


@asynccontextmanager
async def opening(request: pytest.FixtureRequest) -> AsyncIterator[OpenPlace]:
    folders: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
    if request.param == "express":
        request.getfixturevalue("node_packages")
    async with AsyncExitStack() as stack:

        async def open_one(**options: Any) -> Place:
            place = Place(request.param, folders.mktemp(request.param), stack)
            await place.open(**options)
            return place

        yield open_one


@pytest.fixture(params=KINDS)
async def open_place(request: pytest.FixtureRequest) -> AsyncIterator[OpenPlace]:
    """Opens one that the test may break."""
    async with opening(request) as open_one:
        yield open_one


@pytest.fixture(scope="module", params=KINDS)
async def shared_place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    async with opening(request) as open_one:
        yield await open_one()
