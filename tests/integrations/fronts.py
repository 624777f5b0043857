"""Each integration as a server of its own, between a robot and a site."""

import asyncio
import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
import uvicorn

from gossamer.middleware import asgi, wsgi
from gossamer.middleware.rules import ROBOTS
from tests.integrations.servers import Server, gossamer, site
from tests.npm import install_packages
from tests.servers.daemon import free_port

KINDS = ("asgi", "wsgi", "express", "nextjs", "cloudflare", "nginx")
OF_MARKDOWN = KINDS[:-1]  # nginx has no rule for it
# Workers take the address, the key and the origin from their environment; tests want more.
MORE_OPTIONS = {
    "origin: env.GOSSAMER_ORIGIN": "origin: env.GOSSAMER_ORIGIN, ...JSON.parse(env.TEST_OPTIONS)",
}
SNIPPETS = Path(__file__).parents[2] / "docs" / "integrations"
NODE = Path(__file__).parent / "node"
KEY = "sk_live_test"
ORIGIN = "https://www.example.com"
START_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Options:
    """Those of `middleware.rules.Site`, which the other fronts take in ways of their own."""

    url: str = ""
    key: str = KEY
    origin: str = ORIGIN
    deadline: float = 10.0
    wait: int = 0
    max_age: int | None = 86_400
    stale_while_revalidate: int = 604_800
    pause: int = 30
    bots: tuple[str, ...] = ROBOTS
    exclude: tuple[str, ...] = ()
    markdown: bool = False

    def json(self) -> str:
        return json.dumps({_camel(name): value for name, value in asdict(self).items()})


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _freshness(options: Options) -> str:
    """As it is written into nginx's question."""
    known = {"maxAge": options.max_age, "staleWhileRevalidate": options.stale_while_revalidate}
    waiting = {"wait": options.wait} if options.wait else {}
    return json.dumps({**waiting, **known}, separators=(",", ":"))[1:-1]


class Place:
    """A Gossamer, a site, and what stands in front of it at `url`."""

    url: str

    def __init__(self, kind: str, folder: Path, stack: AsyncExitStack) -> None:
        self.kind = kind
        self.gossamer = Server(gossamer)
        self.site = Server(site)
        self._folder = folder
        self._stack = stack

    async def open(self, options: Options) -> None:
        for server in (self.gossamer, self.site):
            await server.start()
            self._stack.push_async_callback(server.stop)
        options = replace(options, url=options.url or self.gossamer.url)
        starts = {
            "asgi": self._asgi,
            "wsgi": self._wsgi,
            "cloudflare": self._workerd,
            "nginx": self._nginx,
        }
        port = await starts.get(self.kind, self._node)(options)
        self.url = f"http://127.0.0.1:{port}"

    async def _asgi(self, options: Options) -> int:
        app: Any = asgi.ServeBotsAsgi(_asgi_site, **asdict(options))
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

    async def _wsgi(self, options: Options) -> int:
        app: Any = wsgi.ServeBotsWsgi(_wsgi_site, **asdict(options))
        server = make_server("127.0.0.1", 0, app, _Threads, _Quiet)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        self._stack.push_async_callback(asyncio.to_thread, stop)
        return server.server_port

    async def _node(self, options: Options) -> int:
        folder = self._folder / "snippets"
        shutil.copytree(SNIPPETS, folder)
        (folder / "package.json").write_text('{"type": "module"}')
        if self.kind == "nextjs":
            folder = await asyncio.to_thread(build_next_site)
        command = [
            "node",
            str(NODE / "serve.mjs"),
            self.kind,
            str(folder),
            options.json(),
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=_environ())
        self._stack.callback(_end, process)
        assert process.stdout is not None
        while not (line := await asyncio.to_thread(process.stdout.readline)).startswith(b"port "):
            assert line, "it ended before it listened"
        return int(line.removeprefix(b"port "))

    async def _workerd(self, options: Options) -> int:
        """What Workers run on. What a Worker fetches from its own zone comes from the site behind it."""
        folder, port = self._folder / "snippets", free_port()
        shutil.copytree(SNIPPETS, folder)
        _replace(folder / "cloudflare-worker.js", MORE_OPTIONS)
        (folder / "zone.js").write_text(ZONE)
        variables = {
            "GOSSAMER_URL": options.url,
            "GOSSAMER_KEY": options.key,
            "GOSSAMER_ORIGIN": options.origin,
            "TEST_OPTIONS": options.json(),
            "SITE": self.site.url,
        }
        bindings = ", ".join(
            f'(name = "{name}", text = {json.dumps(text)})' for name, text in variables.items()
        )
        config = folder / "config.capnp"
        config.write_text(WORKERD.replace("BINDINGS", bindings).replace("PORT", str(port)))
        # The binary itself: the script beside it starts it as a child, which would outlive its end.
        [program] = (NODE / "node_modules" / "@cloudflare").glob("workerd-*/bin/workerd")
        process = subprocess.Popen([program, "serve", str(config)], env=_environ())
        self._stack.callback(_end, process)
        await _until_open(port)
        return port

    async def _nginx(self, options: Options) -> int:
        program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
        assert program, "nginx is needed: on Debian and Ubuntu, apt-get install nginx-light"
        port, snippet = free_port(), self._folder / "nginx.conf"
        shutil.copy(SNIPPETS / "nginx.conf", snippet)
        given = {
            "listen 80;": f"listen 127.0.0.1:{port};",
            "127.0.0.1:3000": f"127.0.0.1:{self.site.port}",
            "127.0.0.1:8080": options.url.removeprefix("http://"),
            "/run/gossamer-": f"{self._folder}/",
            "sk_live_KEY": options.key,
            "fail_timeout=30s": f"fail_timeout={options.pause}s",
            "timeout 2s": f"timeout {int((options.deadline + options.wait) * 1000)}ms",
            '"maxAge":86400,"staleWhileRevalidate":604800': _freshness(options),
            **{f'# "~^{path}" 0;': f'"~^{path}" 0;' for path in options.exclude},
        }
        _replace(snippet, given)
        if options.bots != ROBOTS:
            listed = re.compile(r'("~\*[^"]+" 1;\s*(#.*)?\s*)+')
            words = "|".join(options.bots)
            snippet.write_text(listed.sub(f'"~*{words}" 1;\n', snippet.read_text(), count=1))
        whole = self._folder / "whole.conf"
        whole.write_text(NGINX.format(folder=self._folder, snippet=snippet))
        process = subprocess.Popen([program, "-p", str(self._folder), "-c", str(whole), "-e", "stderr"])
        self._stack.callback(_end, process, signal.SIGTERM)
        await _until_open(port)
        return port


