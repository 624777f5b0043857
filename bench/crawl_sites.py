"""What is crawled: documentation that is installed on this machine, and webs of many hosts; by nginx, whose
log counts what was fetched."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.crawl.web import Web

from bench import servers
from bench.crawl_web import VariedWeb
from bench.crawl_words import LANGUAGES
from bench.servers import Server

DOCUMENTATION: Final = Path("/usr/share/doc")
ADDRESS: Final = "127.64.0.1"
WORDS: Final = 800  # of a generated page, and as many links as pages have nowadays
LINKS: Final = 80
# The largest first: the page from which the others are reached.
INSTALLED: Final = (
    "openjdk-*-doc/api/index.html",
    "rust-doc/html/std/index.html",
    "linux-doc/html/index.html",
    "python3*-doc/html/index.html",
)


@dataclass(frozen=True, slots=True)
class Size:
    """Of the pages of a varied web."""

    bytes: int
    links: int  # of a list in a page


# By the key that chooses a site: the pages of each host. The documentation has as many as it has.
SITES: Final = {"documentation": 0, "small": 54, "10kB": 100, "33kB": 80}
SIZES: Final = {"10kB": Size(10_000, 7), "33kB": Size(33_000, 34)}


@dataclass(frozen=True, slots=True)
class Site:
    name: str
    source: str
    root: Path  # with a folder for each address
    port: int
    addresses: tuple[str, ...]
    seeds: tuple[str, ...]
    pages: int = 0  # that every crawl must find, if that is known


@dataclass(frozen=True, slots=True)
class Seen:
    """What the server saw of one crawl."""

    pages: int  # different pages of HTML
    requests: int
    began: float  # of the first request, by the machine's clock


def documentation(root: Path, given: Path | None) -> Site:
    """Of the package that brings most, or the folder that was given; a generated tree where there is none."""
    port = servers.free_port()
    indexes = [given / "index.html"] if given else [one for name in INSTALLED for one in _found(name)]
    if not indexes:
        return _written("one host", root, _web(1, 5_000, port))
    index = indexes[0].resolve()
    folder = given or next(parent for parent in index.parents if parent.parent == DOCUMENTATION)
    root.mkdir()
    (root / ADDRESS).symlink_to(folder)
    seed = f"http://{ADDRESS}:{port}/{index.relative_to(folder.resolve())}"
    return Site("one host", f"documentation in {folder.name}", root, port, (ADDRESS,), (seed,))


def small(root: Path, hosts: int, pages: int) -> Site:
    """Pages of 120 words that recur on all of them: kinder than the world, and kept for comparison."""
    return _written(f"{hosts} hosts", root, _web(hosts, pages, servers.free_port()))


def varied(root: Path, hosts: int, pages: int, size: Size) -> Site:
    web = VariedWeb(hosts, pages, servers.free_port(), size.bytes, size.links)
    for number in range(hosts):
        host = web.host(number)
        home = root / web.places.address(number)
        for page in range(pages):
            _put(home, host.path(page), host.page(page))
        _put(home, "/robots.txt", host.robots())
    name = f"{hosts} hosts, {size.bytes // 1_000} kB"
    addresses = tuple(map(web.places.address, range(hosts)))
    source = f"{hosts} generated hosts of {pages} pages each, in {len(LANGUAGES)} languages"
    return Site(name, source, root, web.port, addresses, web.places.homes(), hosts * pages)


def build(key: str, root: Path, hosts: int, pages: int | None, given: Path | None) -> Site:
    """The site of one of `SITES`; `pages` of each host, if not as many as usual."""
    if key == "documentation":
        return documentation(root, given)
    if key == "small":
        return small(root, hosts, pages or SITES[key])
    return varied(root, hosts, pages or SITES[key], SIZES[key])


@contextmanager
def serving(site: Site, folder: Path, *, cores: str | None = None) -> Iterator[Server]:
    """One nginx worker for all addresses. Its log is whole when this has ended."""
    folder.mkdir()
    (folder / "nginx.conf").write_text(_configuration(site, folder))
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    command = [program, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with servers.running(command, port=site.port, ready="/ready", folder=folder, cores=cores) as server:
        yield server


def seen(folder: Path) -> Seen:
    """By the log of the server that ran in the folder. A file is one page with any query."""
    lines = [line.split(" ", 4) for line in (folder / "seen").read_text().splitlines()]
    pages = {
        address + target.partition("?")[0]
        for _, address, target, status, kind in lines
        if _is_page(status, kind)
    }
    return Seen(len(pages), len(lines), min(float(line[0]) for line in lines))


def _is_page(status: str, kind: str) -> bool:
    return status == "200" and kind.startswith("text/html")


def _found(pattern: str) -> Sequence[Path]:
    return sorted(path for path in DOCUMENTATION.glob(pattern) if path.exists())


def _web(hosts: int, pages: int, port: int) -> Web:
    return Web(hosts=hosts, pages=pages, port=port, odd=False, words=WORDS, crossing=LINKS)


def _written(name: str, root: Path, web: Web) -> Site:
    for host in range(web.hosts):
        for page, target in enumerate(web.good(host)):
            _put(root / web.address(host), target, web.page(host, page))
        robots = web.answer(host, "/robots.txt")
        assert robots is not None
        _put(root / web.address(host), "/robots.txt", robots.body)
    addresses = tuple(map(web.address, range(web.hosts)))
    source = f"{web.hosts} generated hosts of {web.pages} pages each"
    return Site(name, source, root, web.port, addresses, web.homes(), web.hosts * web.pages)


def _put(home: Path, target: str, body: bytes) -> None:
    file = home / (target.lstrip("/") or "index.html")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body)


def _configuration(site: Site, home: Path) -> str:
    temporary = "\n".join(
        f"    {kind}_temp_path {home}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    listened = "\n".join(f"        listen {address}:{site.port};" for address in site.addresses)
    user = "user root;\n" if os.geteuid() == 0 else ""
    return f"""{user}daemon off;
worker_processes 1;
pid {home}/nginx.pid;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    log_format seen '$msec $server_addr $request_uri $status $sent_http_content_type';
    types {{ text/html html htm; text/plain txt; text/css css; application/xml xml; }}
    default_type application/octet-stream;
    charset utf-8;
    keepalive_requests 1000000000;
{temporary}
    server {{
        access_log off;
        listen 127.0.0.1:{site.port};
        location /ready {{ return 200; }}
    }}
    server {{
{listened}
        access_log {home}/seen seen buffer=64k;
        root {site.root}/$server_addr;
    }}
}}
"""
