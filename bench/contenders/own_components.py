"""Gossamer's own HTTP client, Redis client and HTTP layers, each by itself."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_network
from tempfile import TemporaryDirectory
from typing import Any

from bench.contenders.component_calls import (
    KEY,
    READ,
    SCRIPT,
    SCRIPT_ARGUMENTS,
    SCRIPT_KEYS,
    VALUE,
    Call,
    asgi_call,
    run_contender,
)
from gossamer.app import Service
from gossamer.observe.logs import Log
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.settings.settings import Settings
from gossamer.state.kv.resp import LuaScript, RespClient
from gossamer.state.kv.resp_address import Address
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.url.url import Url


@asynccontextmanager
async def fetch_page(address: str) -> AsyncIterator[Call]:
    """The whole fetcher: it judges the address, bounds the body and decodes it."""
    dialer = Dialer(Names(), allow=(ip_network("127.0.0.0/8"),), ports="*")
    fetcher = Fetcher(dialer, "Gossamer/0 (bench)")
    spec = FetchSpec(url=Url.parse(f"{address}/static.json"))
    yield lambda: fetcher.fetch(spec)
    await fetcher.close()


@asynccontextmanager
async def read_key(address: str) -> AsyncIterator[Call]:
    client = RespClient(Address.parse(address))
    await client.call("SET", READ, VALUE)
    yield lambda: client.call("GET", READ)
    await client.close()


@asynccontextmanager
async def run_script(address: str) -> AsyncIterator[Call]:
    client, script = RespClient(Address.parse(address)), LuaScript.of(SCRIPT)
    yield lambda: client.run(script, SCRIPT_KEYS, SCRIPT_ARGUMENTS)
    await client.close()


@asynccontextmanager
async def get_me(_: str) -> AsyncIterator[Call]:
    """All the layers, with keys and limits in memory; the log is written to nowhere."""
    flags: dict[str, Any] = {"bootstrap_key": KEY, "limit_admin": "1000000000/1"}
    flags |= dict.fromkeys(("limit_control_pro", "limit_control_enterprise"), "1000000000/1")
    with TemporaryDirectory(prefix="gossamer-bench-") as folder:
        settings = Settings.load({}, None, {**flags, "data_dir": folder})
        async with Service(settings, Log(io.StringIO(), level="error")) as service:
            yield asgi_call(service.app(), "/api/me")


CONTENDERS = {"http": fetch_page, "read": read_key, "script": run_script, "route": get_me}

if __name__ == "__main__":
    run_contender(CONTENDERS)
