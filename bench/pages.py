"""Real pages to read: documentation that is installed on this machine, served by nginx on loopback."""

import gzip
import random
import shutil
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from bench import servers
from bench.servers import Server
from gossamer.problems import KINDS

# What the packages python3-doc and git-doc bring, whatever the version.
INSTALLED: Final = ("python3*-doc/html", "python3*/html", "git-doc", "git/html")
DOCUMENTATION: Final = Path("/usr/share/doc")
# Lists made by machine for machines: nobody reads them, and a few of them would outweigh all the others.
LISTS: Final = frozenset({"contents", "genindex", "genindex-all", "py-modindex", "search"})
ORDER: Final = 20260101  # the seed of the shuffle: every run has the same order


@dataclass(frozen=True, slots=True)
class Site:
    """A folder of pages, each beside its compressed twin."""

    root: Path
    paths: tuple[str, ...]  # in the order in which they are read
    source: str
    bytes: int  # of all the pages, uncompressed

    def __str__(self) -> str:
        size = self.bytes / len(self.paths) / 1000
        return f"{len(self.paths)} pages of {self.source}, {size:.0f} kB on average"


def gather(root: Path, count: int) -> Site:
    """At most `count` pages of mixed sizes; our own documentation where no other is installed."""
    found = _installed()
    source = "the documentation of " + " and ".join(sorted({name.partition("/")[0] for name in found}))
    if not found:
        found, source = _our_own(root.parent), "Gossamer's own documentation (no other is installed)"
    chosen = _mixed(found, count)
    for name, body in chosen.items():
        _put(root / name, body)
    return Site(root, tuple(map(quote, chosen)), source, sum(map(len, chosen.values())))


@contextmanager
def serving(site: Site, *, cores: str | None = None) -> Iterator[Server]:
    """One nginx worker that sends each page compressed to those who accept it, as most servers do."""
    home = site.root.parent / "nginx-pages"
    home.mkdir()
    port = servers.free_port()
    (home / "nginx.conf").write_text(_configuration(home, site.root, port))
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    command = [program, "-e", "stderr", "-p", str(home), "-c", str(home / "nginx.conf")]
    with servers.running(command, port=port, ready=f"/{site.paths[0]}", folder=home, cores=cores) as server:
        yield server


def _installed() -> dict[str, bytes]:
    """Pages by name, each once, however many links lead to it."""
    folders = {folder.resolve() for pattern in INSTALLED for folder in DOCUMENTATION.glob(pattern)}
    files = {file.resolve() for folder in folders for file in folder.rglob("*.html")}
    kept = sorted(file for file in files if file.is_file() and file.stem not in LISTS)
    return {
        str(file.relative_to(DOCUMENTATION)): file.read_bytes()
        for file in kept
        if file.is_relative_to(DOCUMENTATION)
    }


def _our_own(folder: Path) -> dict[str, bytes]:
    with servers.gossamer(folder, {}) as server:
        names = ["docs", "problems", *(f"problems/{name}" for name in KINDS)]
        return {f"gossamer/{name}.html": _get(f"{server.address}/{name}") for name in names}


def _get(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"Accept": "text/html"})
    with urllib.request.urlopen(request) as answer:
        body: bytes = answer.read()
        return body


def _mixed(pages: dict[str, bytes], count: int) -> dict[str, bytes]:
    """Every so many-th by size, so that small and large ones are there as they are in the whole."""
    by_size = sorted(pages, key=lambda name: (len(pages[name]), name))
    count = min(count, len(by_size))
    names = [by_size[(2 * at + 1) * len(by_size) // (2 * count)] for at in range(count)]
    random.Random(ORDER).shuffle(names)
    return {name: pages[name] for name in names}


def _put(file: Path, body: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body)
    file.with_name(file.name + ".gz").write_bytes(gzip.compress(body, 6))


def _configuration(home: Path, root: Path, port: int) -> str:
    return f"""{servers.nginx_start(home)}
    access_log off;
    default_type text/html;
    charset utf-8;
    gzip_static on;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;  # a contender waits for its turn with its connections open
    server {{
        listen 127.0.0.1:{port};
        root {root};
    }}
}}
"""
