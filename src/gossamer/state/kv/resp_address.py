"""Where a Redis or Valkey server is and how to enter, from its URL."""

from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

Part = str | bytes | int | float  # of a command


@dataclass(frozen=True, slots=True)
class Address:
    """redis:// and valkey:// (TCP), rediss:// and valkeys:// (TLS, verified), each with /database; and
    unix:///path?db=0. All take user:password@, percent-encoded."""

    host: str = "localhost"
    port: int = 6379
    path: str | None = None
    tls: bool = False
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    database: int = 0

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
        unix = parts.scheme == "unix"
        if parts.scheme not in {"redis", "rediss", "valkey", "valkeys", "unix"} or (unix and not parts.path):
            raise ValueError(url)
        database = parse_qs(parts.query).get("db", [""])[0] or ("" if unix else parts.path.strip("/")) or "0"
        return cls(
            host=parts.hostname or "localhost",
            port=6379 if parts.port is None else parts.port,
            path=unquote(parts.path) if unix else None,
            tls=parts.scheme in {"rediss", "valkeys"},
            username=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password) if parts.password else None,
            database=int(database),
        )

    def greeting(self) -> list[tuple[Part, ...]]:
        """The commands a new connection begins with."""
        hello: tuple[Part, ...] = ("HELLO", 3)
        if self.password is not None:
            hello += ("AUTH", self.username or "default", self.password)
        return [(*hello, "SETNAME", "gossamer"), ("SELECT", self.database)]
