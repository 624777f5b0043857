"""An origin whose page tries every vector at once, and the canaries that wait where they lead."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from tests.browser.vectors import VECTORS, Vector, address, aimed
from tests.site.canary import Canary, canaries
from tests.site.paths import head

HTML = "Content-Type: text/html; charset=utf-8"
SCRIPT = "Content-Type: text/javascript"
PAGE = "/page"  # for what only the head of a whole page can ask for, or is sent when it is left

PRELUDE = """
const source = code => URL.createObjectURL(new Blob([code], {type: 'text/javascript'}));
const frame = () => document.body.appendChild(document.createElement('iframe'));
const kept = [];
async function peer(urls) {
  const peer = new RTCPeerConnection({iceServers: [{urls, username: 'u', credential: 'c'}]});
  kept.push(peer);
  peer.createDataChannel('x');
  await peer.setLocalDescription(await peer.createOffer());
}
async function connect(address, port) {
  const [one, two] = [new RTCPeerConnection(), new RTCPeerConnection()];
  kept.push(one, two);
  one.createDataChannel('x');
  await one.setLocalDescription(await one.createOffer());
  await two.setRemoteDescription(one.localDescription);
  await two.setLocalDescription(await two.createAnswer());
  await one.setRemoteDescription(two.localDescription);
  const candidate = `candidate:1 1 udp 2122260223 ${address} ${port} typ host`;
  await one.addIceCandidate({candidate, sdpMid: '0', sdpMLineIndex: 0});
}
const attempt = (name, code) => {
  try { Promise.resolve(code()).catch(() => 0) } catch (error) { console.debug(name, String(error)) }
};
"""


class Watch:
    """Canaries on the addresses of all vectors, for connections and for datagrams."""

    def __init__(self, birds: list[Canary]) -> None:
        self.port = birds[0].port
        self.datagrams = [0] * len(birds)
        self._birds = birds

    def seen(self) -> set[str]:
        """The vectors that reached one."""
        return {
            vector.name
            for vector, bird, datagrams in zip(VECTORS, self._birds, self.datagrams, strict=True)
            if bird.connections or datagrams
        }


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, watch: Watch, number: int) -> None:
        self._watch = watch
        self._number = number

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._watch.datagrams[self._number] += 1


@asynccontextmanager
async def watched() -> AsyncIterator[Watch]:
    loop = asyncio.get_running_loop()
    places = [address(number) for number in range(len(VECTORS))]
    async with canaries(*places) as birds, AsyncExitStack() as stack:
        watch = Watch(birds)
        for number, place in enumerate(places):
            transport, _ = await loop.create_datagram_endpoint(
                lambda number=number: _Datagrams(watch, number),  # type: ignore[misc]
                local_addr=(place, watch.port),
            )
            stack.callback(transport.close)
        yield watch


@asynccontextmanager
async def attacker(watch: Watch) -> AsyncIterator[int]:
    """The port of the origin."""
    tasks: set[asyncio.Task[None]] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                target = request.split(b" ", 2)[1].decode("ascii")
                writer.write(answer(watch.port, target))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)


def answer(port: int, target: str) -> bytes:
    path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
    if path == "/redirect":
        return _answer(b"", f"Location: {query['to'][0]}", status="302 Found")
    if path.startswith("/header/"):
        name = path.removeprefix("/header/")
        status = "302 Found" if name == "location" else "200 OK"
        return _answer(b"<img src=/image>", HTML, _named("header", name, port), status=status)
    if path == PAGE:
        heads = (code for _, code in _of("page", port))
        scripts = "".join(f"<script>{code}</script>" for _, code in _of("leaving", port))
        return _answer(f"<!doctype html><title>tried</title>{scripts}".encode(), HTML, *heads)
    if path.startswith("/frame/"):
        return _answer(_named("frame", path.removeprefix("/frame/"), port).encode(), HTML)
    if path in ("/worker", "/shared", "/service"):
        codes = (code for _, code in _of(path[1:], port))
        return _answer("".join(f"try {{ {code} }} catch {{}}\n" for code in codes).encode(), SCRIPT)
    return _answer(_page(port).encode() if path == "/" else b"", HTML)


def _page(port: int) -> str:
    scripts = "\n".join(
        f"attempt({json.dumps(vector.name)}, () => {{ {code} }});" for vector, code in _of("script", port)
    )
    scripts = scripts.replace("</", "<\\/")  # which would end the element
    frames = "".join(f'<iframe src="/frame/{vector.name}"></iframe>' for vector, _ in _of("frame", port))
    heads = "".join(f'<iframe src="/header/{vector.name}"></iframe>' for vector, _ in _of("header", port))
    return f"""<!doctype html><title>attack</title><style></style>
<script>{PRELUDE}</script>
{"".join(code for _, code in _of("html", port))}
{frames}{heads}
<script>
{scripts}
attempt('worker', () => new Worker('/worker'));
attempt('shared', () => new SharedWorker('/shared'));
attempt('service', () => navigator.serviceWorker.register('/service'));
document.title = 'tried';
</script>"""


def _of(where: str, port: int) -> list[tuple[Vector, str]]:
    return [
        (vector, aimed(vector, address(number), port))
        for number, vector in enumerate(VECTORS)
        if vector.where == where
    ]


def _named(where: str, name: str, port: int) -> str:
    return next(code for vector, code in _of(where, port) if vector.name == name)


def _answer(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    return head(f"Content-Length: {len(body)}", *fields, status=status) + body
