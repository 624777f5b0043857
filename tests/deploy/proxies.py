"""nginx and Caddy with the files of `deploy/`, where only names, ports and certificates are replaced."""

import socket
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path

import trustme

from tests.servers.daemon import Daemon
from tests.servers.fronts import find_program

DEPLOY = Path(__file__).parents[2] / "deploy"
HOST = "gossamer.example.com"
_NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/errors;
events {{ worker_connections 512; }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {file};
}}
"""
_CADDY = "{\n\tadmin off\n\tauto_https off\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n"


class TlsProxy(Daemon):
    """Speaks TLS on a port of loopback, with a certificate that `trust` knows."""

    def __init__(self, folder: Path, backends: Sequence[int]) -> None:
        super().__init__(folder)
        self._backends = backends
        authority = trustme.CA()
        issued = authority.issue_cert(HOST, "127.0.0.1")
        self._chain, self._key = folder / "fullchain.pem", folder / "privkey.pem"
        issued.private_key_pem.write_to_path(self._key)
        for certificate in issued.cert_chain_pems:
            certificate.write_to_path(self._chain, append=True)
        self.trust = ssl.create_default_context()
        authority.configure_trust(self.trust)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class NginxFile(TlsProxy):
    def _command(self) -> list[str]:
        servers = "\n    ".join(f"server 127.0.0.1:{port} max_fails=0;" for port in self._backends)
        given = {
            "listen 443 ssl http2;": f"listen 127.0.0.1:{self.port} ssl http2;",
            "listen 80;": f"listen unix:{self._folder}/plain.sock;",
            "server 127.0.0.1:8080 max_fails=0;": servers,
            "/etc/ssl/gossamer/fullchain.pem": str(self._chain),
            "/etc/ssl/gossamer/privkey.pem": str(self._key),
        }
        file, whole = self._folder / "gossamer.conf", self._folder / "whole.conf"
        file.write_text(_replaced(DEPLOY / "nginx" / "gossamer.conf", given))
        whole.write_text(_NGINX.format(folder=self._folder, file=file))
        return [find_program("nginx"), "-p", str(self._folder), "-c", str(whole), "-e", "stderr"]


class CaddyFile(TlsProxy):
    def _command(self) -> list[str]:
        servers = " ".join(f"127.0.0.1:{port}" for port in self._backends)
        given = {
            f"{HOST} {{": f"https://{HOST}:{self.port} {{\n\tbind 127.0.0.1\n\ttls {self._chain} {self._key}",
            "reverse_proxy 127.0.0.1:8080": f"reverse_proxy {servers}",
        }
        file = self._folder / "Caddyfile"
        file.write_text(_CADDY + _replaced(DEPLOY / "caddy" / "Caddyfile", given))
        return [find_program("caddy"), "run", "--adapter", "caddyfile", "--config", str(file)]

    def _environ(self) -> Mapping[str, str]:
        folder = str(self._folder)
        return {"HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}


def _replaced(file: Path, given: Mapping[str, str]) -> str:
    text = file.read_text()
    for old, new in given.items():
        assert old in text, f"{file.name} no longer has {old!r}"
        text = text.replace(old, new, 1)
    return text
