"""Traps: pages stored and useful pages found, with and without care, beside Scrapy with a limit of depth.

The sites are those of the tests: traps of many kinds, and honest sites that look as if they had some. Ours
runs the rules of a crawl in this process, without a limit of depth, up to `--most` pages. Scrapy crawls the
same sites over loopback, as documented, with DEPTH_LIMIT; what it was served is counted here. Documentation
that is installed is crawled with and without care: the difference is what would be lost of a real site.
"""

import argparse
import asyncio
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import unquote

from tests.crawl.walk import HOME, USEFUL, walk
from tests.site.trap_pages import TrapSite, honest, traps

from bench import servers
from bench.contenders.peers import PeerError
from bench.crawlers import peers
from bench.servers import ROOT
from bench.table import save, table, this_machine

LONGEST: Final = 600.0  # seconds of one crawl of Scrapy's
COLUMNS: Final = (
    "",
    "useful",
    "with care: stored",
    "found",
    "without: stored",
    "found",
    "Scrapy: stored",
    "found",
)
DOCUMENTATION: Final = {
    "python3-doc": "/usr/share/doc/python3*-doc/html",
    "git-doc": "/usr/share/doc/git-doc",
    "postgresql-doc": "/usr/share/doc/postgresql-doc-*/html",
    "openjdk-17-doc": "/usr/share/doc/openjdk-17-doc/api",
    "linux-doc": "/usr/share/doc/linux-doc*/html",
}


class Served:
    """A site on loopback, and what was asked of it."""

    def __init__(self, site: TrapSite) -> None:
        self._site = site
        self.pages = 0
        self.useful: set[bytes] = set()
        self.port = 0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
        body = None if target == "/robots.txt" else self._site.answer(target)
        said = (body or "").encode()
        self.pages += body is not None
        self.useful |= set(USEFUL.findall(said))
        head = f"HTTP/1.1 {404 if body is None else 200} .\r\nContent-Type: text/html; charset=utf-8\r\n"
        writer.write(f"{head}Content-Length: {len(said)}\r\nConnection: close\r\n\r\n".encode() + said)
        writer.close()


@contextmanager
def serving(site: TrapSite) -> Iterator[Served]:
    served, loop = Served(site), asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(served.converse, "127.0.0.1", 0))
    served.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield served
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()


def crawl_by_scrapy(python: Path, site: TrapSite, depth: int, most: int) -> Served:
    with serving(site) as served, TemporaryDirectory(prefix="gossamer-bench-") as folder:
        seeds = Path(folder) / "seeds"
        seeds.write_text(f"http://127.0.0.1:{served.port}/")
        command = [
            str(python),
            "-m",
            "bench.crawlers.scrapy_limited",
            folder,
            str(seeds),
            str(depth),
            str(most),
        ]
        subprocess.run(command, cwd=ROOT, timeout=LONGEST, check=True, capture_output=True)
    return served


def documentation(root: Path) -> Callable[[str], bytes | None]:
    def answer(target: str) -> bytes | None:
        file = root / unquote(target.partition("?")[0]).lstrip("/")
        file = file / "index.html" if file.is_dir() else file
        return file.read_bytes() if file.suffix in (".html", ".htm") and file.exists() else None

    return answer


def lost_pages(most: int) -> list[tuple[str, int, int]]:
    """Documentation that is installed here: its pages, and how many of them care would lose."""
    rows = []
    for name, places in DOCUMENTATION.items():
        for place in glob(places)[:1]:
            root = Path(place).resolve()
            home = HOME + ("index.html" if (root / "index.html").exists() else "git.html")
            stored = [
                set(walk(documentation(root), home=home, most=most, traps=care).stored)
                for care in ("off", "auto")
            ]
            rows.append((name, len(stored[0]), len(stored[0] - stored[1])))
            servers.say(f"{name}: {rows[-1][1]:,} pages, {rows[-1][2]} lost")
    return rows


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], str]:
    rows, missing, python = [], "", None
    try:
        python = peers.scrapy()
    except PeerError as error:
        missing = f"\n\nNot measured: Scrapy: {error}"
    for site in [*traps(), *honest()]:
        careful, careless = (walk(site.answer, most=options.most, traps=care) for care in ("auto", "off"))
        row = {
            "name": site.name,
            "honest": site.is_honest,
            "useful": site.useful,
            "with": [len(careful.stored), len(careful.useful)],
            "without": [len(careless.stored), len(careless.useful)],
        }
        if python is not None:
            served = crawl_by_scrapy(python, site, options.depth, options.most)
            row["scrapy"] = [served.pages, len(served.useful)]
        rows.append(row)
        servers.say(str(row))
    return rows, missing


def report(rows: list[dict[str, Any]], lost: list[tuple[str, int, int]], missing: str, how: str) -> str:
    cells = [
        [
            row["name"],
            f"{row['useful']:,}",
            *(f"{n:,}" for key in ("with", "without") for n in row[key]),
            *(f"{n:,}" for n in row.get("scrapy", ())),
        ]
        for row in rows
    ]
    filled = [each + [""] * (len(COLUMNS) - len(each)) for each in cells]
    real = table(("documentation", "pages", "lost with care"), [[n, f"{p:,}", str(x)] for n, p, x in lost])
    return f"# Traps\n\n{how}\n\n{table(COLUMNS, filled)}{missing}\n\n{real}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/bench traps", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--most", type=int, default=5_000, help="pages that are stored of a site")
    parser.add_argument("--depth", type=int, default=10, help="Scrapy's DEPTH_LIMIT")
    options = parser.parse_args()
    servers.stop_when_terminated()
    rows, missing = measure(options)
    lost, machine = lost_pages(100_000), this_machine()
    how = f"{machine}; at most {options.most:,} pages of a site, Scrapy's DEPTH_LIMIT {options.depth}"
    text = report(rows, lost, missing, how)
    print(text)
    save("traps", machine, text, {"rows": rows, "documentation": lost, "depth": options.depth})


if __name__ == "__main__":
    main()
