"""An EVM chain in this process, with a token that settles as USDC does where the clients expect USDC."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from eth_account import Account
from eth_tester import EthereumTester, PyEVMBackend
from web3 import EthereumTesterProvider, Web3
from web3.exceptions import TransactionNotFound
from web3.providers.eth_tester.defaults import API_ENDPOINTS
from x402 import x402FacilitatorSync
from x402.mechanisms.evm import FacilitatorWeb3Signer
from x402.mechanisms.evm.exact import ExactEvmFacilitatorScheme
from x402.mechanisms.evm.exact.v1 import ExactEvmSchemeV1Facilitator

from tests.servers.chains import wallets
from tests.servers.chains.node import Node

_TOKEN: Final = json.loads((Path(__file__).parent / "LocalUSDC.json").read_text())
_GAS_MONEY: Final = 10**24
_MOST_BLOCKS: Final = 500
_TRANSFER: Final = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
_NOWHERE: Final = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Token:
    """Where USDC is on a chain, and the domain that signatures for it name."""

    v1_network: str
    address: str
    name: str
    version: str = "2"


TOKENS: Final = {
    84532: Token("base-sepolia", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC"),
    8453: Token("base", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin"),
    137: Token("polygon", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "USD Coin"),
}


class EvmChain:
    """One block for each transaction. May be used from any thread."""

    def __init__(self, chain_id: int) -> None:
        token = TOKENS[chain_id]
        self.network = f"eip155:{chain_id}"
        self.v1_network = token.v1_network
        self.asset = token.address
        self._lock = threading.RLock()
        self._tester, self._web3 = _chain(chain_id, token.address)
        self._token = self._web3.eth.contract(
            address=Web3.to_checksum_address(token.address), abi=_TOKEN["abi"]
        )
        self._send(self._token.functions.init(token.name, token.version))
        self._facilitator = x402FacilitatorSync()
        signer = _Signer(self._web3)
        self._facilitator.register([self.network], ExactEvmFacilitatorScheme(signer))
        self._facilitator.register_v1([self.v1_network], ExactEvmSchemeV1Facilitator(signer))

    def fund(self, owner: str, units: int) -> None:
        with self._lock:
            self._send(self._token.functions.mint(owner, units))

    def balances(self, *owners: str) -> list[int]:
        """All at one moment: no payment is on its way between two of them."""
        with self._lock:
            return [self._token.functions.balanceOf(owner).call() for owner in owners]

    def broadcasts(self) -> int:
        """How many transactions the facilitator has ever sent, whether or not they went well."""
        with self._lock:
            return int(self._web3.eth.get_transaction_count(_facilitator().address))

    def supported(self) -> Any:
        return self._facilitator.get_supported()

    def verify(self, payload: Any, requirements: Any) -> Any:
        with self._lock:
            self._tick()
            return self._facilitator.verify(payload, requirements)

    def settle(self, payload: Any, requirements: Any) -> Any:
        with self._lock:
            return self._facilitator.settle(payload, requirements)

    def move(self, authorization: Any, signature: str) -> str:
        """Send a signed authorisation to the chain, as anybody can; the transaction."""
        raw = bytes.fromhex
        call = self._token.get_function_by_signature(_TRANSFER)(
            authorization["from"],
            authorization["to"],
            *(int(authorization[name]) for name in ("value", "validAfter", "validBefore")),
            raw(authorization["nonce"].removeprefix("0x")),
            raw(signature.removeprefix("0x")),
        )
        with self._lock:
            self._tick()
            return self._send(call)

    def pass_time(self, seconds: int) -> None:
        """The next block is that much later."""
        with self._lock:
            self._tester.time_travel(self._now() + seconds)

    @cached_property
    def node(self) -> Node:
        """What can be asked of it over JSON-RPC; started when it is first wanted."""
        methods: dict[str, Callable[..., Any]] = {
            "eth_chainId": lambda: self._web3.eth.chain_id,
            "eth_getBlockByNumber": lambda name, _: self._block(name),
            "eth_call": lambda call, at: bytes(self._web3.eth.call(_call(call), int(at, 16))),
            "eth_getLogs": lambda wanted: [_log(log) for log in self._web3.eth.get_logs(_range(wanted))],
            "eth_getTransactionReceipt": self._receipt,
        }
        return Node({name: self._alone(method) for name, method in methods.items()}, _hex)

    def close(self) -> None:
        if "node" in vars(self):
            self.node.close()

    def _alone(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*parameters: Any) -> Any:
            with self._lock:
                return method(*parameters)

        return ask

    def _block(self, name: str) -> dict[str, Any]:
        found = self._web3.eth.get_block("latest" if name == "latest" else int(name, 16))
        return {"number": found["number"], "timestamp": found["timestamp"], "hash": found["hash"]}

    def _receipt(self, transaction: str) -> dict[str, Any] | None:
        try:
            found = self._web3.eth.get_transaction_receipt(Web3.to_bytes(hexstr=transaction))  # type: ignore[arg-type]
        except TransactionNotFound:
            return None
        return {"status": found["status"], "logs": [_log(log) for log in found["logs"]]}

    def _now(self) -> int:
        return int(self._web3.eth.get_block("latest").get("timestamp", 0))

    def _send(self, call: Any) -> str:
        sent = call.transact({"from": self._web3.eth.accounts[0]})
        receipt = self._web3.eth.wait_for_transaction_receipt(sent)
        assert receipt["status"] == 1
        return str(Web3.to_hex(sent))

    def _tick(self) -> None:
        """A contract knows only the last block's time, and signatures hold from some time on."""
        if self._now() < int(time.time()):
            self._tester.mine_block()


