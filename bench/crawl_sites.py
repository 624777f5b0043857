"""What is crawled: documentation that is installed on this machine, and a web of many hosts; by nginx, whose
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
class Site:
    name: str
    source: str
    root: Path  # with a folder for each address
    port: int
    addresses: tuple[str, ...]
    seeds: tuple[str, ...]


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


def many_hosts(root: Path, hosts: int, pages: int) -> Site:
    return _written(f"{hosts} hosts", root, _web(hosts, pages, servers.free_port()))


@contextmanager
def serving(site: Site, folder: Path, *, cores: str | None = None) -> Iterator[Path]:
    """One nginx worker for all addresses; yields its log, which is whole when this has ended."""
    folder.mkdir()
    (folder / "nginx.conf").write_text(_configuration(site, folder))
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    command = [program, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with servers.running(command, port=site.port, ready="/ready", folder=folder, cores=cores):
        yield folder / "seen"


def seen(log: Path) -> Seen:
    lines = [line.split(" ", 4) for line in log.read_text().splitlines()]
    pages = {address + target for _, address, target, status, kind in lines if _is_page(status, kind)}
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
            file = root / web.address(host) / (target.lstrip("/") or "index.html")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(web.page(host, page))
        robots = web.answer(host, "/robots.txt")
        assert robots is not None
        (root / web.address(host) / "robots.txt").write_bytes(robots.body)
    addresses = tuple(map(web.address, range(web.hosts)))
    source = f"{web.hosts} generated hosts of {web.pages} pages each"
    return Site(name, source, root, web.port, addresses, web.homes())


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
