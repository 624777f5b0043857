"""`gossamer.open()`: the library with the engine in this process."""

import os
import sys
from functools import partial
from typing import Any

from gossamer.client.client import Client
from gossamer.client.sync import SyncClient
from gossamer.doors.embedded.engine import EmbeddedEngine
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings


def open_embedded(**settings: Any) -> Client:
    """A client of an engine in this process, which needs no server. Nothing is opened before the first call.

    Settings are those of `gossamer config`, by name; the others come from the environment. Warnings go to
    standard error.
    """
    from gossamer.app import Service

    loaded = Settings.load(os.environ, None, settings)
    log = Log(sys.stderr, level="warning", log_format=loaded.log_format, access=False)
    return Client(EmbeddedEngine(partial(Service, loaded, log)))


def open_embedded_sync(**settings: Any) -> SyncClient:
    """The same for programs that do not use asyncio."""
    return SyncClient(open_embedded(**settings))
