"""Looks at the certificate of a server that the operator configured: is it valid, and for how long?"""

import asyncio
import ssl
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from gossamer.reach.net.dial import client_context

SECONDS: Final = 5.0


class CertificateState(Struct, frozen=True):
    host: str
    expires: float = 0.0  # Unix seconds; 0 if it is not valid
    failure: str = ""  # why it is not valid


class Certificates:
    """The servers to look at. One that cannot be reached says nothing about its certificate."""

    def __init__(self, urls: Iterable[str], context: ssl.SSLContext | None = None) -> None:
        parts = [urlsplit(url) for url in urls]
        secure = [(one.hostname or "", one.port or 443) for one in parts if one.scheme == "https"]
        self._servers = list(dict.fromkeys(secure))
        self._context = context

    async def look(self) -> list[CertificateState]:
        if not self._servers:
            return []
        if self._context is None:
            self._context = await asyncio.to_thread(client_context)
        looks = [_look_at(host, port, self._context) for host, port in self._servers]
        found = await asyncio.gather(*looks)
        return [state for state in found if state is not None]


async def _look_at(host: str, port: int, context: ssl.SSLContext) -> CertificateState | None:
    shown = host if port == 443 else f"{host}:{port}"
    try:
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLCertVerificationError as error:
        return CertificateState(shown, failure=error.verify_message)
    except ssl.SSLError as error:
        return CertificateState(shown, failure=(error.reason or "no TLS").lower().replace("_", " "))
    except (OSError, TimeoutError):
        return None
    certificate = writer.get_extra_info("peercert")
    writer.transport.abort()
    return CertificateState(shown, expires=float(ssl.cert_time_to_seconds(certificate["notAfter"])))
