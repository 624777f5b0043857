"""Opens a client of a server."""

from urllib.parse import urlsplit

from gossamer.client.client import Client
from gossamer.client.http import HttpTransport
from gossamer.client.paying import Payer, Paying, Spending
from gossamer.client.retrying import ATTEMPTS, SECONDS, Patience, Retrying
from gossamer.client.sync import SyncClient
from gossamer.client.transport import Transport


def connect(
    url: str,
    *,
    key: str | None = None,
    payer: Payer | None = None,
    spending: Spending | None = None,
    timeout: float = SECONDS,
    attempts: int = ATTEMPTS,
) -> Client:
    """A client of the server at `url`. Nothing is sent before the first call.

    `key` is an API key. Without one, `payer` pays for calls that cost money, within `spending`. `timeout`
    bounds each call in seconds, retries included. Calls that had no answer, or whose answer says that they
    may succeed soon, are tried up to `attempts` times.
    """
    check_server_url(url)
    patience = Patience(attempts=attempts, seconds=timeout)
    transport: Transport = Retrying(HttpTransport(url, key, seconds=timeout), patience)
    if payer is not None:
        transport = Paying(transport, payer, spending or Spending())
    return Client(transport, patience)


def connect_sync(
    url: str,
    *,
    key: str | None = None,
    payer: Payer | None = None,
    spending: Spending | None = None,
    timeout: float = SECONDS,
    attempts: int = ATTEMPTS,
) -> SyncClient:
    """The same for programs that do not use asyncio."""
    return SyncClient(
        connect(url, key=key, payer=payer, spending=spending, timeout=timeout, attempts=attempts)
    )


def check_server_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not the address of a server; write it as https://gossamer.example.com")
    if parts.username is not None or parts.password is not None:
        raise ValueError("The address of a server has no user name; give the key as key=…")
