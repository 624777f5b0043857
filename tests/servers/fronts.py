"""Proxies in front of a server, nginx and HAProxy, and what they believe they have passed on."""

import re
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from tests.servers.daemon import Daemon

_NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/errors;
events {{ worker_connections 512; }}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    log_format passed_on '$request_uri|$upstream_status'; access_log {folder}/access passed_on;
    client_header_timeout 1s; client_body_timeout 1s; keepalive_timeout {keepalive}s; lingering_close off;
    underscores_in_headers on; ignore_invalid_headers off; {http}
    upstream gossamer {{ {servers} keepalive 16; }}
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        location / {{
            proxy_pass http://gossamer;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            {location}
        }}
    }}
}}
"""
_HAPROXY = """
global
    log stdout format raw local0
    maxconn 512
defaults
    mode http
    log global
    log-format "%s|%HU"
    option forwardfor
    http-reuse always
    retries 0
    timeout connect 5s
    timeout server 20s
    timeout client 1s
    timeout http-request 1s
    timeout http-keep-alive 1s
frontend door
    bind 127.0.0.1:{port}
    default_backend gossamer
backend gossamer
    {servers}
"""


class Front(Daemon):
    """What it passes on is written to its log when the answer is complete."""

    def __init__(self, folder: Path, backends: Sequence[int]) -> None:
        super().__init__(folder)
        self._backends = backends

    def passed_on(self) -> list[str]:
        """The target of each request that was sent to a backend, as often as it was sent."""
        raise NotImplementedError

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class Nginx(Front):
    def __init__(
        self, folder: Path, backends: Sequence[int], *, http: str = "", location: str = "", keepalive: int = 1
    ) -> None:
        super().__init__(folder, backends)
        self._more = {"http": http, "location": location, "keepalive": keepalive}

    def _command(self) -> list[str]:
        servers = " ".join(f"server 127.0.0.1:{port} max_fails=0;" for port in self._backends)
        config = self._folder / "nginx.conf"
        config.write_text(_NGINX.format(folder=self._folder, port=self.port, servers=servers, **self._more))
        return [find_program("nginx"), "-p", str(self._folder), "-c", str(config), "-e", "stderr"]

    def passed_on(self) -> list[str]:
        lines = (self._folder / "access").read_text().splitlines()
        tried = [line.rpartition("|") for line in lines]
        return [target for target, _, status in tried for each in status.split(", ") if each != "-"]


class HAProxy(Front):
    def _command(self) -> list[str]:
        servers = "\n    ".join(f"server s{port} 127.0.0.1:{port}" for port in self._backends)
        config = self._folder / "haproxy.cfg"
        config.write_text(_HAPROXY.format(port=self.port, servers=servers))
        return [find_program("haproxy"), "-db", "-f", str(config)]

    def passed_on(self) -> list[str]:
        return re.findall(r"(?m)^s\d+\|(.*)$", (self._folder / "log").read_text(errors="replace"))


def find_program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    assert found, f"{name} is needed: scripts/install installs it on Debian and Ubuntu"
    return found
