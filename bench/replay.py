"""Replay: whether ReplayWeb.page shows what an export has, in a browser on this machine.

A WACZ file with a home page, a page, a second one with the same body (a revisit), and a redirect is served on
loopback beside the program's own files, which npm gets by version and hash. A script in the page around it
looks into the replayed frames, follows their links as a person would, and tells what it sees.
"""

import argparse
import base64
import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from bench.table import save, table, this_machine
from gossamer.flows.data.warc.wacz_file import WARC_NAME, WaczFile, WaczPage
from gossamer.web.documents.warc.http_heads import warc_date
from gossamer.web.documents.warc.warc_stream import ArchivedExchange, WarcStream
from gossamer.web.pages.page import Page

PACKAGE: Final = "replaywebpage@2.5.3"
INTEGRITY: Final = "nCj2PSON3BxeSJKE8AsYPyULv0XPZKJWfy4l9PyQre9SqwLZ+WKZVs/sfLqPOQ4GrH+0YkjbwOhr8cSTH08gsQ=="
BROWSERS: Final = ("chromium-headless-shell", "chromium", "google-chrome")
SECONDS: Final = 90.0
AT: Final = 1_767_268_800_123
HOST: Final = "https://site.test"
PICTURE: Final = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP8z4APMOGVHbHSAEEsAROxCnMTAAAA"
    "AElFTkSuQmCC"
)
TEXTS: Final = {
    "/": "The home page",
    "/two": "The second page",
    "/twin": "The second page",
    "/old": "The second page",
}
_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")
_INNER: Final = b'<!doctype html><script src="./ui.js"></script><replay-app-main></replay-app-main>'
_OUTER: Final = """<!doctype html><title>around</title><script src="/ui.js"></script>
<replay-web-page source="/site.wacz" url="%s/" embed="replayonly" replayBase="/replay/"></replay-web-page>
<script>
const steps = %s, seen = {};
function* frames(root) {
  for (const node of root.querySelectorAll('*')) {
    if (node.shadowRoot) yield* frames(node.shadowRoot);
    if (node.tagName === 'IFRAME' && node.contentDocument) {
      yield node.contentDocument;
      yield* frames(node.contentDocument);
    }
  }
}
const replayed = () => [...frames(document)].filter(one => one.querySelector('main#replayed')).pop();
async function until(text) {
  for (let turn = 0; turn < 300; turn++) {
    const page = replayed();
    if (page && page.body.innerText.includes(text)) return page;
    await new Promise(done => setTimeout(done, 100));
  }
  return null;
}
async function look() {
  for (const [path, text] of steps) {
    if (path !== '/') {
      replayed().querySelector(`a[href$="${path}"]`).click();
      await new Promise(done => setTimeout(done, 300));
    }
    const page = await until(text);
    const image = page && page.querySelector('img');
    if (image) await image.decode().catch(() => null);
    seen[path] = page && {text: page.querySelector('h1').innerText, url: page.defaultView.location.href,
      picture: image ? image.naturalWidth : 0};
    if (path !== '/' && page) {
      page.querySelector('a[href$="/"]').click();
      await until('The home page');
    }
  }
}
look().catch(error => { seen.error = `${error}; frames: ${[...frames(document)].map(one => one.URL)}`; })
  .finally(() => fetch('/told', {method: 'POST', body: JSON.stringify(seen)}));
</script>"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.parse_args()
    browser = next(path for name in BROWSERS if (path := shutil.which(name)))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as scratch:
        folder = Path(scratch)
        get_program(folder)
        (folder / "site.wacz").write_bytes(archive())
        seen = watch(folder, browser)
    machine = this_machine()
    rows = [(path, *_told(seen.get(path), TEXTS[path])) for path in TEXTS]
    text = f"{machine}\n\n{PACKAGE}, {time.monotonic() - began:.0f} s\n\n"
    text += table(("address", "shows", "picture", "as it should be"), rows)
    print(text)
    save("replay", machine, text, {"program": PACKAGE, "seen": seen})
    if any(row[-1] != "yes" for row in rows):
        raise SystemExit(seen.get("error", "not all is shown as it should be"))


def archive() -> bytes:
    """The file that the exporter would write for these pages."""
    links = "".join(f'<a href="{path}">{path}</a> ' for path in TEXTS)
    home = f'<title>Home</title><main id=replayed><h1>The home page</h1>{links}<img src="{PICTURE}"></main>'
    second = '<title>Two</title><main id=replayed><h1>The second page</h1><a href="/">Home</a></main>'
    pages = [
        _page("/", home),
        _page("/two", second),
        _page("/twin", second),
        _page("/old", "", 301, ("location", f"{HOST}/two")),
    ]
    file = WaczFile("A site", "Pages of a crawl.", "2026-01-01T12:00:00Z")
    stream = WarcStream(WARC_NAME, {"software": "Gossamer"})
    try:
        whole = file.add(stream.begin())
        for page in pages:
            records, indexed = stream.add(ArchivedExchange(page, AT, (("user-agent", "Gossamer"),)))
            listed = WaczPage(page.url, page.url, warc_date(AT), "A page", page.status) if page.body else None
            whole += file.add(records, indexed, listed)
        return whole + b"".join(file.end())
    finally:
        file.close()


def _page(path: str, body: str, status: int = 200, *headers: tuple[str, str]) -> Page:
    url = HOST + path
    return Page(
        url=url,
        final_url=url,
        status=status,
        headers=(("content-type", "text/html; charset=utf-8"), *headers),
        body=body.encode(),
        media_type="text/html",
        charset="utf-8",
    )


def get_program(folder: Path) -> None:
    subprocess.run(["npm", "pack", PACKAGE, "--silent"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    [packed] = folder.glob("*.tgz")
    found = base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
    if found != INTEGRITY:
        raise SystemExit(f"{PACKAGE} is not what it was: {found}")
    with tarfile.open(packed) as archived:
        for name in ("ui.js", "sw.js"):
            source = archived.extractfile(f"package/{name}")
            assert source is not None
            (folder / name).write_bytes(source.read())


def watch(folder: Path, browser: str) -> dict[str, Any]:
    server = ReplayServer(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"),
        *(f"--user-data-dir={folder / 'profile'}", f"http://127.0.0.1:{server.server_port}/"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if not server.is_told.wait(SECONDS):
            raise SystemExit(f"nothing was told within {SECONDS:g} seconds")
    finally:
        process.kill()
        process.wait()
        server.shutdown()
        server.server_close()
    return dict(json.loads(server.seen))


class ReplayServer(ThreadingHTTPServer):
    """The files, and what the script in the page has told."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.wacz = (folder / "site.wacz").read_bytes()
        steps = json.dumps(list(TEXTS.items()))
        program = {name: ((folder / name).read_bytes(), "text/javascript") for name in ("ui.js", "sw.js")}
        self.files = {
            "/": ((_OUTER % (HOST, steps)).encode(), "text/html"),
            "/ui.js": program["ui.js"],
            "/replay/": (_INNER, "text/html"),
            "/replay/ui.js": program["ui.js"],
            "/replay/sw.js": program["sw.js"],
        }
        self.seen = b""
        self.is_told = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ReplayServer

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/site.wacz":
            self._send_part(self.server.wacz)
        elif path in self.server.files:
            self._answer(*self.server.files[path])
        else:
            self._answer(b"", "text/plain", 404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.server.seen = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"{}", "application/json")
        self.server.is_told.set()

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""

    def _send_part(self, whole: bytes) -> None:
        wanted = _RANGE.fullmatch(self.headers.get("Range") or "")
        if wanted is None:
            self._answer(whole, "application/wacz")
            return
        first, last = wanted.groups()
        begin = int(first) if first else max(0, len(whole) - int(last))
        end = min(int(last) if first and last else len(whole) - 1, len(whole) - 1)
        about = ("Content-Range", f"bytes {begin}-{end}/{len(whole)}")
        self._answer(whole[begin : end + 1], "application/wacz", 206, about)

    def _answer(self, body: bytes, kind: str, status: int = 200, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        more = ("Content-Type", kind), ("Content-Length", str(len(body))), ("Accept-Ranges", "bytes")
        for name, value in (*more, *headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _told(seen: dict[str, Any] | None, text: str) -> tuple[str, str, str]:
    if seen is None:
        return "nothing", "", "no"
    picture = f"{seen['picture']} px" if seen["picture"] else ""
    return seen["text"], picture, "yes" if seen["text"] == text else "no"


if __name__ == "__main__":
    main()
