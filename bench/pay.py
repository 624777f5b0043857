"""Paying: what the gate adds to a request, beside the x402 SDK's own middleware around a trivial answer.

All ask one facilitator, which agrees at once and moves nothing; all answer the same request free of charge,
unpaid and paid, one after the other on a kept connection. What the gate adds is the difference between the
paid and the free answer of the same server, so it does not matter that some of them fetch a page (from their
cache) and one says two words. Ours also writes each payment to the disk three times before it goes on, and a
fourth time when the answer is given.
"""

import argparse
import asyncio
import http.client
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec
from eth_account import Account
from x402 import x402Client
from x402.http.utils import decode_payment_required_header, encode_payment_signature_header
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import register_exact_evm_client

from bench import servers
from bench.contenders.agreeing import NETWORK
from bench.contenders.peers import python_with
from bench.jobs import DurableServer
from bench.servers import Cores, Server
from bench.table import Machine, save, table, this_machine

SDK: Final = "x402[evm,fastapi]"
PAYEE: Final = "0x" + "22" * 20
SOLANA_PAYEE: Final = "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"
WAYS: Final = ("free", "unpaid", "paid")
STATUS: Final = {"free": 200, "unpaid": 402, "paid": 200}


@dataclass(frozen=True, slots=True)
class Contender:
    """One server, and how it is asked in each of the ways."""

    name: str
    server: Server
    paths: Mapping[str, str]
    headers: Mapping[str, Mapping[str, str]]
    body: bytes


Times = dict[str, list[float]]  # milliseconds, by way


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch, ExitStack() as stack:
        found = measure(start(stack, Path(scratch), servers.share_cores()), options.requests)
    machine = this_machine()
    text = report(machine, found, options.requests)
    print(text)
    save("pay", machine, text, {"requests": options.requests, "milliseconds": document(found)})


def start(stack: ExitStack, scratch: Path, cores: Cores) -> list[Contender]:
    facilitator = _uvicorn(stack, scratch, "bench.contenders.agreeing:app", "/supported", cores.load)
    page = _uvicorn(stack, scratch, "bench.bare:app", "/", cores.load)
    postgres = DurableServer()
    stack.callback(postgres.remove)
    postgres.start()
    postgres.sql("CREATE DATABASE pay")
    databases = {"Gossamer, SQLite": {}, "Gossamer, PostgreSQL": {"database_url": postgres.url_of("pay")}}
    ours = [
        _ours(name, stack, scratch, cores, page, {**_settings(facilitator), **database})
        for name, database in databases.items()
    ]
    return [_sdk(stack, scratch, cores, facilitator), *ours]


def _sdk(stack: ExitStack, scratch: Path, cores: Cores, facilitator: Server) -> Contender:
    port, script = servers.free_port(), servers.ROOT / "bench" / "contenders" / "x402_middleware.py"
    command = [str(python_with(SDK)), str(script), str(port), facilitator.address]
    server = stack.enter_context(
        servers.running(command, port=port, ready="/ready", folder=scratch, cores=cores.server)
    )
    paths = {"free": "/free", "unpaid": "/paid", "paid": "/paid"}
    return Contender("x402 SDK's middleware", server, paths, {way: {} for way in WAYS}, b"{}")


def _settings(facilitator: Server) -> dict[str, str]:
    return {
        "bootstrap_key": "sk_live_" + secrets.token_hex(16),
        "wallet_address": PAYEE,
        "wallet_svm": SOLANA_PAYEE,
        "network": "base-sepolia",
        "cdp_facilitator_url": facilitator.address,
        "payai_facilitator_url": facilitator.address,
        "egress_allow": "127.0.0.1/32",
        "egress_ports": "*",
        "backoff_faults": "0",
        **dict.fromkeys(("limit_admin", "limit_hits_pro", "limit_wallet", "limit_unpaid"), "1000000000/1"),
    }


def _ours(
    name: str, stack: ExitStack, scratch: Path, cores: Cores, page: Server, settings: Mapping[str, str]
) -> Contender:
    environment = {f"GOSSAMER_{setting.upper()}": value for setting, value in settings.items()}
    folder = scratch / name
    folder.mkdir()
    server = stack.enter_context(servers.gossamer(folder, environment, cores=cores.server))
    caller = {"Authorization": f"Bearer {settings['bootstrap_key']}"}
    body = msgspec.json.encode({"url": page.address + "/", "cache": True})
    paths = dict.fromkeys(WAYS, "/fetch/basic")
    return Contender(name, server, paths, {"free": caller, "unpaid": {}, "paid": {}}, body)


