"""A Solana chain in a thread of its own, with USDC on it, behind the JSON-RPC methods that x402 needs."""

import base64
import json
import struct
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final

from solders.account import Account
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata
from x402 import x402FacilitatorSync
from x402.mechanisms.svm import FacilitatorKeypairSigner
from x402.mechanisms.svm.exact import ExactSvmFacilitatorScheme

from tests.servers.chains import wallets

DEVNET: Final = ("solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")
MAINNET: Final = ("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
_TOKENS: Final = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
_ADDRESSES: Final = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
_HOLDING_BYTES: Final = 165
_RENT: Final = 10**9
_REMEMBERED: Final = 100_000


class SvmChain:
    """May be used from any thread; the chain itself stays in its own."""

    def __init__(self, network: str, asset: str) -> None:
        self.network = network
        self.asset = asset
        self.fee_payer = str(_facilitator().pubkey())
        self._rpc = _serve(network, Pubkey.from_string(asset))
        self.url = f"http://127.0.0.1:{self._rpc.server_port}"
        self._lock = threading.Lock()
        self._facilitator = x402FacilitatorSync()
        self._facilitator.register([self.network], ExactSvmFacilitatorScheme(_Signer(self)))

    def fund(self, owner: str, units: int) -> None:
        """An account without tokens must be funded with 0 before it can be paid."""
        self.ask("fund", owner, units)

    def balances(self, *owners: str) -> list[int]:
        """All at one moment: no payment is on its way between two of them."""
        with self._lock:
            return [self.ask("balance", owner) for owner in owners]

    def expire(self) -> None:
        """As if minutes had passed: whatever was signed for the last blockhash is worthless now."""
        self.ask("expire")

    def pass_time(self, seconds: int) -> None:
        """The next block is that much later. Give it back: a chain is for all tests."""
        self.ask("passTime", seconds)

    def supported(self) -> Any:
        return self._facilitator.get_supported()

    def verify(self, payload: Any, requirements: Any) -> Any:
        with self._lock:
            return self._facilitator.verify(payload, requirements)

    def settle(self, payload: Any, requirements: Any) -> Any:
        with self._lock:
            return self._facilitator.settle(payload, requirements)

    def close(self) -> None:
        self._rpc.shutdown()

    def ask(self, method: str, *parameters: object) -> Any:
        connection = HTTPConnection("127.0.0.1", self._rpc.server_port, timeout=30)
        connection.request("POST", "/", json.dumps({"id": 1, "method": method, "params": parameters}))
        answer = json.loads(connection.getresponse().read())
        connection.close()
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]


class _Signer(FacilitatorKeypairSigner):
    """The SDK's own, but it asks the chain without a client that warns that it will go away."""

    def __init__(self, chain: SvmChain) -> None:
        super().__init__(_facilitator(), chain.url)
        self._chain = chain

    def simulate_transaction(self, tx_base64: str, network: str) -> None:
        error = self._chain.ask("simulateTransaction", tx_base64)["value"]["err"]
        if error is not None:
            raise RuntimeError(f"Simulation failed: {error}")

    def send_transaction(self, tx_base64: str, network: str) -> str:
        signature: str = self._chain.ask("sendTransaction", tx_base64)
        return signature

    def confirm_transaction(self, signature: str, network: str, timeout_seconds: int = 30) -> None:
        if self._chain.ask("getSignatureStatuses", [signature])["value"] == [None]:
            raise RuntimeError("Transaction confirmation timeout")


class _Refused(Exception):
    """What a node says of a transaction that it does not take."""


