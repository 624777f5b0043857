"""Gossamer: self-hosted web access for AI agents, bots and the teams that serve them.

async with gossamer.open() as web:                                   # the engine, in this process
    page = await web.fetch("https://example.com/")

async with gossamer.connect("https://gossamer.example.com", key=key) as web:      # the same, at a server
    page = await web.fetch("https://example.com/")
"""

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than everything here
if TYPE_CHECKING:
    from gossamer.assembly.library import open_embedded as open  # noqa: A004  (read as gossamer.open)
    from gossamer.assembly.library import open_embedded_sync as open_sync
    from gossamer.client.client import Client
    from gossamer.client.connect import connect, connect_sync
    from gossamer.client.errors import ConnectionFailed, GossamerError, PaymentRequired, RateLimited
    from gossamer.client.paying import Payer, Spending, X402Payer
    from gossamer.client.sync import SyncClient

__version__ = "0.1.0"
__all__ = [
    "open",
    "connect",
    "open_sync",
    "connect_sync",
    "Client",
    "SyncClient",
    "GossamerError",
    "PaymentRequired",
    "RateLimited",
    "ConnectionFailed",
    "Payer",
    "Spending",
    "X402Payer",
    "__version__",
]

# Imported when they are used: `import gossamer` costs nothing, and `connect` needs no part of a server.
_PLACES = {
    "open": ("gossamer.assembly.library", "open_embedded"),
    "open_sync": ("gossamer.assembly.library", "open_embedded_sync"),
    "connect": ("gossamer.client.connect", "connect"),
    "connect_sync": ("gossamer.client.connect", "connect_sync"),
    "Client": ("gossamer.client.client", "Client"),
    "SyncClient": ("gossamer.client.sync", "SyncClient"),
    "GossamerError": ("gossamer.client.errors", "GossamerError"),
    "PaymentRequired": ("gossamer.client.errors", "PaymentRequired"),
    "RateLimited": ("gossamer.client.errors", "RateLimited"),
    "ConnectionFailed": ("gossamer.client.errors", "ConnectionFailed"),
    "Payer": ("gossamer.client.paying", "Payer"),
    "Spending": ("gossamer.client.paying", "Spending"),
    "X402Payer": ("gossamer.client.paying", "X402Payer"),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)
