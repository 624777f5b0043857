"""Upstream: a proxy of the operator's, as a setting names it.

    socks5://user:password@10.0.0.5:1080?host=*.example.com&tenant=ten_1&resolve=proxy

`host` and `tenant` may be given more than once; without them the proxy takes every host and every tenant.
"""

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from gossamer.settings.values import Expected

_PORTS: Final = {"http": 3128, "socks5": 1080}
_EXAMPLE: Final = "a proxy such as http://host:3128 or socks5://user:password@host:1080"
_OPTIONS: Final = frozenset({"host", "tenant", "resolve"})


@dataclass(frozen=True, slots=True)
class Upstream:
    scheme: str  # http (CONNECT) or socks5
    host: str
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    hosts: tuple[str, ...] = ()  # `example.com`, or `*.example.com` for its subdomains; empty for all
    tenants: tuple[str, ...] = ()
    resolves: bool = False  # it is told names, and resolves and judges them itself

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def precision(self) -> int:
        """How much its rule names: of the proxies that fit, the most precise ones are used."""
        return bool(self.hosts) + 2 * bool(self.tenants)

    def fits(self, host: str, tenant: str) -> bool:
        return (not self.tenants or tenant in self.tenants) and (
            not self.hosts or any(_matches(host, pattern) for pattern in self.hosts)
        )


def _matches(host: str, pattern: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def upstream(text: str) -> Upstream:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Expected(_EXAMPLE) from None
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    given = {name: [value.lower() for key, value in pairs if key == name] for name, _ in pairs}
    if parts.scheme not in _PORTS or not parts.hostname or parts.path not in ("", "/"):
        raise Expected(_EXAMPLE)
    if set(given) - _OPTIONS or not all(value for values in given.values() for value in values):
        raise Expected("only the options host=, tenant= and resolve= behind an upstream")
    if given.get("resolve", ["here"]) not in (["here"], ["proxy"]):
        raise Expected("resolve=here or resolve=proxy")
    return Upstream(
        parts.scheme,
        parts.hostname,
        port or _PORTS[parts.scheme],
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        tuple(given.get("host", ())),
        tuple(value for key, value in pairs if key == "tenant"),
        resolves=given.get("resolve") == ["proxy"],
    )
