"""Paying: what the gate adds to a request, beside the x402 SDK's own middleware around a trivial answer.

Both ask one facilitator, which agrees at once and moves nothing; both answer the same request free of charge,
unpaid and paid, one after the other on a kept connection. What the gate adds is the difference between the
paid and the free answer of the same server, so it does not matter that one of them fetches a page (from its
cache) and the other says two words. Ours also writes each payment down, in four steps, before it goes on.
"""

import argparse
import asyncio
import http.client
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
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
from bench.servers import Cores, Server
from bench.table import Machine, save, table, this_machine

SDK: Final = "x402[evm,fastapi]"
PAYEE: Final = "0x" + "22" * 20
SOLANA_PAYEE: Final = "1" * 32
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
        contenders = start(stack, Path(scratch), servers.share_cores())
        found = {one.name: measure(one, options.requests) for one in contenders}
    machine = this_machine()
    text = report(machine, found, options.requests)
    print(text)
    save("pay", machine, text, {"requests": options.requests, "milliseconds": document(found)})


def start(stack: ExitStack, scratch: Path, cores: Cores) -> list[Contender]:
    facilitator = _uvicorn(stack, scratch, "bench.contenders.agreeing:app", "/supported", cores.load)
    page = _uvicorn(stack, scratch, "bench.bare:app", "/", cores.load)
    return [_sdk(stack, scratch, cores, facilitator), _ours(stack, scratch, cores, facilitator, page)]


def _sdk(stack: ExitStack, scratch: Path, cores: Cores, facilitator: Server) -> Contender:
    port, script = servers.free_port(), servers.ROOT / "bench" / "contenders" / "x402_middleware.py"
    command = [str(python_with(SDK)), str(script), str(port), facilitator.address]
    server = stack.enter_context(
        servers.running(command, port=port, ready="/ready", folder=scratch, cores=cores.server)
    )
    paths = {"free": "/free", "unpaid": "/paid", "paid": "/paid"}
    return Contender("x402 SDK's middleware", server, paths, {way: {} for way in WAYS}, b"{}")


def _ours(stack: ExitStack, scratch: Path, cores: Cores, facilitator: Server, page: Server) -> Contender:
    key = "sk_live_" + secrets.token_hex(16)
    settings = {
        "bootstrap_key": key,
        "wallet_address": PAYEE,
        "wallet_svm": SOLANA_PAYEE,
        "network": "base-sepolia",
        "cdp_facilitator_url": facilitator.address,
        "payai_facilitator_url": facilitator.address,
        "egress_allow": "127.0.0.1/32",
        "egress_ports": "*",
        "backoff_faults": "0",
        **dict.fromkeys(("limit_admin", "limit_wallet", "limit_unpaid"), "1000000000/1"),
    }
    environment = {f"GOSSAMER_{name.upper()}": value for name, value in settings.items()}
    folder = scratch / "gossamer"
    folder.mkdir()
    server = stack.enter_context(servers.gossamer(folder, environment, cores=cores.server))
    caller = {"Authorization": f"Bearer {key}"}
    body = msgspec.json.encode({"url": page.address + "/", "cache": True})
    paths = dict.fromkeys(WAYS, "/fetch/basic")
    return Contender("Gossamer", server, paths, {"free": caller, "unpaid": {}, "paid": {}}, body)


def _uvicorn(stack: ExitStack, scratch: Path, app: str, ready: str, cores: str | None) -> Server:
    port = servers.free_port()
    command = [sys.executable, "-m", "uvicorn", app, "--app-dir", str(servers.ROOT), "--port", str(port)]
    quiet = ["--no-access-log", "--lifespan", "off", "--log-level", "error"]
    running = servers.running([*command, *quiet], port=port, ready=ready, folder=scratch, cores=cores)
    return stack.enter_context(running)


def measure(contender: Contender, requests: int) -> Times:
    """The ways in turn, so that whatever else the machine does meets them alike."""
    servers.say(f"{contender.name}: signing {requests} payments")
    connection = http.client.HTTPConnection(contender.server.address.removeprefix("http://"), timeout=30)
    ask = _asking(connection, contender)
    for way in ("free", "paid"):  # what there is to cache is in the cache from here on
        ask(way, _payment(iter(_signed(ask("unpaid", {})[1], 1))) if way == "paid" else {})
    payments = iter(_signed(ask("unpaid", {})[1], requests))
    found: Times = {way: [] for way in WAYS}
    for _ in range(requests):
        for way in WAYS:
            sent = _payment(payments) if way == "paid" else {}
            found[way].append(ask(way, sent)[0])
    connection.close()
    return found


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