class _Ledger:
    """The chain and what can be asked of it. LiteSVM belongs to the thread that made it."""

    def __init__(self, network: str, mint: Pubkey) -> None:
        self._mint = mint
        new: Any = LiteSVM()  # its stubs call this method something else
        self._svm: LiteSVM = new.with_transaction_history(_REMEMBERED)
        self._svm.airdrop(_facilitator().pubkey(), 10**12)
        self._svm.set_account(mint, Account(_RENT, _mint(), _TOKENS))
        self.methods: dict[str, Callable[..., Any]] = {
            "fund": self._fund,
            "balance": lambda owner: self._balance(Pubkey.from_string(owner)),
            "expire": self._svm.expire_blockhash,
            "getAccountInfo": lambda key, *_: self._now(self._account(key)),
            "getMultipleAccounts": lambda keys, *_: self._now([self._account(key) for key in keys]),
            "getLatestBlockhash": lambda *_: self._now(self._blockhash()),
            "simulateTransaction": lambda sent, *_: self._now(self._simulate(sent)),
            "sendTransaction": lambda sent, *_: self._send(sent),
            "getSignatureStatuses": lambda signatures, *_: self._now(
                [self._status(one) for one in signatures]
            ),
            "passTime": self._pass_time,
            "getGenesisHash": lambda: f"{network.partition(':')[2]}RestOfIt",
            "getSlot": lambda *_: self._svm.get_clock().slot,
            "getBlockTime": lambda _: self._time(),
            "getSignaturesForAddress": self._signatures,
            "getTransaction": lambda signature, *_: self._executed.get(signature),
        }
        self._executed: dict[str, dict[str, Any]] = {}  # the oldest first
        self._ahead = 0

    def _now(self, value: Any) -> dict[str, Any]:
        return {"context": {"slot": self._svm.get_clock().slot, "apiVersion": "2.0.0"}, "value": value}

    def _fund(self, owner: str, units: int) -> None:
        key = Pubkey.from_string(owner)
        data = _holding(self._mint, key, self._balance(key) + units)
        self._svm.set_account(self._token_account(key), Account(_RENT, data, _TOKENS))

    def _balance(self, owner: Pubkey) -> int:
        account = self._svm.get_account(self._token_account(owner))
        return int.from_bytes(bytes(account.data)[64:72], "little") if account else 0

    def _token_account(self, owner: Pubkey) -> Pubkey:
        seeds = [bytes(owner), bytes(_TOKENS), bytes(self._mint)]
        return Pubkey.find_program_address(seeds, _ADDRESSES)[0]

    def _account(self, key: str) -> dict[str, Any] | None:
        account = self._svm.get_account(Pubkey.from_string(key))
        if account is None:
            return None
        return {
            "data": [base64.b64encode(bytes(account.data)).decode(), "base64"],
            "executable": account.executable,
            "lamports": account.lamports,
            "owner": str(account.owner),
            "rentEpoch": 0,
            "space": len(account.data),
        }

    def _blockhash(self) -> dict[str, Any]:
        return {"blockhash": str(self._svm.latest_blockhash()), "lastValidBlockHeight": 1_000_000}

    def _simulate(self, sent: str) -> dict[str, Any]:
        done = self._svm.simulate_transaction(_transaction(sent))
        failed = isinstance(done, FailedTransactionMetadata)
        return {
            "err": _error(done.err()) if isinstance(done, FailedTransactionMetadata) else None,
            "logs": done.meta().logs(),
            "accounts": None,
            "unitsConsumed": 0 if failed else done.meta().compute_units_consumed(),
            "returnData": None,
        }

    def _send(self, sent: str) -> str:
        transaction = _transaction(sent)
        before = self._holdings(transaction)
        done = self._svm.send_transaction(transaction)
        if isinstance(done, FailedTransactionMetadata):
            raise _Refused(f"Transaction simulation failed: {done.err()}")
        signature = str(transaction.signatures[0])
        self._executed[signature] = {
            "slot": self._svm.get_clock().slot,
            "blockTime": self._time(),
            "transaction": [sent, "base64"],
            "meta": {
                "err": None,
                "preTokenBalances": before,
                "postTokenBalances": self._holdings(transaction),
            },
        }
        return signature

    def _holdings(self, transaction: VersionedTransaction) -> list[dict[str, Any]]:
        """What each account of a transaction holds of the token, as nodes tell it."""
        found = []
        for place, key in enumerate(transaction.message.account_keys):
            account = self._svm.get_account(key)
            if account is None or account.owner != _TOKENS or len(account.data) != _HOLDING_BYTES:
                continue
            raw = bytes(account.data)
            units = str(int.from_bytes(raw[64:72], "little"))
            owner, mint = str(Pubkey(raw[32:64])), str(Pubkey(raw[:32]))
            amount = {"amount": units, "decimals": 6}
            found.append({"accountIndex": place, "mint": mint, "owner": owner, "uiTokenAmount": amount})
        return found

    def _signatures(self, address: str, options: dict[str, Any]) -> list[dict[str, Any]]:
        listed = [
            {"signature": signature, "err": None, "blockTime": done["blockTime"]}
            for signature, done in reversed(self._executed.items())
            if address in map(str, _transaction(done["transaction"][0]).message.account_keys)
        ]
        after = (
            [one["signature"] for one in listed].index(options["before"]) + 1 if "before" in options else 0
        )
        return listed[after : after + int(options["limit"])]

    def _time(self) -> int:
        return int(time.time()) + self._ahead

    def _pass_time(self, seconds: int) -> None:
        self._ahead += seconds

    def _status(self, signature: str) -> dict[str, Any] | None:
        if self._svm.get_transaction(Signature.from_string(signature)) is None:
            return None
        ended = {"err": None, "status": {"Ok": None}, "confirmationStatus": "finalized"}
        return {"slot": 1, "confirmations": None, **ended}


