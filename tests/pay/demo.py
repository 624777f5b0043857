"""Pays for a page on this machine alone: with a chain, a facilitator, a Gossamer and a wallet of our own."""

import argparse
import asyncio
import base64
import json
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from tests.doors.processes import Process
from tests.pay import payers
from tests.servers.chains import wallets
from tests.servers.chains.fixtures import PAYEE, PAYER, Chains

NETWORKS = {
    "base": "Base Sepolia",
    "solana": "Solana devnet",
    "base_mainnet": "Base",
    "polygon": "Polygon",
    "solana_mainnet": "Solana",
}
PAGE = b"""<!doctype html><title>A page worth paying for</title>
<main><h1>A page worth paying for</h1><p>It stands on this machine, and so does all that is needed to pay for
it: the chain that keeps the balances, the facilitator that settles, and the wallets.</p></main>"""


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def page() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def gossamer(settings: dict[str, Any]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        ours = {
            "data_dir": folder,
            "port": 0,
            "egress_allow": "127.0.0.1/32",
            "egress_ports": "*",
            **settings,
        }
        environment = {f"GOSSAMER_{name.upper()}": str(value) for name, value in ours.items()}
        process = Process("gossamer", ("serve",), environment)
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+", process.line())
            yield address[0] if address else _failed(process)
        finally:
            process.kill()


def _failed(process: Process) -> str:
    raise SystemExit(process.process.communicate()[1])


@contextmanager
def everything(network: str) -> Iterator[tuple[Chains, str, str]]:
    """The chains, the server's address and the page's."""
    chains = Chains()
    mainnet = network in ("base_mainnet", "polygon", "solana_mainnet")
    try:
        with gossamer(chains.mainnet_settings if mainnet else chains.settings) as server, page() as url:
            yield chains, server, url
    finally:
        chains.close()


async def pay(chains: Chains, network: str, server: str, url: str, version: int) -> None:
    asked = {"url": url, "cache": True}
    async with httpx.AsyncClient(base_url=server, timeout=60) as client:
        unpaid = await client.post("/fetch/basic", json=asked)
    terms = json.loads(base64.b64decode(unpaid.headers["payment-required"]))
    chain = getattr(chains, network)
    (price,) = [int(one["amount"]) for one in terms["accepts"] if one["network"] == chain.network]
    print(f"POST /fetch/basic  {unpaid.status_code} {dollars(price)} on {NETWORKS[network]}")
    wallet = payers.wallet(chains, network)
    async with payers.paying(wallet, httpx.AsyncHTTPTransport(), version=version) as client:
        answer = await client.post(f"{server}/fetch/basic", json=asked)
    found = f"{answer.json().get('title')!r}, cache {answer.headers.get('x-cache-status')}"
    print(f"  signed and sent  {answer.status_code} {found}")
    receipt = answer.headers["payment-response" if version == 2 else "x-payment-response"]
    print(f"  receipt          {base64.b64decode(receipt).decode()}")


def balances(chains: Chains, network: str) -> None:
    chain = getattr(chains, network)
    addresses = [payers.address(network, name) for name in (PAYER, PAYEE)]
    for name, address, units in zip((PAYER, PAYEE), addresses, chain.balances(*addresses), strict=True):
        print(f"{name:<6} {address:<44} {dollars(units):>14}")


def dollars(units: int) -> str:
    return f"${units / 1_000_000:,.6f}"


def stay(chains: Chains, network: str, server: str, url: str) -> None:
    """For other clients to try."""
    signer = wallets.svm(PAYER).secret() if payers.is_solana(network) else wallets.evm(PAYER).key
    print(f"\nGossamer         {server}\nfacilitator      {chains.facilitator.url}\npage             {url}")
    if payers.is_solana(network):
        print(f"Solana JSON-RPC  {getattr(chains, network).url}")
    print(f"the payer's key  {bytes(signer).hex()}  (anybody can make it again: never use it for money)")
    print("Ctrl-C ends all of it.", flush=True)
    threading.Event().wait()


def show(network: str, version: int, *, then_stay: bool = False) -> None:
    with everything(network) as (chains, server, url):
        print(
            f"A {NETWORKS[network]} of our own, a facilitator and a Gossamer are up, all on this machine.\n"
        )
        balances(chains, network)
        for told in ("\nA page that was never read:", "\nThe same page, from the cache:"):
            print(told)
            asyncio.run(pay(chains, network, server, url, version))
        print()
        balances(chains, network)
        if then_stay:
            stay(chains, network, server, url)


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/pay-demo", description=__doc__)
    parser.add_argument("--network", choices=NETWORKS, default="base", help="its local twin (default: base)")
    parser.add_argument("--version", type=int, choices=(1, 2), default=2, help="of x402; 1 is for Base only")
    parser.add_argument("--stay", action="store_true", help="leave all of it running, for other clients")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended with it
    show(options.network, options.version, then_stay=options.stay)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
