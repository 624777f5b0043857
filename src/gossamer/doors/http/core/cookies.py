"""The cookie of a session."""

from typing import Final

from msgspec import Struct

from gossamer.doors.http.core.exchange import Exchange
from gossamer.state.tenants.sessions import SESSION_SECONDS

_NAME: Final = "gossamer-session"


class SessionCookie(Struct, frozen=True):
    """No script can read it and no other site can send it. Over TLS it is bound to this host alone."""

    https: bool
    base: str = _NAME

    @classmethod
    def of(cls, public_url: str) -> "SessionCookie":
        return cls(https=public_url.startswith("https:"))

    @property
    def name(self) -> str:
        return f"__Host-{self.base}" if self.https else self.base

    def read(self, exchange: Exchange) -> str | None:
        """The secret that the browser sent."""
        for key, value in exchange.scope["headers"]:
            if key != b"cookie":
                continue
            for part in value.decode("latin-1").split(";"):
                name, _, secret = part.strip().partition("=")
                if name == self.name and secret:
                    return str(secret)
        return None

    def header(self, secret: str) -> str:
        """The value of `Set-Cookie` that begins a session."""
        return self._attributes(secret, SESSION_SECONDS)

    def clearing_header(self) -> str:
        return self._attributes("", 0)

    def _attributes(self, secret: str, seconds: int) -> str:
        secure = "; Secure" if self.https else ""
        return f"{self.name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