class _Signer(FacilitatorWeb3Signer):
    """The SDK's own, but it speaks to the chain here and not over a connection."""

    def __init__(self, web3: Web3) -> None:
        super().__init__(_facilitator().key.hex(), _NOWHERE)
        self._w3 = web3


def _hex(value: Any) -> Any:
    """Numbers and bytes as nodes write them."""
    if isinstance(value, bytes):
        return Web3.to_hex(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return hex(value)
    if isinstance(value, dict):
        return {name: _hex(one) for name, one in value.items()}
    return [_hex(one) for one in value] if isinstance(value, list) else value


def _log(log: Any) -> dict[str, Any]:
    data = bytes(log["data"])
    told = {"address": log["address"], "topics": [bytes(topic) for topic in log["topics"]], "data": data}
    return {**told, "transactionHash": bytes(log["transactionHash"])}


def _call(call: Any) -> Any:
    return {"to": Web3.to_checksum_address(call["to"]), "data": call["data"]}


def _range(wanted: Any) -> Any:
    """Half of the nodes there are give no more at a time."""
    first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
    if last - first >= _MOST_BLOCKS:
        raise ValueError(f"more than {_MOST_BLOCKS} blocks")
    return {**wanted, "address": Web3.to_checksum_address(wanted["address"])}


def _facilitator() -> Any:
    return wallets.evm("facilitator")


def _chain(chain_id: int, token: str) -> tuple[Any, Web3]:
    # Key 1 of the tester is who asks and sends when nobody is named.
    rich = [_facilitator().address, Account.from_key((1).to_bytes(32, "big")).address]
    state = {_bytes(one): _account(balance=_GAS_MONEY) for one in rich}
    state[_bytes(token)] = _account(code=_TOKEN["runtime"], nonce=1)
    backend = PyEVMBackend(genesis_state=state)
    type(backend.chain).chain_id = chain_id  # a class of its own for each backend
    tester = EthereumTester(backend, auto_mine_transactions=True)
    endpoints = {**API_ENDPOINTS, "eth": {**API_ENDPOINTS["eth"], "chainId": lambda *_: chain_id}}
    return tester, Web3(EthereumTesterProvider(tester, endpoints))


def _account(*, balance: int = 0, code: str = "", nonce: int = 0) -> dict[str, Any]:
    return {"balance": balance, "storage": {}, "code": _bytes(code), "nonce": nonce}


def _bytes(digits: str) -> bytes:
    return bytes.fromhex(digits.removeprefix("0x"))