ZONE = """
export default { fetch(request, env) {
  const { origin, pathname, search } = new URL(request.url);
  return fetch(origin === env.GOSSAMER_URL ? request : new Request(env.SITE + pathname + search, request));
} };
"""
WORKERD = """
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "front", worker = (
      modules = [
        (name = "worker", esModule = embed "cloudflare-worker.js"),
        (name = "gossamer-bots.js", esModule = embed "gossamer-bots.js"),
      ],
      compatibilityDate = "2026-06-01", bindings = [BINDINGS], globalOutbound = "zone",
    )),
    (name = "zone", worker = (
      modules = [(name = "zone", esModule = embed "zone.js")],
      compatibilityDate = "2026-06-01", bindings = [BINDINGS], globalOutbound = "network",
    )),
    (name = "network", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:PORT", http = (), service = "front")],
);
"""
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
    """Nothing of ours, and no word to anybody's statistics."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("GOSSAMER_", "NODE_"))}
    return {**kept, "NEXT_TELEMETRY_DISABLED": "1"}


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


def build_next_site() -> Path:
    """A Next.js site with the snippet in it. Building it takes long; it is kept beside its packages until
    something changes."""
    source = NODE / "site"
    files = {str(file.relative_to(source)): file.read_text() for file in source.rglob("*.js")}
    files["gossamer-bots.js"] = (SNIPPETS / "gossamer-bots.js").read_text()
    origin = "origin: process.env.GOSSAMER_ORIGIN,"
    snippet = (SNIPPETS / "nextjs.js").read_text()
    assert origin in snippet
    files["proxy.js"] = snippet.replace(origin, f"{origin} ...JSON.parse(process.env.TEST_OPTIONS),")
    files["package.json"] = '{"type": "module", "private": true}'
    packages = install_packages(NODE)
    folder = packages / f"site-{hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16]}"
    with (packages / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        built = folder / "built"
        if not built.exists():
            shutil.rmtree(folder, ignore_errors=True)
            for name, text in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text)
            command = ["node", str(packages / "node_modules/next/dist/bin/next"), "build"]
            environ = {**_environ(), "TEST_OPTIONS": '{"url": "http://a", "origin": "http://a"}'}
            subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
            built.touch()
    return folder


@pytest.fixture(scope="session")
def node_packages() -> None:
    install_packages(NODE)


OpenPlace = Callable[..., Awaitable[Place]]


@asynccontextmanager
async def opening(request: pytest.FixtureRequest) -> AsyncIterator[OpenPlace]:
    folders: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
    if request.param in ("express", "nextjs", "cloudflare"):
        request.getfixturevalue("node_packages")
    async with AsyncExitStack() as stack:

        async def open_one(**options: Any) -> Place:
            place = Place(request.param, folders.mktemp(request.param), stack)
            await place.open(Options(**options))
            return place

        yield open_one


@pytest.fixture(params=KINDS)
async def open_place(request: pytest.FixtureRequest) -> AsyncIterator[OpenPlace]:
    """Opens one that the test may break."""
    async with opening(request) as open_one:
        yield open_one


@pytest.fixture(scope="module", params=OF_MARKDOWN)
async def markdown_place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    async with opening(request) as open_one:
        yield await open_one(markdown=True)


@pytest.fixture(scope="module", params=KINDS)
async def shared_place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    async with opening(request) as open_one:
        yield await open_one()
