"""Clients with a wallet, as agents have them, and what they have paid."""

import warnings
from collections.abc import Mapping
from typing import Any, Final

import httpx
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import register_exact_evm_client
from x402.mechanisms.svm import KeypairSigner
from x402.mechanisms.svm.exact import ExactSvmClientScheme

from tests.servers.chains import wallets
from tests.servers.chains.fixtures import PAYEE, PAYER, Chains

_AUTHORIZATION: Final = [
    {"name": name, "type": kind}
    for name, kind in (
        ("from", "address"),
        ("to", "address"),
        ("value", "uint256"),
        ("validAfter", "uint256"),
        ("validBefore", "uint256"),
        ("nonce", "bytes32"),
    )
]
_OF_VERSION_2: Final = ("payment-required", "payment-response")


def wallet(chains: Chains, network: str = "base", name: str = PAYER) -> x402Client:
    """The SDK's client, which pays on this network only; on Base, in either version."""
    client = x402Client()
    chain = getattr(chains, network)
    if not is_solana(network):
        signer = EthAccountSigner(wallets.evm(name))
        return register_exact_evm_client(client, signer, networks=chain.network)
    scheme = ExactSvmClientScheme(KeypairSigner(wallets.svm(name)), chain.url)
    with warnings.catch_warnings(action="ignore"):
        scheme._get_client(chain.network)  # opened late otherwise, by a class that says that it will go away
    client.register(chain.network, scheme)
    return client


def authorize(chains: Chains, authorization: Mapping[str, Any], name: str = PAYER) -> str:
    """A signature of what a client would not sign by itself."""
    numbers = {key: int(authorization[key]) for key in ("value", "validAfter", "validBefore")}
    nonce = bytes.fromhex(authorization["nonce"].removeprefix("0x"))
    sides = {"from": authorization["from"], "to": authorization["to"]}
    domain = {"name": "USDC", "version": "2", "verifyingContract": chains.base.asset}
    made = wallets.evm(name).sign_typed_data(
        {**domain, "chainId": int(chains.base.network.rpartition(":")[2])},
        {"TransferWithAuthorization": _AUTHORIZATION},
        {**sides, **numbers, "nonce": nonce},
    )
    return "0x" + made.signature.hex().removeprefix("0x")


def paying(client: x402Client, transport: httpx.AsyncBaseTransport, *, version: int = 2) -> httpx.AsyncClient:
    """Pays when it is asked to."""
    seen = transport if version == 2 else _Version1(transport)
    return httpx.AsyncClient(transport=x402AsyncTransport(client, seen), base_url="http://test", timeout=60)


class _Version1(httpx.AsyncBaseTransport):
    """Servers as they were before version 2: the client finds its terms in the body."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._transport.handle_async_request(request)
        for name in _OF_VERSION_2:
            response.headers.pop(name, None)
        return response


class Income:
    """What has gone from the payer to the payee since it was made, and nowhere else."""

    def __init__(self, chains: Chains, network: str = "base") -> None:
        self._chain: Any = getattr(chains, network)
        self._owners = [address(network, name) for name in (PAYER, PAYEE)]
        self._before = self._balances()

    def taken(self) -> int:
        (had, held), (has, holds) = self._before, self._balances()
        assert had - has == holds - held
        return holds - held

    def _balances(self) -> tuple[int, int]:
        payer, payee = self._chain.balances(*self._owners)
        return payer, payee


def address(network: str, name: str) -> str:
    return str(wallets.svm(name).pubkey()) if is_solana(network) else wallets.evm(name).address


def is_solana(network: str) -> bool:
    return network.startswith("solana")
