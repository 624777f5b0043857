"""nginx in front of a server, as operators run it: it keeps its connections, and passes requests on."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench import servers
from bench.servers import Server


@contextmanager
def proxying(target: Server, home: Path, *, ready: str, cores: str | None = None) -> Iterator[Server]:
    """One worker."""
    home.mkdir()
    port = servers.free_port()
    (home / "nginx.conf").write_text(_configuration(home, urlsplit(target.address).netloc, port))
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    command = [program, "-e", "stderr", "-p", str(home), "-c", str(home / "nginx.conf")]
    with servers.running(command, port=port, ready=ready, folder=home, cores=cores) as server:
        yield server


def _configuration(home: Path, target: str, port: int) -> str:
    return f"""{servers.nginx_start(home)}
    access_log off;
    keepalive_requests 1000000000;
    upstream server {{
        server {target};
        keepalive 64;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://server;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_buffers 16 32k;  # so that no answer goes over the disk
        }}
    }}
}}
"""
