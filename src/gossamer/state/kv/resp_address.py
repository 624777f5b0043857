"""Where a Redis or Valkey server is and how to enter, from its URL."""

from dataclasses import dataclass, field, replace
from typing import Final, Self
from urllib.parse import parse_qs, unquote, urlsplit

Part = str | bytes | int | float  # of a command
Place = tuple[str, int]  # host and port

PORT: Final = 6379
SENTINEL_PORT: Final = 26379
SCHEMES: Final = frozenset({"redis", "rediss", "valkey", "valkeys"})


@dataclass(frozen=True, slots=True)
class Address:
    """redis:// and valkey:// (TCP), rediss:// and valkeys:// (TLS, verified), each with /database; and
    unix:///path?db=0. All take user:password@, percent-encoded.

    redis+sentinel://host,host/name/database asks Sentinels for the primary that they call `name`;
    redis+cluster://host,host asks nodes of a cluster which of them has our slot. Both exist with TLS and as
    valkey too, and use the same user and password on every server."""

    host: str = "localhost"
    port: int = PORT
    path: str | None = None
    tls: bool = False
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    database: int = 0
    sentinels: tuple[Place, ...] = ()
    primary_name: str = ""
    cluster: tuple[Place, ...] = ()

    @classmethod
    def parse(cls, url: str) -> Self:
        try:
            return cls._parse(url)
        except ValueError:
            # Not the parser's own text: where a password is not encoded, it quotes from it.
            raise ValueError("the cache's URL must look like redis://user:password@host:6379/0") from None

    @classmethod
    def _parse(cls, url: str) -> Self:
        parts = urlsplit(url)
        scheme, _, kind = parts.scheme.partition("+")
        entry, _, hosts = parts.netloc.rpartition("@")
        username, _, password = entry.partition(":")
        entered = cls(
            tls=scheme in {"rediss", "valkeys"},
            username=unquote(username) or None,
            password=unquote(password) or None,
            database=int(parse_qs(parts.query).get("db", ["0"])[0]),
        )
        if parts.scheme == "unix" and parts.path:
            return replace(entered, path=unquote(parts.path))
        if scheme not in SCHEMES:
            raise ValueError(url)
        path = unquote(parts.path).strip("/")
        if kind == "sentinel":
            name, _, path = path.partition("/")
            if not name:
                raise ValueError(url)
            entered = replace(entered, sentinels=_places(hosts, SENTINEL_PORT), primary_name=name)
        elif kind == "cluster":
            entered = replace(entered, cluster=_places(hosts, PORT))
        elif not kind:
            ((host, port),) = _places(hosts, PORT)
            entered = replace(entered, host=host, port=port)
        else:
            raise ValueError(url)
        return replace(entered, database=int(path)) if path else entered

    def at(self, place: Place) -> Self:
        """One server of several, entered the same way."""
        return replace(self, host=place[0], port=place[1], sentinels=(), primary_name="", cluster=())

    def greeting(self) -> list[tuple[Part, ...]]:
        """The commands a new connection begins with."""
        return [self.hello(), ("SELECT", self.database)]

    def hello(self) -> tuple[Part, ...]:
        entry = () if self.password is None else ("AUTH", self.username or "default", self.password)
        return ("HELLO", 3, *entry, "SETNAME", "gossamer")


def _places(hosts: str, port: int) -> tuple[Place, ...]:
    split = [urlsplit(f"//{host}") for host in hosts.split(",")]
    return tuple((each.hostname or "localhost", port if each.port is None else each.port) for each in split)
