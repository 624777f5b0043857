"""Sixteen pages that need their JavaScript, served by nginx on loopback."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import servers
from bench.contenders import npm
from bench.servers import Server

HERE: Final = Path(__file__).parent
PACKAGES: Final = {
    "@readme/oas-examples": "8.2.2",
    "@scalar/api-reference": "1.46.4",
    "@scalar/galaxy": "0.2.20",
    "@stoplight/elements": "9.0.25",
    "@verdaccio/ui-theme": "3.4.1",
    "angular": "1.8.3",
    "docsify": "5.0.0",
    "mermaid": "11.17.2",
    "openapi-explorer": "2.4.820",
    "rapidoc": "9.3.8",
    "react": "18.3.1",
    "react-dom": "18.3.1",
    "redoc": "2.5.4",
    "swagger-ui-dist": "5.34.1",
    "vue": "3.5.45",
    "world-countries": "5.1.0",
}
TRAVEL: Final = "/packages/@readme/oas-examples/3.1/json/train-travel.json"
STAR_TREK: Final = "/packages/@readme/oas-examples/3.0/json/star-trek.json"
PETSTORE: Final = "/packages/@readme/oas-examples/3.0/json/petstore.json"
GALAXY: Final = "/packages/@scalar/galaxy/dist/latest.json"
# What each page shows: an app beside this file, and the OpenAPI document that it is given.
APPS: Final = (
    ("swagger-ui", TRAVEL),
    ("swagger-ui", STAR_TREK),
    ("redoc", TRAVEL),
    ("redoc", STAR_TREK),
    ("scalar", TRAVEL),
    ("scalar", GALAXY),
    ("rapidoc", PETSTORE),
    ("openapi-explorer", TRAVEL),
    ("elements", TRAVEL),
    ("docsify", ""),
    ("mermaid", ""),
    ("react", ""),
    ("vue", ""),
    ("angular", ""),
)
MANUAL: Final = "/usr/share/doc/python3*-doc/html/search.html"  # of the package python3-doc
SEARCH: Final = "manual/search.html?q=semaphore"
# Some packages would load a logo or ask home; with this no browser even asks for the name.
NOTHING_FOREIGN: Final = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:"
TYPES: Final = {
    "text/html": "html",
    "text/javascript": "js mjs",
    "text/css": "css",
    "application/json": "json map",
    "text/markdown": "md",
    "text/plain": "txt",
    "image/svg+xml": "svg",
    "image/png": "png",
    "font/woff2": "woff2",
}


@dataclass(frozen=True, slots=True)
class Apps:
    root: Path
    paths: tuple[str, ...]


def build(root: Path) -> Apps:
    """All the pages and what they load, below `root`; the manual's search only where it is installed."""
    folders = {name: npm.unpacked(name, version) for name, version in PACKAGES.items()}
    for name, folder in folders.items():
        link = root / "packages" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)
    paths = [_put_app(root, name, document) for name, document in APPS]
    paths.append(_put_verdaccio(root, folders))
    paths.extend(_link_manual(root))
    return Apps(root, tuple(paths))


@contextmanager
def serving(root: Path, *, ready: str = "/", cores: str | None = None) -> Iterator[Server]:
    """One nginx worker for the files below `root`, compressed where there is a compressed twin."""
    home = root.with_name(f"nginx-{root.name}")
    home.mkdir()
    port = servers.free_port()
    (home / "nginx.conf").write_text(_configuration(home, root, port))
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    command = [program, "-e", "stderr", "-p", str(home), "-c", str(home / "nginx.conf")]
    with servers.running(command, port=port, ready=ready, folder=home, cores=cores) as server:
        yield server


def _put_app(root: Path, name: str, document: str) -> str:
    path = f"{name}-{Path(document).stem}.html" if document else f"{name}.html"
    html = (HERE / f"{name}.html").read_text()
    (root / path).write_text(html.replace("{{document}}", document))
    return path


def _put_verdaccio(root: Path, folders: dict[str, Path]) -> str:
    """A registry's front page, which lists the packages that these pages are made of."""
    theme = folders["@verdaccio/ui-theme"]
    (root / "-" / "verdaccio" / "data").mkdir(parents=True)
    (root / "-" / "static").symlink_to(theme / "static")
    manifest = json.loads((theme / "static" / "manifest.json").read_text())
    scripts = [
        f'<script src="/{manifest[name]}"></script>' for name in ("runtime.js", "vendors.js", "main.js")
    ]
    html = (HERE / "verdaccio.html").read_text()
    (root / "index.html").write_text(html.replace("{{scripts}}", "\n".join(scripts)))
    listed = [_listed(json.loads((folder / "package.json").read_text())) for folder in folders.values()]
    (root / "-" / "verdaccio" / "data" / "packages").write_text(json.dumps(listed))
    return ""


def _listed(package: dict[str, Any]) -> dict[str, Any]:
    """As a registry lists it."""
    kept = ("name", "version", "description", "license", "keywords")
    more = {"author": {"name": package["name"].split("/")[0]}, "time": "2026-01-01T00:00:00.000Z"}
    return {name: package[name] for name in kept if name in package} | more


def _link_manual(root: Path) -> list[str]:
    found = sorted(Path("/").glob(MANUAL.lstrip("/")))
    if not found:
        return []
    (root / "manual").symlink_to(found[-1].parent)
    return [SEARCH]


def _configuration(home: Path, root: Path, port: int) -> str:
    types = "\n".join(f"        {media} {endings};" for media, endings in TYPES.items())
    return f"""{servers.nginx_start(home)}
    access_log off;
    default_type application/json;
    types {{
{types}
    }}
    charset utf-8;
    sendfile on;
    tcp_nopush on;
    gzip_static on;
    add_header Content-Security-Policy "{NOTHING_FOREIGN}";
    keepalive_requests 1000000000;
    server {{
        listen 127.0.0.1:{port};
        root {root};
    }}
}}
"""