class _Rpc(BaseHTTPRequestHandler):
    ledger: _Ledger
    protocol_version = "HTTP/1.0"  # one thread serves all, so none may keep its connection

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = {
            "jsonrpc": "2.0",
            "id": asked["id"],
            **self._answer(asked["method"], asked.get("params") or []),
        }
        raw = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _answer(self, method: str, parameters: Sequence[Any]) -> dict[str, Any]:
        if method not in self.ledger.methods:
            return {"error": {"code": -32601, "message": f"there is no method {method}"}}
        try:
            return {"result": self.ledger.methods[method](*parameters)}
        except (_Refused, ValueError) as error:
            return {"error": {"code": -32002, "message": str(error)}}

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def _serve(network: str, mint: Pubkey) -> HTTPServer:
    opened: Future[HTTPServer] = Future()

    def run() -> None:
        handler = type("Rpc", (_Rpc,), {"ledger": _Ledger(network, mint)})
        with HTTPServer(("127.0.0.1", 0), handler) as server:
            opened.set_result(server)
            server.serve_forever()

    threading.Thread(target=run, name="solana", daemon=True).start()
    return opened.result(30)


def _facilitator() -> Any:
    return wallets.svm("facilitator")


def _transaction(sent: str) -> VersionedTransaction:
    return VersionedTransaction.from_bytes(base64.b64decode(sent))


def _error(error: Any) -> Any:
    """In the node's words: a name, or an object for what carries more."""
    return json.loads(error.to_json()) if hasattr(error, "to_json") else str(error).rpartition(".")[2]


def _mint() -> bytes:
    """SPL Token's Mint: authority, supply, decimals, is_initialized, no freeze authority."""
    return struct.pack("<I32sQBBI32s", 1, bytes(_facilitator().pubkey()), 10**15, 6, 1, 0, bytes(32))


def _holding(mint: Pubkey, owner: Pubkey, units: int) -> bytes:
    """SPL Token's Account: mint, owner, amount, no delegate, initialized, nothing else."""
    about = struct.pack("<QI32sBIQQI32s", units, 0, bytes(32), 1, 0, 0, 0, 0, bytes(32))
    return bytes(mint) + bytes(owner) + about