def _uvicorn(stack: ExitStack, scratch: Path, app: str, ready: str, cores: str | None) -> Server:
    port = servers.free_port()
    command = [sys.executable, "-m", "uvicorn", app, "--app-dir", str(servers.ROOT), "--port", str(port)]
    quiet = ["--no-access-log", "--lifespan", "off", "--log-level", "error"]
    running = servers.running([*command, *quiet], port=port, ready=ready, folder=scratch, cores=cores)
    return stack.enter_context(running)


def measure(contenders: Sequence[Contender], requests: int) -> dict[str, Times]:
    """The servers and the ways in turn, so that whatever else the machine does meets them alike."""
    payments = {one.name: _prepared(one, requests) for one in contenders}
    found: dict[str, Times] = {name: {way: [] for way in WAYS} for name in payments}
    with ExitStack() as stack:
        asks = {one.name: _asking(stack.enter_context(_connection(one)), one) for one in contenders}
        for _ in range(requests):
            for name, ask in asks.items():
                for way in WAYS:
                    sent = _payment(payments[name]) if way == "paid" else {}
                    found[name][way].append(ask(way, sent)[0])
    return found


def _connection(contender: Contender) -> closing[http.client.HTTPConnection]:
    address = contender.server.address.removeprefix("http://")
    return closing(http.client.HTTPConnection(address, timeout=30))


def _prepared(contender: Contender, requests: int) -> Iterator[str]:
    """As many payments; what there is to cache is in the cache, and a first payment was made."""
    servers.say(f"{contender.name}: signing {requests} payments")
    with _connection(contender) as connection:
        ask = _asking(connection, contender)
        ask("free", {})
        ask("paid", _payment(iter(_signed(ask("unpaid", {})[1], 1))))
        offered = ask("unpaid", {})[1]
    return iter(_signed(offered, requests))


Ask = Callable[[str, Mapping[str, str]], tuple[float, str]]


def _asking(connection: http.client.HTTPConnection, contender: Contender) -> Ask:
    """Milliseconds until the whole answer is there, and what was offered in it."""

    def ask(way: str, sent: Mapping[str, str]) -> tuple[float, str]:
        headers = {"Content-Type": "application/json", **contender.headers[way], **sent}
        began = time.perf_counter()
        connection.request("POST", contender.paths[way], contender.body, headers)
        answer = connection.getresponse()
        told = answer.read()
        took = (time.perf_counter() - began) * 1000
        if answer.status != STATUS[way]:
            raise SystemExit(f"{contender.name}, {way}: {answer.status} {told[:500]!r}")
        return took, answer.getheader("payment-required") or ""

    return ask


def _payment(payments: Iterator[str]) -> dict[str, str]:
    return {"PAYMENT-SIGNATURE": next(payments)}


def _signed(offered: str, count: int) -> list[str]:
    """As many payments, none like another."""
    client = x402Client()
    register_exact_evm_client(client, EthAccountSigner(Account.create()), networks=NETWORK)
    terms: Any = decode_payment_required_header(offered)

    async def sign() -> list[str]:
        payloads = [await client.create_payment_payload(terms) for _ in range(count)]
        return [encode_payment_signature_header(payload) for payload in payloads]

    return asyncio.run(sign())


def document(found: Mapping[str, Times]) -> dict[str, dict[str, float]]:
    middles = {name: {way: median(times[way]) for way in WAYS} for name, times in found.items()}
    return {
        name: {**{way: round(one[way], 3) for way in WAYS}, "added": round(one["paid"] - one["free"], 3)}
        for name, one in middles.items()
    }


def report(machine: Machine, found: Mapping[str, Times], requests: int) -> str:
    columns = ["milliseconds", "free of charge", "unpaid (402)", "paid", "the gate adds"]
    rows: Sequence[Sequence[str]] = [
        [name, *(f"{one[way]:.2f}" for way in (*WAYS, "added"))] for name, one in document(found).items()
    ]
    how = f"medians of {requests} requests in a row; the facilitator answers at once"
    return f"# Paying\n\n{machine}; {how}\n\n{table(columns, rows)}\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench pay", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=300, help="of each kind, to each server")
    return parser.parse_args()


if __name__ == "__main__":
    main()
